// The SDK for editors and for TypeScript. The types of the contract are generated from its
// WIT file, `wit/leadhost-adapter-1.0.0.wit`, and describe each field.

import "./console.js";
import type * as adapter from "./contract/interfaces/leadhost-adapter-adapter.js";
import type * as core from "./contract/interfaces/leadhost-types-core.js";

export type * from "./contract/interfaces/leadhost-types-core.js";
export type {
  Accepted,
  ChannelError,
  ContactChange,
  Event,
  EventBody,
  InboundMessage,
  Refused,
  SendAnswer,
  SendStep,
  StatusUpdate,
  Template,
  TemplateChange,
  TemplatePage,
  TemplateSend,
  TemplateStep,
  Webhook,
} from "./contract/interfaces/leadhost-adapter-adapter.js";

/** A number with the digits that were sent; read it with `textOf`. */
export interface RawNumber {
  readonly rawJSON: string;
}
export type Json = null | boolean | number | string | RawNumber | Json[] | JsonObject;
export interface JsonObject {
  [key: string]: Json;
}
/** Keys joined by dots, with indexes in brackets; or the keys, where one has a dot in it. */
export type Path = string | string[];
export type Route = Array<[string, string]>;

/** The functions of an adapter. */
export type Adapter = typeof adapter;
/**
 * Returns the exports of an adapter from the functions that it has. `send` returns a request
 * or an answer, or throws `refused(…)`.
 */
export function defineAdapter(
  functions: Pick<Adapter, "describe" | "send" | "readAnswer" | "readWebhook"> & Partial<Adapter>,
): Adapter;

/** Returns a description; `summary` is one line for people. */
export function description(
  name: string,
  version: string,
  summary: string,
  more?: Partial<core.Description>,
): core.Description;
/** Returns the check of a hex HMAC-SHA256 of the raw body in a header. */
export function hmacSha256Hex(secret: string, header: string, prefix?: string): core.SenderCheck;
/** Returns a problem to be thrown, which refuses the whole body. An `Error` is a crash instead. */
export function problem(message: string, path?: string): core.Problem;
/** Adds a line to the notes of the delivery. */
export function note(line: string): void;

/** Returns the step of a POST with a JSON body; `headers` are names and lists of segments. */
export function postJson(
  authority: string,
  path: string,
  headers: Array<[string, core.Segment[]]>,
  body: unknown,
): adapter.SendStep;
export function literal(text: string): core.Segment;
/** Returns a segment that the host fills with a secret; the adapter never sees it. */
export function secret(name: string): core.Segment;
/** Returns a refusal: to be thrown in `send`, or as an answer with `refusal`. */
export function refused(
  category: string,
  text: string,
  code?: string,
  retryAfterSeconds?: number,
): adapter.Refused;
export function refusal(refused: adapter.Refused): adapter.SendAnswer;
export function accepted(...externalIds: string[]): adapter.SendAnswer;
/** Nothing shows whether the provider has the message, so the host does not send it again. */
export function unknown(why: string): adapter.SendAnswer;
/** Returns the seconds of a `retry-after` header. */
export function retryAfter(response: core.HttpResponse): number | undefined;
/** Returns the template of a send, and the texts for its body. Throws a refusal. */
export function requested(message: adapter.TemplateSend): {
  name: string;
  language: string;
  values: string[];
};

/** Returns the list of events under a key of a webhook's JSON body. Throws a problem. */
export function eventsIn(delivery: core.Delivery, key: string): Json[];
/** Returns what `readWebhook` returns: the events, and the lines of `note`. */
export function webhook(events: adapter.Event[], reply?: core.Reply): adapter.Webhook;
/** Returns an event with its body. */
export function event<Tag extends adapter.EventBody["tag"]>(
  tag: Tag,
  val: Extract<adapter.EventBody, { tag: Tag }>["val"],
  route?: Route,
): adapter.Event;
/** Returns a status of a message; fields that are left out are empty. */
export function status(
  externalId: string,
  word: string,
  fields?: Partial<adapter.StatusUpdate>,
): adapter.StatusUpdate;
/** Returns a message of a contact; fields that are left out are empty. */
export function inbound(
  externalId: string,
  senderId: string,
  fields?: Partial<adapter.InboundMessage>,
): adapter.InboundMessage;
/** Returns an epoch as RFC 3339, and an ISO text with a colon in its offset. */
export function timeText(value: Json | undefined): string | undefined;

/** Returns the body as JSON values: of JSON, or of a form, urlencoded or in parts. Throws a problem. */
export function parseBody(delivery: core.Delivery): Json;
/** Returns an urlencoded text as a tree: `a[b][0]=x` is `{ a: { b: ["x"] } }`. */
export function parseForm(text: string): JsonObject;
/** Returns the text of a body; bytes are not UTF-8, so they are read as Latin-1. */
export function bodyText(body: core.Content): string;
/** Returns the media type, in lower case and without parameters. */
export function contentType(delivery: core.Delivery): string;
/** Returns the first header of this name. */
export function header(delivery: core.Delivery, name: string): string | undefined;
/** Returns the first field of this name in the query. */
export function queryField(delivery: core.Delivery, name: string): string | undefined;

/** Returns the value of a JSON text; `undefined` if it is not JSON or nested too deep. */
export function parseJson(text: string): Json | undefined;
/** Returns a value as JSON text, its numbers as they were sent. */
export function jsonText(value: Json): string;
/** Returns a scalar as trimmed text, a number as it was sent. */
export function textOf(value: Json | undefined): string | undefined;
/** Returns the text at the first path that leads to a scalar: `textAt(event, "id", "ref.id")`. */
export function textAt(value: Json | undefined, ...paths: Path[]): string | undefined;
/** Whether a value is empty: null, a blank text, `{}` or `[]`. */
export function isAbsent(value: Json | undefined): boolean;
export function isObject(value: Json | undefined): value is JsonObject;
