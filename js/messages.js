// Sentences for a device's refusals, in English. A device does without them: load them where people or logs are to read one.

import { DeviceError } from "./errors.js";

/** By code; or by code and what it is about, where there is more to say. @type {Record<string, string>} */
export const SENTENCES = {
  size: "A collection must have at most 1 MiB, and its envelope 1.5 MiB; this one is larger.",
  envelope: "An envelope must hold a document and signatures, in base64, and this does not.",
  untrusted: "A trusted key must have signed the collection, and none has.",
  signature: "The signature of a trusted key must be one of this very document, and it is not.",
  format: "A collection must be a document of a format that this device knows; update discreet, or ask who signed it.",
  field: "A collection must have its known fields, each of its type and range, and no others; one is not so",
  "field: invisible": "What people read in a collection must be what it seems, without controls of direction and other invisible characters, and this one has some; ask who signed it.",
  rollback: "A higher version of this collection was seen before; ask who serves this one",
  equivocation: "Another document had this version of the collection before; ask whoever signs it why.",
  promise: "The sampler's integers must keep the epsilon that the collection states, and they do not.",
  law: "The collection's reports must be of a kind that this device knows, and these are not; update discreet, or install the package that brings it.",
  cap: "One report must cost no more than the application allows, in nats; this one would",
  lifetime: "Reports must cost no more, in all and in one epoch, than the application allows, in nats; these would",
  plan: "The plan in the collection must have the values and the epsilon of its sampler, and has not.",
  "plan: composed": "Labels, tags and names of attributes must be written in Unicode's normal form C, and one of them is not; ask who signed this collection.",
  "plan: alike": "Answers that read alike must all be protected, or none of them; whoever signed this collection must mark both as sensitive, or set exact = true",
  simulated: "Simulated collections are for simulated devices, and these answer no others.",
  randomness: "The system must give random bytes, and it does not; nothing was charged.",
  platform: "A device needs Ed25519 in WebCrypto over a secure connection (https), and this browser or page has none.",
  store: "The device's memory must be readable and writable, and it is not; nothing was charged",
  "store: once alone": "A device without a memory that lasts can answer once alone: it would forget what was spent.",
  "store: newer version": "The device's memory is of a newer version; update discreet.",
  "store: IndexedDB": "A device must have IndexedDB to remember, and this browser gives none (private windows may not).",
  "store: mode": "The device's folder must be for its owner alone, and others may look into it; chmod 700 it.",
  "store: folder": "The device's folder must be one that can be written, and it is not; choose another.",
  value: "The value is not one of the collection's values; offer people its labels.",
  "value: two tags": "Every secret value must have one tag, and some have two.",
  argument: "A device must be given what its types say; this is not so",
  "argument: trust": "trust must be a list of public keys, 32 bytes each, at least one.",
  "argument: limits": "limits must have report, epoch and lifetime, in nats above 0.",
  "argument: random": "A device of a person draws from the operating system alone; leave random out.",
  "argument: personSecret": "personSecret must be at least 16 unpredictable bytes.",
  "argument: log": "Public logs of collections were removed; leave log out, and compare the collection's number with other people.",
  "argument: accept first": "This collection was not accepted here; call accept first.",
  "argument: survey": "The draw of a survey's questions needs its first collection; accept that one too.",
  "argument: older version": "A later version of this collection was accepted; show people that version.",
  "argument: withdrawn": "This collection is withdrawn; nobody can agree to it.",
  "argument: answered": "Secret places cannot change after the first answer; other ones need another collection.",
  "argument: no tags": "This collection is not personalized; leave secret places out.",
  "argument: tagged": "Secret values must be given by tags of the plan, {tag: values}; where bots stand for cells, as a list of values.",
  "argument: tag first": "This personalized collection needs the person's secret places; call tag first, without places if there are none.",
};

/** The sentence for what a device threw. @param {unknown} error @returns {string} */
export function sentence(error) {
  if (!(error instanceof DeviceError)) return error instanceof Error ? error.message : String(error);
  const { code, message } = error, begun = [message, message.split(": ", 2).join(": "), code].find((one) => Object.hasOwn(SENTENCES, one)) ?? code;
  const rest = message.slice(begun.length + 2);
  return `${SENTENCES[begun]?.replace(/\.$/, "") ?? code}${rest && `: ${rest}`}.`;
}
