// The records of a converter's contract, with the parts that few converters fill.

import { isObject } from "./json.js";
import { USUAL_SECRETS } from "./names.js";
import { takeNotes, withOwnNotes } from "./plugin.js";

/** The places of the usual secrets in a body, whose values the host masks. */
export const usualSecrets = USUAL_SECRETS.map((name) => ({ place: "json", name }));

/** Returns the exports of a converter from the functions that it has. */
export function defineConverter(functions) {
  const { convert, ...others } = withOwnNotes(functions);
  return {
    senderChecks: () => ({ checks: [], carriedSecrets: usualSecrets }),
    handshake: () => undefined,
    complete: () => {
      throw { category: "give-up", message: "this converter fetches nothing", retryAfterSeconds: undefined };
    },
    ...others,
    convert: (...given) => {
      const answer = convert(...given);
      check("the result of convert", answer, { items: ITEMS, notes: listOf(text) });
      return answer;
    },
  };
}

/**
 * Returns the forms of a body and their paths: of a list, of a list under `leads`, of the changes
 * that Meta sends, or one.
 */
export function formsIn(body) {
  const changes = changesIn(body);
  if (changes.length > 0) {
    return changes;
  }
  const leads = isObject(body) ? body.leads : undefined;
  const [list, prefix] = Array.isArray(leads) ? [leads, "leads."] : [body, ""];
  return Array.isArray(list) ? list.map((form, index) => [form, prefix + index]) : [[body, ""]];
}

/** Returns the values of `entry[].changes[]`. */
function changesIn(body) {
  const listed = (value, key) => (isObject(value) && Array.isArray(value[key]) ? value[key] : []);
  return listed(body, "entry").flatMap((entry, of) =>
    listed(entry, "changes").map((change, index) => [
      isObject(change) ? change.value : change,
      `entry.${of}.changes.${index}.value`,
    ]),
  );
}

/** Returns what `convert` returns: the items, and the lines of `note`. */
export function conversion(items, reply = undefined) {
  check("items", items, ITEMS);
  return { items, reply, notes: takeNotes() };
}

/** Returns an item with a lead. Fields that are left out are empty. */
export function lead(fields, route = []) {
  const val = {
    externalId: fields.externalId,
    action: fields.action ?? "create",
    isTest: fields.isTest ?? false,
    name: fields.name,
    phones: fields.phones ?? [],
    emails: fields.emails ?? [],
    region: fields.region,
    listings: fields.listings ?? [],
    message: fields.message,
    occurredAt: fields.occurredAt,
    source: fields.source,
    consents: fields.consents ?? [],
    campaign: fields.campaign ?? [],
    attributes: fields.attributes ?? [],
  };
  check("lead", val, LEAD);
  return { route, outcome: { tag: "lead", val } };
}

/** Returns an item without a lead, and why; the other items of the body are not affected. */
export function invalid(message, path = "") {
  return { route: [], outcome: { tag: "invalid", val: { message, path } } };
}

/** Returns an item about which nothing is to be done, and why. */
export function ignored(why) {
  return { route: [], outcome: { tag: "ignored", val: why } };
}

const [text, boolean] = ["a text", "true or false"];
const orNothing = (shape) => ({ orNothing: shape });
const listOf = (shape) => ({ listOf: shape });

/** The shapes of items and of a lead in the contract. */
const ITEMS = listOf({ route: listOf([text, text]), outcome: { tag: text } });

const LEAD = {
  externalId: orNothing(text),
  action: text,
  isTest: boolean,
  name: orNothing(text),
  phones: listOf(text),
  emails: listOf(text),
  region: orNothing(text),
  listings: listOf({ kind: text, reference: text }),
  message: orNothing(text),
  occurredAt: orNothing(text),
  source: orNothing(text),
  consents: listOf({ purpose: text, granted: boolean, text }),
  campaign: listOf([text, text]),
  attributes: listOf([text, text]),
};

/** Throws if a value is not of the contract's shape: the engine would name neither the field nor the line. */
function check(field, value, shape) {
  const fail = (expected) => {
    const given = value === null || Array.isArray(value) || typeof value !== "object" ? JSON.stringify(value) : "an object";
    throw new TypeError(`\`${field}\` must be ${expected}, not ${given?.slice(0, 80)}`);
  };
  if (shape === text || shape === boolean) {
    if (typeof value !== (shape === text ? "string" : "boolean")) {
      fail(shape);
    }
  } else if (shape.orNothing) {
    if (value !== undefined && value !== null) {
      check(field, value, shape.orNothing);
    }
  } else if (shape.listOf || Array.isArray(shape)) {
    if (!Array.isArray(value) || (!shape.listOf && value.length !== shape.length)) {
      fail(shape.listOf ? "a list" : "a name and a value");
    }
    value.forEach((one, index) => check(`${field}[${index}]`, one, shape.listOf ?? shape[index]));
  } else {
    if (!isObject(value)) {
      fail("an object");
    }
    Object.entries(shape).forEach(([name, inner]) => check(`${field}.${name}`, value[name], inner));
  }
}
