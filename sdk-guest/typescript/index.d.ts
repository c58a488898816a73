// Converters, and what they share with adapters. The contract (`wit/leadhost-converter-1.0.0.wit` in this package)
// describes each field of its records.

/** A text or none; a blank one counts as none. */
export type Text = string | null | undefined;
/** A list with absent entries, which are left out, and with lists, which are spread. */
export type List<T> = ReadonlyArray<T | null | undefined | List<T>>;
/** Names and values. */
export type Pairs = Array<[name: string, value: string]>;
/** Names and values by which one address serves several connections or instances. */
export type Route = Pairs;

// Reading

/** A number of JSON with the digits that were sent; read it with `text` or `number`. */
export interface RawNumber {
  readonly rawJSON: string;
}
/** A body, or a part of it. */
export type Json = null | boolean | number | string | RawNumber | Json[] | { [key: string]: Json };
type Tree = Json | undefined;
/**
 * Keys joined by dots, `[0]`, `[*]` (each element; what is there once is its own), `*` (any key), `[?key=text]`
 * (elements that have this text there), quoted keys: `"a.b"`.
 */
export type Path = string;

/** Returns the body as a tree: JSON, XML, or a form, urlencoded or in parts. Throws a problem. */
export function parse(delivery: Delivery): Json;
/** Returns the first value that the path leads to; null, blank texts, `{}` and `[]` do not count. */
export function at(value: Tree, path: Path): Json | undefined;
/** Returns the first text there, trimmed; of a number its digits as they were sent. */
export function text(value: Tree, path?: Path): string | undefined;
/**
 * Returns the first number there, or text that is a number as people write it: `500.000` or `12,5`. Ids may have
 * more digits than it keeps: use `text`.
 */
export function number(value: Tree, path?: Path): number | undefined;
/** Returns the values there; of one list its elements. Without a path, of the value itself. */
export function list(value: Tree, path?: Path): Json[];
/** Returns all texts there. */
export function texts(value: Tree, path?: Path): string[];
/** Returns the first header of this name. */
export function header(delivery: Delivery, name: string): string | undefined;
/** Returns the first field of this name in the query. */
export function queryField(delivery: Delivery, name: string): string | undefined;
/** Returns the text of a body. */
export function bodyText(body: Content): string;
/** Returns an urlencoded text as a tree: `a[b][0]=x` is `{ a: { b: ["x"] } }`. */
export function parseForm(text: string): { [key: string]: Json };
/** Returns the value of a JSON text; `undefined` if it is not JSON or nested too deep. */
export function parseJson(text: string): Json | undefined;
/** Returns a value as JSON text, its numbers as they were sent. */
export function jsonText(value: Json): string;

// The values of a lead

/** Joins texts with a space. If the last words of the first are the second, it is whole. */
export function join(...texts: Text[]): string | undefined;
/** Returns a phone, with the codes if it has none; `undefined` for a text that is no phone. */
export function phone(text: Text, area?: Text, country?: Text): string | undefined;
/** Returns an e-mail address as it is written; `undefined` for a text without `@`. */
export function email(text: Text): string | undefined;
/** Returns a time as the contract has it: an epoch, ISO 8601, `31/12/2026 14:30`, or of JavaScript, RFC 2822, .NET. */
export function time(text: Text): string | undefined;
/** Whether a text says yes: `true`, `1`, `sim`, … */
export function yes(text: Text): boolean;
/** Returns a reference to what the lead asks about: `client` (the workspace's own), `portal`, or the source's word. */
export function listing(kind: string, reference: Text): Listing | undefined;
/** Returns an attribute with any value as JSON; `undefined` if the value is absent. */
export function attribute(name: Text, value: unknown): [name: string, json: string] | undefined;

// Items

export interface Listing {
  kind: string;
  reference: string;
}
export interface Consent {
  purpose: string;
  granted: boolean;
  /** The text that was shown; may be empty. */
  text: string;
}
/** The fields of a lead. What is left out or absent is empty. */
export interface LeadFields {
  /** The source's own id of the lead. */
  externalId?: Text;
  /** `create` (without a word), `update` or `delete`. */
  action?: Text;
  isTest?: boolean;
  name?: Text;
  /** Best first. */
  phones?: List<string>;
  emails?: List<string>;
  /** ISO 3166 alpha-2: how to read phones without a country code. */
  region?: Text;
  listings?: List<Listing>;
  message?: Text;
  occurredAt?: Text;
  /** The source's name where one connection serves several. */
  source?: Text;
  consents?: List<Consent>;
  /** `campaign-id`, `ad-id`, `form-id`, `utm-source` and the like. */
  campaign?: List<[name: string, value: Text]>;
  /** Whatever else the source said. */
  attributes?: List<[name: string, json: string]>;
}
/** A lead as the contract has it. */
export interface Lead {
  externalId?: string;
  action: string;
  isTest: boolean;
  name?: string;
  phones: string[];
  emails: string[];
  region?: string;
  listings: Listing[];
  message?: string;
  occurredAt?: string;
  source?: string;
  consents: Consent[];
  campaign: Pairs;
  attributes: Pairs;
}
/** The lead is elsewhere: the host makes the request and calls `complete` with the state, at most 64 KiB. */
export interface Fetch {
  externalId?: string;
  request: HttpRequest;
  state: Uint8Array;
}
export type Outcome =
  | { tag: "lead"; val: Lead }
  | { tag: "fetch"; val: Fetch }
  | { tag: "ignored"; val: string }
  | { tag: "invalid"; val: Problem };
