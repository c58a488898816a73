// The records of an adapter's contract, with the parts that few adapters fill.

import { parseBody } from "./body.js";
import { isObject, parseJson, textAt, textOf } from "./json.js";
import { problem, takeNotes, withOwnNotes } from "./plugin.js";

/**
 * Returns the exports of an adapter from the functions that it has. `send` returns a request
 * or an answer, or throws `refused(…)`.
 */
export function defineAdapter({ send, ...functions }) {
  return withOwnNotes({
    senderChecks: () => ({ checks: [], carriedSecrets: [] }),
    routes: () => [],
    handshake: () => undefined,
    listTemplates: () => ({ tag: "unlisted" }),
    readTemplates: () => {
      throw refused("request", "this adapter never requests templates and cannot read such a response");
    },
    ...functions,
    send: (message) => {
      try {
        return send(message);
      } catch (error) {
        if (error?.category === undefined) {
          throw error;
        }
        return { tag: "answer", val: refusal(error) };
      }
    },
  });
}

/** Returns the check of a hex HMAC-SHA256 of the raw body in a header. */
export function hmacSha256Hex(secret, header, prefix = "") {
  return {
    secret,
    scheme: "hmac-sha256",
    proof: { place: "header", name: header },
    encoding: "hex",
    prefix,
    timestampHeader: "",
    toleranceSeconds: 0,
    signed: [],
  };
}

/** Returns the step of a POST with a JSON body; `headers` are names and lists of segments. */
export function postJson(authority, path, headers, body) {
  const val = {
    method: "POST",
    scheme: "https",
    authority,
    path: [literal(path)],
    query: [],
    headers: [...headers, ["content-type", [literal("application/json")]]],
    body: [literal(JSON.stringify(body))],
  };
  return { tag: "call", val };
}

export function literal(text) {
  return { tag: "literal", val: text };
}

/** Returns a segment that the host fills with a secret; the adapter never sees it. */
export function secret(name) {
  return { tag: "slot", val: { function: "secret", args: [{ tag: "secret", val: name }] } };
}

/** Returns a refusal: to be thrown in `send`, or as an answer with `refusal`. */
export function refused(category, text, code = "", retryAfterSeconds = undefined) {
  return { category, code, title: "", text, details: "", retryAfterSeconds };
}

export function refusal(refused) {
  return { tag: "refused", val: refused };
}

export function accepted(...externalIds) {
  return { tag: "accepted", val: { externalIds, recipientId: undefined, status: "accepted", attributes: [] } };
}

/** Nothing shows whether the provider has the message, so the host does not send it again. */
export function unknown(why) {
  return { tag: "unknown", val: why };
}

/** Returns the seconds of a `retry-after` header. */
export function retryAfter(response) {
  const value = response.headers.find(([name]) => name === "retry-after")?.[1].trim() ?? "";
  return /^[0-9]{1,9}$/.test(value) ? Number(value) : undefined;
}

/**
 * Returns name and language of the template of a send, and the texts for the placeholders of
 * its body. Throws a refusal if it has no meaning.
 */
export function requested(message) {
  const template = parseJson(message.template);
  if (template === undefined) {
    throw refused("request", "the template is not valid JSON");
  }
  const name = textAt(template, "name");
  if (name === undefined) {
    throw refused("request", "the template has no `name`");
  }
  const language = textAt(template, "language.code", "language");
  if (language === undefined) {
    throw refused("request", "the template has no `language.code`");
  }
  const components = isObject(template) && Array.isArray(template.components) ? template.components : [];
  const body = components.find((component) => textAt(component, "type")?.toLowerCase() === "body");
  const parameters = isObject(body) && Array.isArray(body.parameters) ? body.parameters : [];
  const values = parameters.map((parameter) => textAt(parameter, "text")).filter((text) => text !== undefined);
  return { name, language, values };
}

/** Returns the list of events under a key of a webhook's JSON body. Throws a problem. */
export function eventsIn(delivery, key) {
  const body = parseBody(delivery);
  if (!isObject(body) || !Array.isArray(body[key])) {
    throw problem(`the body has no list \`${key}\``);
  }
  return body[key];
}

/** Returns what `readWebhook` returns: the events, and the lines of `note`. */
export function webhook(events, reply = undefined) {
  return { events, reply, notes: takeNotes() };
}

/** Returns an event: `tag` is `status`, `inbound`, `template`, `contact`, `other` or `invalid`. */
export function event(tag, val, route = []) {
  return { route, body: { tag, val }, attributes: [] };
}

/** Returns a status of a message; fields that are left out are empty. */
export function status(externalId, word, fields = {}) {
  const empty = { messageId: undefined, occurredAt: undefined, recipientId: undefined, errors: [] };
  return { externalId, status: word, ...empty, ...fields };
}

/** Returns a message of a contact; fields that are left out are empty. */
export function inbound(externalId, senderId, fields = {}) {
  const empty = {
    senderPhone: undefined,
    senderName: undefined,
    kind: "text",
    content: undefined,
    occurredAt: undefined,
    replyTo: undefined,
    attributes: [],
  };
  return { externalId, senderId, ...empty, ...fields };
}

/** 1e11 seconds are the year 5138; 1e11 milliseconds are 1973. */
const MILLIS_ABOVE = 1e11;

/**
 * Returns an epoch (a number, or digits in a text) as RFC 3339, and an ISO text unchanged
 * except that an offset like `+0000` gets its colon.
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
