// The values of a lead from what sources write. Each takes an absent value and may return one.

import { fail } from "./check.js";
import { isObject, textOf } from "./json.js";

/** Joins texts with a space. The first is whole if its last words are the second: a full name and a surname. */
export function join(...texts) {
  const [first, second, ...more] = texts.map((text, index) => given(`join ${index + 1}`, text)).filter(Boolean);
  const isWhole = second !== undefined && /(?:^|\s)$/.test(withoutEnd(first.toLowerCase(), second.toLowerCase()));
  const all = isWhole ? [first, ...more] : [first, second, ...more];
  return all.filter(Boolean).join(" ") || undefined;
}

/** Returns what is before the end of a text; of one with another end the text. */
function withoutEnd(text, end) {
  return text.endsWith(end) ? text.slice(0, text.length - end.length) : text;
}

/**
 * Returns a phone with the codes of its area and its country. The host knows which numbers have them already, and
 * which zeros are dropped: it gets the country of such a number as the context of RFC 3966.
 */
export function phone(text, area, country) {
  const written = given("phone", text) ?? "";
  const number = wholeNumber(written) ?? written;
  const { length } = digits(number);
  if (length < 4) {
    return undefined;
  }
  if (/^(\+|p:)/.test(number)) {
    return number;
  }
  const areaCode = codeIn(given("area", area)).replace(/^0+/, "");
  const local = areaCode !== "" && length < 10 ? `(${areaCode}) ${number}` : number;
  const ofCountry = given("country", country);
  if (/^[a-zA-Z]{2}$/.test(ofCountry)) {
    return `${local};phone-context=${ofCountry}`;
  }
  const code = codeIn(ofCountry);
  if (length > 11 || code === "" || code.length > 3) {
    return local;
  }
  if (!digits(number).startsWith(code)) {
    return `+${code} ${local}`;
  }
  // A number of North America with its country code has eleven digits.
  return code === "1" && length === 11 ? `+${number}` : `${local};phone-context=+${code}`;
}

/** Returns the digits of a number that a program wrote as one: of 1.1987654321e+10 or of 11987654321.0. */
function wholeNumber(text) {
  const parts = /^([0-9]+)(?:\.([0-9]+))?[eE]\+?([0-9]{1,2})$|^([0-9]+)\.0$/.exec(text);
  if (parts === null || parts[4] !== undefined) {
    return parts?.[4];
  }
  const [, before, after = "", exponent] = parts;
  const point = before.length + Number(exponent);
  const all = (before + after).padEnd(point, "0");
  return point <= 20 && /^0*$/.test(all.slice(point)) ? all.slice(0, point) : undefined;
}

/** Returns the digits of a code; of anything else none. */
function codeIn(text = "") {
  const code = digits(text);
  return /^[0-9+() ]+$/.test(text) && code.length <= 4 ? code : "";
}

function digits(text) {
  return text.replace(/[^0-9]/g, "");
}

/** Returns an e-mail address as it is written, which the host reads; undefined for a text without `@`. */
export function email(text) {
  const address = given("email", text) ?? "";
  return address.includes("@") ? address : undefined;
}

const YES = "true 1 yes y sim s si on test teste aceito accepted granted".split(" ");

/** Whether a text says yes. */
export function yes(text) {
  return YES.includes(fold(given("yes", text) ?? ""));
}

/** Returns letters and digits in lower case and without accents. */
export function fold(text) {
  return text
    .toLowerCase()
    .normalize("NFD")
    .replace(/[^\p{L}\p{N}]/gu, "");
}

/** Returns the text of a scalar; anything else is a mistake of the plugin. */
function given(field, value) {
  if (isObject(value) || Array.isArray(value)) {
    fail(field, "a text", value);
  }
  return textOf(value);
}

const CLOCK =
  "(?:(?:[Tt]|[ ,]+(?:às )?)([0-9]{1,2}):([0-9]{1,2})(?::([0-9]{1,2})(\\.[0-9]+)?)?\\s*" +
  "(Z|z|UTC|GMT|[+-][0-9]{2}(?::?[0-9]{2})?)?)?$";
const YEAR_FIRST = new RegExp(`^([0-9]{4})([-/])([0-9]{1,2})\\2([0-9]{1,2})${CLOCK}`);
const DAY_FIRST = new RegExp(`^([0-9]{1,2})([-/.])([0-9]{1,2})\\2([0-9]{4})${CLOCK}`);

/**
 * Returns an epoch, an ISO time, a day before its month, or a time as browsers, mail programs and .NET write it, as
 * RFC 3339, or as local time if the source names no zone: the host knows the connection's.
 */
export function time(text) {
  const written = given("time", text) ?? "";
  // RFC 9557 names the zone after the time: the host knows its offset.
  const [, local = written, zone] = /^(.*)\[([A-Za-z0-9/_+-]{0,64})\]$/.exec(written) ?? [];
  const time = read(local) ?? read(rearranged(local));
  const isWhole = time === undefined || !zone || /(?:Z|[+-][0-9]{2}:[0-9]{2})$/.test(time);
  return isWhole ? time : `${time}[${zone}]`;
}

/**
 * Returns an epoch or ISO 8601 of `Mon Mar 02 2026 09:15:30 GMT-0300 (…)`, `Mar 2, 2026, 9:15 AM`, RFC 2822, RFC 850,
 * Java's `Mon Mar 02 09:15:30 BRT 2026`, `20260302T091530Z`, and `/Date(1772453730000)/`.
 */
