// The records of an adapter's contract, with the parts that few adapters fill.

import { bodyText } from "./src/body.js";
import { check, fail, listOf, NUMBER, optional, TEXT } from "./src/check.js";
import { fieldOf } from "./src/form.js";
import { isObject, parseJson } from "./src/json.js";
import { list, text, texts } from "./src/path.js";
import { problem, takeNotes, withOwnNotes } from "./src/plugin.js";

const PAIRS = listOf([TEXT, TEXT]);
const TAGGED = { tag: TEXT };

/**
 * Returns the exports of an adapter from the functions that it has. `send` returns a request or an
 * answer, or throws `refused(…)`.
 */
export function defineAdapter({ send, readAnswer, readWebhook, ...others }) {
  const sent = (message) => {
    try {
      return send(message);
    } catch (thrown) {
      if (thrown?.category === undefined) {
        throw thrown;
      }
      return { tag: "answer", val: refusal(thrown) };
    }
  };
  return withOwnNotes({
    senderChecks: () => ({ checks: [], carriedSecrets: [] }),
    routes: () => [],
    handshake: () => undefined,
    listTemplates: () => ({ tag: "unlisted" }),
    readTemplates: () => {
      throw refused("request", "this adapter never requests templates and cannot read such a response");
    },
    ...others,
    send: (message) => check("the result of send", sent(message), TAGGED),
    readAnswer: (...given) => check("the result of readAnswer", readAnswer(...given), TAGGED),
    readWebhook: (delivery) => check("the result of readWebhook", readWebhook(delivery), WEBHOOK),
  });
}

/** Returns the check of a hex HMAC-SHA256 of the raw body in a header. */
export function hmacSha256Hex(secret, header, prefix = "") {
  const proof = { place: "header", name: header };
  return {
    secret,
    scheme: "hmac-sha256",
    proof,
    encoding: "hex",
    prefix,
    timestampHeader: "",
    toleranceSeconds: 0,
    signed: [],
  };
}

/** Returns the step of a POST with a JSON body; a header is a name with a text or with segments. */
export function postJson(url, headers, body) {
  return request("POST", url, [...headers, ["content-type", "application/json"]], JSON.stringify(body));
}

const URL_PARTS =
  /^(https?):\/\/([\w.-]+(?::[0-9]+)?|\[[0-9a-fA-F:.]+\](?::[0-9]+)?)(\/[!"$->@-~]*)?(?:\?([!"$-~]*))?$/;
const SEGMENTS = listOf(TAGGED);
const REQUEST = { method: TEXT, headers: listOf([TEXT, SEGMENTS]), body: listOf({ tag: TEXT, val: TEXT }) };

/** Returns the step of a call of a whole URL, with a text as its body, or none. */
export function request(method, url, headers = [], body = "") {
  const [, scheme, authority, path = "/", query = ""] = URL_PARTS.exec(url) ?? [];
  if (scheme === undefined) {
    fail("url", "a whole URL: https:// or http://, a host, and a path that is percent-encoded", url);
  }
  const segments = (value) => (typeof value === "string" ? [literal(value)] : value);
  const fields = query.split("&").filter(Boolean).map(fieldOf);
  const val = {
    method,
    scheme,
    authority,
    path: [literal(path)],
    query: fields.map(([name, value]) => [name, [literal(value)]]),
    headers: headers.map(([name, value]) => [name, segments(value)]),
    body: body === "" ? [] : [literal(body)],
  };
  return { tag: "call", val: check("request", val, REQUEST) };
}

export function literal(text) {
  return { tag: "literal", val: text };
}

/** Returns a segment that the host fills with a secret; the adapter never sees it. */
export function secret(name) {
  return { tag: "slot", val: { function: "secret", args: [{ tag: "secret", val: name }] } };
}

const REFUSED = { category: TEXT, code: TEXT, text: TEXT, retryAfterSeconds: optional(NUMBER) };

