// A person's device: verify a collection, draw one report, remember, send. See README.md.

export { Device } from "./device.js";
export { DeviceError } from "./errors.js";
export { BrowserMemory, Memory, RamMemory } from "./memory.js";
