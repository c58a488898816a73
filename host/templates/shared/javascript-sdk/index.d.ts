// The SDK for editors and for TypeScript. The types of the contract are generated from its
// WIT file, `wit/leadhost-converter-1.0.0.wit`, and describe each field.

import "./console.js";
import type * as converter from "./contract/interfaces/leadhost-converter-converter.js";
import type * as core from "./contract/interfaces/leadhost-types-core.js";

export type * from "./contract/interfaces/leadhost-types-core.js";
export type {
  Completion,
  Consent,
  Conversion,
  Failure,
  Fetch,
  Item,
  Lead,
  Listing,
  Outcome,
} from "./contract/interfaces/leadhost-converter-converter.js";

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

/**
 * The places of the usual secrets (`google_key`, `password`, …) in a body, whose values the host masks.
 * A `senderChecks` of your own returns them as `carriedSecrets`.
 */
export const usualSecrets: core.Location[];
/** The functions of a converter. */
export type Converter = typeof converter;
/** Returns the exports of a converter from the functions that it has. */
export function defineConverter(
  functions: Pick<Converter, "describe" | "convert"> & Partial<Converter>,
): Converter;

/** Returns a description; `summary` is one line for people. */
export function description(
  name: string,
  version: string,
  summary: string,
  more?: Partial<core.Description>,
): core.Description;
/** Returns what `convert` returns: the items, and the lines of `note`. */
export function conversion(items: converter.Item[], reply?: core.Reply): converter.Conversion;
/** Returns an item with a lead. Fields that are left out are empty. */
export function lead(fields: Partial<converter.Lead>, route?: Route): converter.Item;
/** Returns an item without a lead, and why; the other items of the body are not affected. */
export function invalid(message: string, path?: string): converter.Item;
/** Returns an item about which nothing is to be done, and why. */
export function ignored(why: string): converter.Item;
/** Returns a problem to be thrown, which refuses the whole body. An `Error` is a crash instead. */
export function problem(message: string, path?: string): core.Problem;
/** Adds a line to the notes of the delivery. */
export function note(line: string): void;

/**
 * Returns the body as JSON values: of JSON, or of a form, urlencoded or in parts. A text in it that is itself
 * JSON, under a name such as `rawRequest` or `payload`, is what it contains. Throws a problem.
 */
export function parseBody(delivery: core.Delivery): Json;
/**
 * Returns the forms of a body and their paths: of a list, of a list under `leads`, of the changes
 * that Meta sends, or one.
 */
export function formsIn(body: Json): Array<[form: Json, path: string]>;
/** Returns an urlencoded text as a tree: `a[b][0]=x` is `{ a: { b: ["x"] } }`. What is not UTF-8 is read as Latin-1. */
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
/** Returns the text at the first path that leads to a scalar: `textAt(form, "id", "ref.id")`. */
export function textAt(value: Json, ...paths: Path[]): string | undefined;
/** Whether a value is empty: null, a blank text, `{}` or `[]`. */
export function isAbsent(value: Json | undefined): boolean;
export function isObject(value: Json | undefined): value is JsonObject;

/** A form that is read by the usual names of fields, or by paths. */
export class Fields {
  constructor(form: JsonObject);
  /** Returns the text at the first of these paths: `take("deal.ref", "phones[0]")`. */
  take(...paths: Path[]): string | undefined;
  externalId(): string | undefined;
  /** Returns whether the lead is a test: a field says so, or a value is Meta's for a test lead. */
  isTest(): boolean;
  /**
   * Whether what was read is a lead, which the mapping converter asks in the same way: it has a
   * phone or an e-mail address, or an id and a form's answers, or a name with an id, a message or
   * a listing.
   */
  isLead(found: Partial<converter.Lead>): boolean;
  /** Returns the name, joined if it came in two parts. */
  name(): string | undefined;
  /** Returns all phones, likeliest first, with the area code that is beside them. */
  phones(): string[];
  emails(): string[];
  message(): string | undefined;
  /** Returns the client's own references of listings first, then the portal's. */
  listings(): converter.Listing[];
  /** Returns the time of the lead: of one field, or of a date and a time of day. */
  occurredAt(): string | undefined;
  /** Returns where the lead came from. */
  source(): string | undefined;
  /** Returns the fields of the campaign, by the names that the host knows. */
  campaign(): Array<[string, string]>;
  /**
   * Returns what was not read so far, as attributes: call it last. Other people are left out, and
   * a note says where they are.
   */
  rest(): Array<[string, string]>;
}
