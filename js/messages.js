// Sentences in English for the errors of a device. A device does not need them. Load them where people or logs show errors.

import { DeviceError } from "./errors.js";

/** Sentences by code, or by code and detail, for codes with several details. @type {Record<string, string>} */
export const SENTENCES = {
  size: "The collection is too large. A collection may have at most 1 MiB, and its envelope 1.5 MiB.",
  envelope: "The envelope of the collection is not valid. It must be JSON with only a document and its signatures, in base64.",
  untrusted: "None of the trusted keys signed the collection.",
  signature: "The signature of a trusted key does not fit the document. The document was changed after it was signed.",
  format: "This device does not know the format of the collection. Update discreet, or ask the people who signed the collection.",
  field: "A field of the collection is missing, unknown or not valid",
  "field: invisible": "A text of the collection has characters that people cannot see. Ask the people who signed it.",
  rollback: "A later version of this collection was seen before. Ask the people who serve this version",
  equivocation: "Another document had this version of the collection before. Ask the people who sign it for the reason.",
  promise: "The sampler of the collection does not guarantee the epsilon that the collection promises.",
  law: "The collection has a block law that this device does not know. Update discreet, or install the package of the block law.",
  cap: "One report of this collection costs more nats than the application allows",
  lifetime: "The reports of this collection cost more nats than the application allows, in one epoch or in all",
  plan: "The plan and the sampler of the collection differ in their values or their epsilon.",
  "plan: composed": "A label, a tag or the name of an attribute is not in Unicode's normal form C. Ask the people who signed this collection.",
  "plan: alike": "Some answers read alike, but not all of them are sensitive. The people who sign the collection must mark all as sensitive, or set exact = true",
  simulated: "Simulated devices answer only simulated collections, and real devices only real ones.",
  randomness: "The system gives no random bytes. No privacy budget was spent.",
  platform: "A device needs Ed25519 in WebCrypto and a secure connection (https). This browser or page has only one of them, or none.",
  store: "The device's memory cannot be read or written. No privacy budget was spent",
  "store: once alone": "This device has no lasting memory, so it would forget the privacy budget that was spent. It can only answer collections that are answered once.",
  "store: newer version": "The device's memory has a newer version than this program. Update discreet.",
  "store: IndexedDB": "A device needs IndexedDB as its memory, and this browser has none. Private windows may not have it.",
  "store: mode": "Other users can read the device's folder. Make it private with chmod 700.",
  "store: folder": "The device's folder cannot be written to. Choose another folder.",
  value: "The answer is not one of the collection's values. Choose one of its labels.",
  "value: two tags": "Each secret value must have one tag. Some values have two.",
  argument: "An argument of the device is not valid",
  "argument: trust": "trust must be a list of at least one public key. Each key has 32 bytes.",
  "argument: limits": "limits must have the numbers report, epoch and lifetime, in nats and above 0.",
  "argument: random": "The device of a real person takes random numbers only from the operating system. Leave random out.",
  "argument: personSecret": "personSecret must have at least 16 bytes that nobody can predict.",
  "argument: log": "Public logs of collections were removed. Leave log out, and compare the collection's number with other people.",
  "argument: accept first": "This collection was not accepted on this device. Call accept first.",
  "argument: survey": "A device chooses the questions of a survey with the survey's first collection. Accept that collection too.",
  "argument: older version": "A later version of this collection was already accepted. Show people the later version.",
  "argument: withdrawn": "This collection is withdrawn, so nobody can agree to it any more.",
  "argument: answered": "Secret values cannot change after the first answer. Other secret values need another collection.",
  "argument: no tags": "This collection is not personalized, so it needs no secret values. Leave them out.",
  "argument: tagged": "Secret values must be given by tag, as {tag: values}. For a collection with secret cells, give a list of values.",
  "argument: tag first": "This collection is personalized, and the person's secret values are not known yet. Call tag first. Pass no values if the person has no secrets.",
};

/** Return the sentence for an error of a device. @param {unknown} error @returns {string} */
export function sentence(error) {
  if (!(error instanceof DeviceError)) return error instanceof Error ? error.message : String(error);
  const { code, message } = error, begun = [message, message.split(": ", 2).join(": "), code].find((one) => Object.hasOwn(SENTENCES, one)) ?? code;
  const rest = message.slice(begun.length + 2);
  return `${SENTENCES[begun]?.replace(/\.$/, "") ?? code}${rest && `: ${rest}`}.`;
}
