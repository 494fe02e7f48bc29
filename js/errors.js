// What a device refuses, with a code that is the same in every language.

/** A refusal: nothing of what was refused is kept, and nothing is charged. */
export class DeviceError extends Error {
  /** @param {string} code @param {string} message */
  constructor(code, message) {
    super(message);
    this.name = "DeviceError";
    this.code = code;
  }
}

/** @param {string} code @param {string} message @returns {never} */
export function refuse(code, message) {
  throw new DeviceError(code, message);
}

/** @param {any} condition @param {string} message @param {string} [code] @returns {asserts condition} */
export function must(condition, message, code = "argument") {
  if (!condition) refuse(code, message);
}
