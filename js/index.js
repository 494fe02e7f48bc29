// A person's device: verify a collection, draw one report, remember, send. See README.md.

export { CollectionError } from "./collection.js";
export { Device, DeviceError } from "./device.js";
export { BrowserMemory, MemoryError, RamMemory } from "./memory.js";
export { RandomnessError } from "./randomness.js";
