// Simulated events of a contact or a provider: a list of events, each an object with
// one key, its kind. An event that cannot be read does not affect the others.

import { attributeText, isAbsent, isObject, parseBody, textOf } from "../../converter-javascript/src/reading.js";
import { externalId } from "./sending.js";
import { timeText } from "./time.js";

/** The most events of one delivery that a host accepts. */
const MAX_EVENTS = 10_000;

/** The keys of an inbound message that have their own field. */
const KNOWN = ["from", "name", "text", "kind", "id", "replyTo", "at"];

export function events(delivery) {
  const body = parseBody(delivery.body);
  if (body === undefined) {
    throw { message: "the body is not valid JSON", path: "" };
  }
  if (!Array.isArray(body?.events)) {
    throw { message: "the body must be an object with the list `events`", path: "events" };
  }
  if (body.events.length > MAX_EVENTS) {
    const message = `the body has ${body.events.length} events, at most ${MAX_EVENTS} are taken at once`;
    throw { message, path: "" };
  }
  return body.events.map((value, index) => {
    try {
      return { route: [], body: event(delivery.id, index, value), attributes: [] };
    } catch (error) {
      if (error instanceof Unreadable) {
        const body = { tag: "invalid", val: { message: error.message, path: error.path } };
        return { route: [], body, attributes: [] };
      }
      throw error;
    }
  });
}

/** An event without a meaning, and its place. */
class Unreadable extends Error {
  constructor(message, path) {
    super(message);
    this.path = path;
  }
}

function event(delivery, index, value) {
  const keys = isObject(value) ? Object.keys(value) : [];
  if (keys.length !== 1) {
    throw new Unreadable("an event is an object with one key, its kind", `events.${index}`);
  }
  const [kind] = keys;
  const fields = value[kind];
  const path = `events.${index}.${kind}`;
  if (!isObject(fields)) {
    throw new Unreadable(`\`${kind}\` must be an object`, path);
  }
  const required = (name) => {
    const text = textOf(fields[name]);
    if (text === undefined) {
      throw new Unreadable(`\`${kind}\` needs \`${name}\``, `${path}.${name}`);
    }
    return text;
  };
  const occurredAt = timeText(fields.at);
  const contact = (change, to) => {
    const senderId = required("from");
    const val = { senderId, senderPhone: phoneOf(senderId), kind: change, value: to?.() ?? "", occurredAt };
    return { tag: "contact", val };
  };
  switch (kind) {
    case "inbound": {
      const id = textOf(fields.id) ?? externalId(`${delivery}:${index}`);
      return { tag: "inbound", val: { ...inbound(id, required("from"), fields), occurredAt } };
    }
    case "status":
      return { tag: "status", val: { ...status(required("status"), path, fields), occurredAt } };
    case "optOut":
      return contact("opt-out");
    case "optIn":
      return contact("opt-in");
    case "number":
      return contact("number", () => required("to"));
    default:
      throw new Unreadable(`\`${kind}\` is none of inbound, status, optOut, optIn, number`, path);
  }
}

function inbound(externalId, senderId, fields) {
  return {
    externalId,
    senderId,
    senderPhone: phoneOf(senderId),
    senderName: textOf(fields.name),
    kind: textOf(fields.kind) ?? "text",
    content: textOf(fields.text),
    replyTo: textOf(fields.replyTo),
    attributes: Object.keys(fields)
      .filter((name) => !KNOWN.includes(name) && !isAbsent(fields[name]))
      .sort()
      .map((name) => [name, attributeText(fields[name])]),
  };
}

function status(word, path, fields) {
  const messageId = textOf(fields.messageId);
  const id = textOf(fields.id) ?? (messageId === undefined ? undefined : externalId(messageId));
  if (id === undefined) {
    throw new Unreadable("`status` needs `id` or `messageId`", path);
  }
  const code = textOf(fields.code);
  const text = textOf(fields.text);
  const error = {
    code: code ?? "sandbox",
    title: "",
    description: text ?? "",
    details: "",
    category: textOf(fields.category) ?? "recipient",
  };
  return {
    externalId: id,
    messageId,
    status: word,
    recipientId: undefined,
    errors: code === undefined && text === undefined ? [] : [error],
  };
}

/** Returns a sender's name if it is a phone, in any spelling. */
function phoneOf(from) {
  const isPhone = /^[0-9+\-() .]*$/.test(from) && from.replace(/[^0-9]/g, "").length >= 8;
  return isPhone ? from : undefined;
}
