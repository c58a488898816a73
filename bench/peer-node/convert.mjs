// A portal's lead, from its bytes to its rows: the work of Leadhost's converter for
// Grupo OLX and of its normalisation, in JavaScript.

import { parsePhoneNumberFromString } from "libphonenumber-js/min";

const KNOWN = new Set([
  "leadOrigin",
  "timestamp",
  "originLeadId",
  "originListingId",
  "clientListingId",
  "name",
  "email",
  "ddd",
  "phone",
  "phoneNumber",
  "message",
]);

/** Items of a body, or the problem for which it is refused as a whole. */
export function convert(connection, body) {
  let value;
  try {
    value = JSON.parse(body.toString("utf8"));
  } catch (error) {
    return { items: [], problem: `the body is not JSON: ${error.message}` };
  }
  if (Array.isArray(value)) {
    return { items: value.map((lead) => item(connection, lead)) };
  }
  if (value === null || typeof value !== "object") {
    return { items: [], problem: "the body must be a JSON object with one lead" };
  }
  const one = item(connection, value);
  return one.invalid ? { items: [], problem: one.invalid } : { items: [one] };
}

function item(connection, fields) {
  if (fields === null || typeof fields !== "object" || Array.isArray(fields)) {
    return { invalid: "a lead must be a JSON object" };
  }
  const text = (name) => textOf(fields[name]);
  const externalId = text("originLeadId");
  const name = tidyName(text("name"));
  const phones = [];
  const unreadPhones = [];
  for (const raw of phonesOf(text("ddd"), text("phone"), text("phoneNumber"))) {
    const phone = parsePhoneNumberFromString(raw, connection.region);
    if (phone?.isValid()) phones.push(phone.number);
    else unreadPhones.push(raw);
  }
  const email = emailOf(text("email"));
  const emails = email ? [email] : [];
  if (!externalId && !name && !phones.length && !unreadPhones.length && !email) {
    return { invalid: "the lead cannot be identified" };
  }
  const listings = [];
  if (text("clientListingId")) listings.push({ kind: "client", reference: text("clientListingId") });
  if (text("originListingId")) listings.push({ kind: "portal", reference: text("originListingId") });

  const props = { source: text("leadOrigin") ?? connection.name, connection: connection.name };
  const message = text("message");
  if (message) props.message = message;
  const at = text("timestamp");
  if (at) props.occurredAt = occurredAt(at);
  if (listings.length) props.listings = listings;
  if (unreadPhones.length) props.unreadPhones = unreadPhones;
  const attributes = {};
  let some = false;
  for (const key in fields) {
    const value = fields[key];
    if (!KNOWN.has(key) && value !== null && value !== "") {
      attributes[key] = value;
      some = true;
    }
  }
  if (some) props.attributes = attributes;

  const who = name ?? phones[0] ?? email ?? externalId;
  return {
    lead: {
      externalId,
      dedupe: externalId ? `id:${externalId}` : null,
      name,
      phones,
      emails,
      contactKeys: [...phones.map((phone) => `phone:${matchKey(phone)}`), ...emails.map((email) => `email:${email}`)],
      products: listings.map((listing) => listing.reference),
      title: who && listings.length ? `${who} · ${listings[0].reference}` : who,
      props: JSON.stringify(props),
    },
  };
}

function textOf(value) {
  if (typeof value === "string") return value.trim() === "" ? null : value;
  return typeof value === "number" ? String(value) : null;
}

function tidyName(raw) {
  if (!raw) return null;
  const words = raw.split(/[\s\p{Cc}]+/u).filter((word) => word !== "");
  return words.length ? words.join(" ").slice(0, 255) : null;
}

function phonesOf(ddd, phone, whole) {
  const halves = phone && digits(phone) ? (ddd ? joined(ddd, phone) : phone) : null;
  if (!whole || !digits(whole)) return halves ? [halves] : [];
  if (!halves) return [whole];
  const left = digits(halves);
  const right = digits(whole);
  if (left.endsWith(right)) return [halves];
  if (right.endsWith(left)) return [whole];
  return [halves, whole];
}

function joined(ddd, phone) {
  const area = digits(ddd).replace(/^0+/, "");
  const number = digits(phone);
  const complete = phone.startsWith("+") || (number.length >= 10 && number.startsWith(area));
  return area === "" || complete ? phone : area + phone;
}

function digits(text) {
  return text.replace(/\D+/g, "");
}

function emailOf(raw) {
  const text = raw?.trim().toLowerCase();
  return text && text.length <= 254 && /^[^\s@<>,;"]+@[^\s@<>,;".]+(?:\.[^\s@<>,;".]+)+$/.test(text) ? text : null;
}

/** Microseconds, six digits, as the service writes times. */
function occurredAt(raw) {
  const time = new Date(raw);
  return Number.isNaN(time.getTime()) ? raw : time.toISOString().replace("Z", "000Z");
}

/** A mobile of Brazil without its ninth digit, where it had none before. */
function matchKey(phone) {
  return /^\+55\d\d9[6-9]\d{7}$/.test(phone) ? phone.slice(0, 5) + phone.slice(6) : phone;
}
