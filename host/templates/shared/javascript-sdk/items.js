// The records of a converter's contract, with the parts that few converters fill.

import { isObject } from "./json.js";
import { USUAL_SECRETS } from "./names.js";
import { takeNotes, withOwnNotes } from "./plugin.js";

/** The places of the usual secrets in a body, whose values the host masks. */
export const usualSecrets = USUAL_SECRETS.map((name) => ({ place: "json", name }));

/** Returns the exports of a converter from the functions that it has. */
export function defineConverter(functions) {
  return {
    senderChecks: () => ({ checks: [], carriedSecrets: usualSecrets }),
    handshake: () => undefined,
    complete: () => {
      throw { category: "give-up", message: "this converter fetches nothing", retryAfterSeconds: undefined };
    },
    ...withOwnNotes(functions),
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
