// Times as senders write them. Copy this file into your own adapter.

import { textOf } from "../../converter-javascript/src/reading.js";

/** 1e11 seconds are the year 5138; 1e11 milliseconds are 1973. */
const MILLIS_ABOVE = 1e11;

/**
 * Returns an epoch (a number, or digits in a text) as RFC 3339, and an ISO text
 * unchanged except that an offset like `+0000` gets its colon; `undefined` for an
 * absent value.
 */
export function timeText(value) {
  const text = textOf(value);
  if (text === undefined) {
    return undefined;
  }
  const whole = text.split(".")[0];
  const epoch = /^[+-]?[0-9]+$/.test(whole) ? Number(whole) : NaN;
  if (Number.isSafeInteger(epoch) && Math.abs(epoch) > 9999) {
    const date = new Date(Math.abs(epoch) > MILLIS_ABOVE ? epoch : epoch * 1000);
    const year = date.getUTCFullYear();
    return year >= 1 && year <= 9999 ? date.toISOString().replace(".000Z", "Z") : undefined;
  }
  return text.includes(":") ? text.replace(/([+-][0-9]{2})([0-9]{2})$/, "$1:$2") : text;
}
