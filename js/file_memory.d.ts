import { Memory } from "./index.js";

/** A memory in a folder, for Node; two processes may share it. */
export class FileMemory extends Memory {
  private constructor();
  static open(folder: string): Promise<FileMemory>;
}
