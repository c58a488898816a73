// The records of a converter's contract.

import { BOOLEAN, check, fail, listOf, optional, TEXT } from "./check.js";
import { isAbsent, jsonText } from "./json.js";
import { writeCrash } from "./log.js";
import { takeNotes, withOwnNotes } from "./plugin.js";

/** The places of the usual secrets in a body, whose values the host masks. */
export const usualSecrets = [
  "google_key apikey api_key api-key x-api-key access_token accessToken refresh_token refreshToken session_token",
  "id_token auth_token authToken client_secret clientSecret app_secret private_key password passwd senha",
].flatMap((names) => names.split(" ").map((name) => ({ place: "json", name })));

const PAIR = [TEXT, TEXT];
const ITEMS = listOf({ route: listOf(PAIR), outcome: { tag: TEXT } });

/** The fields of a lead in the contract. */
const LEAD = {
  externalId: optional(TEXT),
  action: optional(TEXT),
  isTest: optional(BOOLEAN),
  name: optional(TEXT),
  phones: listOf(TEXT),
  emails: listOf(TEXT),
  region: optional(TEXT),
  listings: listOf({ kind: TEXT, reference: TEXT }),
  message: optional(TEXT),
  occurredAt: optional(TEXT),
  source: optional(TEXT),
  consents: listOf({ purpose: TEXT, granted: BOOLEAN, text: TEXT }),
  campaign: listOf(PAIR),
  attributes: listOf(PAIR),
};

/** Returns the exports of a converter from the functions that it has. */
export function defineConverter({ convert, ...others }) {
  return withOwnNotes({
    senderChecks: () => ({ checks: [], carriedSecrets: usualSecrets }),
    handshake: () => undefined,
    complete: () => {
      throw { category: "give-up", message: "this converter fetches nothing", retryAfterSeconds: undefined };
    },
    ...others,
    convert: (delivery) => check("the result of convert", convert(delivery), { items: ITEMS, notes: listOf(TEXT) }),
  });
}

/** Returns what `convert` returns: the items, and the lines of `note`. */
export function conversion(items, reply = undefined) {
  check("items", items, ITEMS);
  items.forEach(({ outcome: { tag, val } }, index) => {
    if (tag === "invalid" && val.path === "" && items.length > 1) {
      val.path = String(index);
    }
  });
  return { items, reply, notes: takeNotes() };
}

/** Errors of items whose places are written to the log. */
const MAX_LOGGED = 3;

/** Returns what `read` makes of each value. One that throws is an invalid item; if all do, the call ends. */
export function readEach(values, read) {
  const thrown = [];
  const items = values.map((value, index) => {
    try {
      return read(value, index);
    } catch (error) {
      thrown.push(error);
      const isProblem = !(error instanceof Error) && typeof error?.message === "string";
      return isProblem ? invalid(error.message, error.path) : invalid(String(error));
    }
  });
  if (thrown.length > 0 && thrown.length === values.length) {
    throw thrown[0];
  }
  thrown.slice(0, MAX_LOGGED).forEach(writeCrash);
  return items;
}

/** Returns an item with a lead. What is left out or absent is empty. */
export function lead(fields, route = []) {
  const unknown = Object.keys(fields).find((name) => !Object.hasOwn(LEAD, name));
  if (unknown !== undefined) {
    throw new TypeError(`\`${unknown}\` is no field of a lead`);
  }
  const read = ([name, shape]) => [name, (shape.listOf ? entries : single)(name, fields[name], shape)];
  const val = Object.fromEntries(Object.entries(LEAD).map(read));
  const { externalId, name, phones, emails, message, listings } = val;
  if ([externalId, name, phones, emails, message, listings].every(isAbsent)) {
    return { ...invalid("the lead has no id, name, phone, e-mail address, message or listing"), route };
  }
  Object.assign(val, {
    action: val.action ?? "create",
    isTest: val.isTest ?? false,
    phones: [...new Set(phones)],
    emails: [...new Set(emails)],
  });
  return { route, outcome: { tag: "lead", val } };
}

function single(field, value, shape) {
  return isAbsent(check(field, value, shape)) ? undefined : value;
}

/** Returns the entries of a list without absent ones, lists in it spread. */
function entries(field, value, shape) {
  if (value === undefined || value === null) {
    return [];
  }
  if (!Array.isArray(value)) {
    fail(field, "a list", value);
  }
  return value.flatMap((one, index) => {
    const place = `${field}[${index}]`;
    const isPair = shape.listOf === PAIR && Array.isArray(one) && typeof one[0] === "string";
    if (Array.isArray(one) && !isPair) {
      return entries(place, one, shape);
    }
    return (isPair ? isAbsent(one[1]) : isAbsent(one)) ? [] : [check(place, one, shape.listOf)];
  });
}

/** Returns a reference to what the lead asks about: `client`, the workspace's own, or `portal`. */
export function listing(kind, reference) {
  return isAbsent(reference) ? undefined : { kind, reference };
}

/** Returns an attribute with any value as JSON. */
export function attribute(name, value) {
  return isAbsent(name) || isAbsent(value) ? undefined : [name, jsonText(value)];
}

/** Returns an item without a lead, and why; the other items of the body are not affected. */
export function invalid(message, path = "") {
  return { route: [], outcome: { tag: "invalid", val: { message, path } } };
}

/** Returns an item about which nothing is to be done, and why. */
export function ignored(why) {
  return { route: [], outcome: { tag: "ignored", val: why } };
}