/** Returns a refusal: to be thrown in `send`, or as an answer with `refusal`. */
export function refused(category, text, code = "", retryAfterSeconds = undefined) {
  return check("refused", { category, code, title: "", text, details: "", retryAfterSeconds }, REFUSED);
}

export function refusal(refused) {
  return { tag: "refused", val: refused };
}

export function accepted(...externalIds) {
  check("accepted", externalIds, listOf(TEXT));
  return { tag: "accepted", val: { externalIds, recipientId: undefined, status: "accepted", attributes: [] } };
}

/** Nothing shows whether the provider has the message, so the host does not send it again. */
export function unknown(why) {
  return { tag: "unknown", val: check("unknown", why, TEXT) };
}

/** Returns the seconds of a `retry-after` header. */
export function retryAfter(response) {
  const value = response.headers.find(([name]) => name === "retry-after")?.[1].trim() ?? "";
  return /^[0-9]{1,9}$/.test(value) ? Number(value) : undefined;
}

/**
 * Returns name and language of the template of a send, and the texts for the placeholders of its body.
 * Throws a refusal if it has no meaning.
 */
export function requested(message) {
  const template = parseJson(message.template);
  const needed = (found, what) => {
    if (found === undefined) {
      throw refused("request", `the template ${what}`);
    }
    return found;
  };
  needed(template, "is not valid JSON");
  const name = needed(text(template, "name"), "has no `name`");
  const language = text(template, "language.code") ?? needed(text(template, "language"), "has no `language.code`");
  const isBody = (component) => text(component, "type")?.toLowerCase() === "body";
  const values = texts(list(template, "components").find(isBody), "parameters[*].text");
  return { name, language, values };
}

/** Returns the list of events under a key of a webhook's JSON body. Throws a problem. */
export function eventsIn(delivery, key) {
  const body = parseJson(bodyText(delivery.body));
  if (body === undefined) {
    throw problem("the body is not valid JSON");
  }
  if (!isObject(body) || !Array.isArray(body[key])) {
    throw problem(`the body has no list \`${key}\``);
  }
  return body[key];
}

const EVENT = { route: PAIRS, body: TAGGED, attributes: PAIRS };
const WEBHOOK = { events: listOf(EVENT), notes: listOf(TEXT) };

/** Returns what `readWebhook` returns: the events, and the lines of `note`. */
export function webhook(events, reply = undefined) {
  return { events: check("events", events, listOf(EVENT)), reply, notes: takeNotes() };
}

/** Returns an event: `tag` is `status`, `inbound`, `template`, `contact`, `other` or `invalid`. */
export function event(tag, val, route = []) {
  return check("event", { route, body: { tag, val }, attributes: [] }, EVENT);
}

const STATUS = {
  externalId: TEXT,
  messageId: optional(TEXT),
  status: TEXT,
  occurredAt: optional(TEXT),
  recipientId: optional(TEXT),
  errors: listOf({ code: TEXT, title: TEXT, description: TEXT, details: TEXT, category: TEXT }),
};

/** Returns a status of a message; fields that are left out are empty. */
export function status(externalId, word, fields = {}) {
  return check("status", { ...empty(STATUS), ...fields, externalId, status: word }, STATUS);
}

const INBOUND = {
  externalId: TEXT,
  senderId: TEXT,
  senderPhone: optional(TEXT),
  senderName: optional(TEXT),
  kind: TEXT,
  content: optional(TEXT),
  occurredAt: optional(TEXT),
  replyTo: optional(TEXT),
  attributes: PAIRS,
};

/** Returns a message of a contact; fields that are left out are empty. */
export function inbound(externalId, senderId, fields = {}) {
  return check("inbound", { ...empty(INBOUND), kind: "text", ...fields, externalId, senderId }, INBOUND);
}

function empty(shape) {
  return Object.fromEntries(Object.entries(shape).map(([name, { listOf }]) => [name, listOf && []]));
}
