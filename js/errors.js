// What a device refuses, with a code that is the same in every language. messages.js has sentences for people.

/** A refusal: nothing of what was refused is kept, and nothing is charged. */
export class DeviceError extends Error {
  name = "DeviceError";

  /** @param {string} code @param {string} about what it is about, such as the name of a field; never a person's value */
  constructor(code, about) {
    super(about ? `${code}: ${about}` : code);
    this.code = code;
    this.about = about;
  }
}

/** @param {string} code @param {string} [about] @returns {never} */
export function refuse(code, about = "") {
  throw new DeviceError(code, about);
}

/** @param {any} condition @param {string} code @param {string} [about] @returns {asserts condition} */
export function must(condition, code, about) {
  if (!condition) refuse(code, about);
}

/** A condition that a caller must keep. @param {any} condition @param {string} about @returns {asserts condition} */
export function expect(condition, about) {
  must(condition, "argument", about);
}