function rearranged(text) {
  const epoch = /^\/Date\((-?[0-9]+)(?:[+-][0-9]{4})?\)\/$/.exec(text);
  if (epoch !== null) {
    return epoch[1];
  }
  const basic = /^([0-9]{4})([0-9]{2})([0-9]{2})[Tt]([0-9]{2})([0-9]{2})([0-9]{2})?(?![0-9])(.*)$/.exec(text);
  if (basic !== null) {
    const [, year, month, day, hour, minute, second = "00", zone] = basic;
    return `${year}-${month}-${day}T${hour}:${minute}:${second}${zone}`;
  }
  const begin = text.slice(0, 120).replaceAll(",", " ").split("(")[0].trim();
  const words = begin.split(/\s+/);
  if (place("mon tue wed thu fri sat sun", words[0]) > 0) {
    words.shift();
  }
  const half = words.findIndex((word) => /^[ap]m$/i.test(word));
  const [noon] = half < 0 ? [] : words.splice(half, 1);
  // RFC 850 joins the date.
  const date = /^([0-9]+)-([A-Za-z]+)-([0-9]+)$/.exec(words[0]);
  words.splice(0, date ? 1 : 0, ...(date ?? []).slice(1));
  // C and Java have the year at the end.
  if (words[2]?.includes(":")) {
    words.splice(2, 0, words.pop());
  }
  const [first, second = "", year = "", clock = "00:00:00", zone = "", ...more] = words;
  const [day, name] = /^[0-9]/.test(first) ? [first, second] : [second, first];
  const month = place("jan feb mar apr may jun jul aug sep oct nov dec", name);
  // By RFC 2822.
  const isShort = /^[0-9]{2}$/.test(year) && day === first && words.length > 3;
  const whole = isShort ? `${year < "50" ? "20" : "19"}${year}` : year;
  const isDate = month > 0 && /^[0-9]{1,2} [0-9]{4}$/.test(`${day} ${whole}`) && more.length === 0;
  return isDate ? `${whole}-${month}-${day}T${ofDay(clock, noon)}${isoZone(zone)}` : "";
}

/** Returns the time of day of a clock with twelve hours. */
function ofDay(clock, half) {
  const [hour, ...rest] = clock.split(":");
  const isHour = /^[0-9]{1,2}$/.test(hour) && hour >= 1 && hour <= 12;
  const afternoon = half?.toLowerCase() === "pm" ? 12 : 0;
  return half === undefined || !isHour ? clock + (half ?? "") : [(hour % 12) + afternoon, ...rest].join(":");
}

/** Returns the place of a word's first three letters in a list, from 1; else 0. */
function place(list, word = "") {
  return list.split(" ").indexOf(word.slice(0, 3).toLowerCase()) + 1;
}

/** Zones that have a name to themselves. */
const ZONES = { BRT: "-03:00", BRST: "-02:00", ART: "-03:00", WET: "+00:00", WEST: "+01:00", CET: "+01:00", CEST: "+02:00" };

/** Returns the offset of `GMT-0300`, and of the names that RFC 822 has for the zones of North America. */
function isoZone(zone) {
  if (Object.hasOwn(ZONES, zone)) {
    return ZONES[zone];
  }
  const at = "EST EDT CST CDT MST MDT PST PDT".split(" ").indexOf(zone);
  return at === -1 ? zone.replace(/^(?:GMT|UTC|UT)(?=.)/, "").replace(/^UT$/, "Z") : `-0${5 + (at >> 1) - (at % 2)}:00`;
}

function read(written) {
  if (/^[0-9]{9,16}(\.[0-9]*)?$/.test(written)) {
    return epoch(written.split(".")[0]);
  }
  const yearFirst = YEAR_FIRST.exec(written);
  const parts = yearFirst ?? DAY_FIRST.exec(written);
  if (parts === null) {
    return undefined;
  }
  const [, first, , month, last, hour = 0, minute = 0, second = 0, fraction = "", offset = ""] = parts;
  const [year, day] = yearFirst ? [first, last] : [last, first];
  // The month comes first where the second number can only be a day.
  const date = !yearFirst && Number(month) > 12 ? dateOf(year, day, month) : dateOf(year, month, day);
  const zone = zoneOf(offset);
  if (date === undefined || hour > 23 || minute > 59 || second > 60 || zone === undefined) {
    return undefined;
  }
  const clock = [hour, minute, Math.min(second, 59)].map((number) => String(number).padStart(2, "0"));
  return `${date}T${clock.join(":")}${fraction.slice(0, 10)}${zone}`;
}

/** Reads seconds, milliseconds or microseconds: nine digits or more are after 1973. */
function epoch(digits) {
  if (digits.length === 15) {
    return undefined;
  }
  const number = Number(digits.length === 16 ? digits.slice(0, 13) : digits);
  const time = new Date(number > 1e11 ? number : number * 1000);
  return time.toISOString().replace(".000Z", "Z");
}

/** Returns a date of the calendar. */
function dateOf(year, month, day) {
  const text = `${year}-${month.padStart(2, "0")}-${day.padStart(2, "0")}`;
  const date = new Date(`${text}T00:00:00Z`);
  const isDate = year !== "0000" && !Number.isNaN(date.getTime()) && date.toISOString().startsWith(text);
  return isDate ? text : undefined;
}

function zoneOf(text) {
  if (!/^[+-]/.test(text)) {
    return text === "" ? "" : "Z";
  }
  const [hours, minutes] = [text.slice(1, 3), text.slice(3).replace(":", "") || "00"];
  return hours < "15" && minutes < "60" ? `${text[0]}${hours}:${minutes}` : undefined;
}
