// Sending: one POST for one report, without cookies or referrer; nothing is followed.

import { MEDIA_TYPE } from "./frames.js";

const LONGEST_PAUSE = 3600, DEADLINE = 60_000;
// What browsers send on while a page is closed.
const MOST_KEPT_ALIVE = 64_000;

/** Seconds that a collector asks to wait, given as a number or as a date. @param {Headers} headers */
function retryAfter(headers) {
  const asked = headers.get("Retry-After") ?? "", until = Date.parse(asked) - Date.parse(headers.get("Date") ?? "");
  return Math.min(Math.max(Number(asked) || until / 1000 || 0, 0), LONGEST_PAUSE);
}

/**
 * Send a frame; whatever fails on the way is an answer with status 0.
 * @param {string} origin @param {any} frame @returns {Promise<{status: number, retryAfter?: number}>}
 */
export async function post(origin, frame) {
  try {
    const answer = await fetch(`${origin}/v1/reports`, {
      method: "POST",
      body: frame,
      headers: { "Content-Type": MEDIA_TYPE },
      credentials: "omit",
      redirect: "error",
      referrerPolicy: "no-referrer",
      cache: "no-store",
      keepalive: frame.length <= MOST_KEPT_ALIVE,
      signal: AbortSignal.timeout(DEADLINE),
    });
    return { status: answer.status, retryAfter: retryAfter(answer.headers) };
  } catch {
    return { status: 0 };
  }
}

/**
 * Seconds until the next try: exponential back-off with full jitter, from one second to an hour.
 * @param {number} tries made so far @param {number} asked what the collector asks for @param {number} fresh uniform in 0..1
 */
export const pause = (tries, asked, fresh) => Math.max(asked, 1 + fresh * (Math.min(2 ** tries, LONGEST_PAUSE) - 1));
