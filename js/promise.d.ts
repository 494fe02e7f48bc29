/**
 * The epsilon that a sampler realises, in nats. A DeviceError (promise) is thrown if it is no
 * sampler, whatever it is, or one that a device must not use.
 */
export function realised(sampler: unknown): number;