export interface Item {
  route: Route;
  outcome: Outcome;
}
export interface Conversion {
  items: Item[];
  reply?: Reply;
  notes: string[];
}

/** Returns an item with a lead; invalid if it has no id, name, phone, e-mail address, message or listing. */
export function lead(fields: LeadFields, route?: Route): Item;
/** Returns an item without a lead, and why; the other items of the body are not affected. */
export function invalid(message: string, path?: string): Item;
/** Returns an item about which nothing is to be done, and why. */
export function ignored(why: string): Item;
/**
 * Returns what `read` makes of each value. One for which it throws is an invalid item with the reason, and the others
 * are given; if it throws for all of them, the call ends with the first error.
 */
export function readEach<T>(values: T[], read: (value: T, index: number) => Item): Item[];
/** Returns what `convert` returns: the items, and the lines of `note`. */
export function conversion(items: Item[], reply?: Reply): Conversion;
/** Returns a problem to be thrown, which refuses the whole body. An `Error` is a crash instead. */
export function problem(message: string, path?: string): Problem;
/** Adds a line to the notes of the delivery. */
export function note(line: string): void;

// The plugin

/** Returns a description; `summary` is one line for people. */
export function description(name: string, version: string, summary: string, more?: Partial<Description>): Description;
/** The places of the usual secrets (`google_key`, `password`, …) in a body: the places that `senderChecks` uses without your own. */
export const usualSecrets: Location[];
export interface Converter {
  describe(): Description;
  senderChecks(config: string): SenderPolicy;
  handshake(delivery: Delivery): HandshakeAnswer | undefined;
  convert(delivery: Delivery): Conversion;
  /** Throws a `Failure` if there is no lead. */
  complete(completion: Completion): Item[];
}
/** Returns the exports of a converter from the functions that it has. */
export function defineConverter(functions: Pick<Converter, "describe" | "convert"> & Partial<Converter>): Converter;

export interface Completion {
  deliveryId: string;
  receivedAt: string;
  config: string;
  context: Pairs;
  externalId?: string;
  state: Uint8Array;
  /** 1 for the first fetch of an item, then 2, 3 and 4. */
  hop: number;
  response: HttpResponse;
}
export interface Failure {
  category: "retry" | "stop" | "give-up";
  message: string;
  retryAfterSeconds?: number;
}

// The contract that converters and adapters share

export type Content = { tag: "text"; val: string } | { tag: "bytes"; val: Uint8Array };
export interface Delivery {
  id: string;
  /** RFC 3339, UTC. */
  receivedAt: string;
  method: string;
  path: string;
  query: Pairs;
  /** Names in lower case. */
  headers: Pairs;
  body: Content;
  /** JSON text that is valid under the schema of `describe`. */
  config: string;
  /** `time-zone`, `region`, … */
  context: Pairs;
}
export type SlotArgument = { tag: "secret" | "literal"; val: string };
/** What the host puts in: `secret`, `basic`, `hmac-sha256-hex`, `hmac-sha256-base64`. */
export interface Slot {
  function: string;
  args: SlotArgument[];
}
export type Segment = { tag: "literal"; val: string } | { tag: "bytes"; val: Uint8Array } | { tag: "slot"; val: Slot };
export interface HttpRequest {
  method: string;
  scheme: string;
  authority: string;
  path: Segment[];
  query: Array<[name: string, value: Segment[]]>;
  headers: Array<[name: string, value: Segment[]]>;
  body: Segment[];
}
export interface HttpResponse {
  status: number;
  headers: Pairs;
  body: Content;
}
export interface Reply {
  status: number;
  contentType: string;
  body: Segment[];
}
export interface HandshakeAnswer {
  /** A secret and the query field that must be equal to it. */
  require: Array<{ secret: string; queryField: string }>;
  reply: Reply;
}
/** Where something is: `header`, `query`, `form` or `json`, and its name. */
export interface Location {
  place: string;
  name: string;
}
export interface SenderCheck {
  secret: string;
  /** `hmac-sha256`, `hmac-sha1`, `basic`, `bearer`, `equals`. */
  scheme: string;
  proof: Location;
  /** `hex`, `base64`, `base64url`, `plain`. */
  encoding: string;
  prefix: string;
  timestampHeader: string;
  toleranceSeconds: number;
  /**
   * What was signed, in order; empty: the body. Kinds: `literal` (value: the text), `method`, `public-url`, `header`
   * (value: its name), `timestamp` (as it came), `sorted-form` (name and value of each field, sorted by name), `body`.
   */
  signed: Array<{ kind: string; value: string }>;
}
export interface SenderPolicy {
  checks: SenderCheck[];
  carriedSecrets: Location[];
}
export interface SecretDeclaration {
  name: string;
  /** `static`, `oauth2-refresh`, `client-credentials`. */
  kind: string;
  summary: string;
  required: boolean;
}
export interface Description {
  name: string;
  version: string;
  summary: string;
  /** JSON Schema; empty: no configuration. */
  configSchema: string;
  secrets: SecretDeclaration[];
  hosts: string[];
}
export interface Problem {
  message: string;
  path: string;
}

declare global {
  /** What is logged goes to the standard error, which is kept with the delivery. */
  var console: Record<"debug" | "error" | "info" | "log" | "warn", (...values: unknown[]) => void>;
}
