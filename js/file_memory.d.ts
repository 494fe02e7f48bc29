import { Memory } from "./index.js";

/** A memory in a folder, for Node; two processes may share it. */
export class FileMemory extends Memory {
  static open(folder: string): Promise<FileMemory>;
}
