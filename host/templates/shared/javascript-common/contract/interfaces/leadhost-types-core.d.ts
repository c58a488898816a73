/** @module Interface leadhost:types/core@1.0.0 **/
/**
 * The bytes of a body: text where they are UTF-8, else bytes.
 */
export type Content = ContentText | ContentBytes;
export interface ContentText {
  tag: 'text',
  val: string,
}
export interface ContentBytes {
  tag: 'bytes',
  val: Uint8Array,
}
/**
 * One inbound request of a source or provider, as the host received it.
 * Values of the connection's secrets are masked in it.
 */
export interface Delivery {
  /**
   * The host's id of the delivery.
   */
  id: string,
  /**
   * When the host received it: RFC 3339, UTC. The plugin's clock shows the same time.
   */
  receivedAt: string,
  /**
   * The HTTP method, upper case.
   */
  method: string,
  /**
   * The path as received, without the query.
   */
  path: string,
  /**
   * The query's fields, decoded, in order, repeats kept.
   */
  query: Array<[string, string]>,
  /**
   * The headers in order, names in lower case, repeats kept.
   */
  headers: Array<[string, string]>,
  body: Content,
  /**
   * The configuration of the connection or instance: JSON text, valid
   * under the schema that `describe` gave.
   */
  config: string,
  /**
   * Attributes of the place that the delivery came to: `time-zone`
   * (IANA name), `region` (ISO 3166 alpha-2). More may come.
   */
  context: Array<[string, string]>,
}
/**
 * An argument of a slot's function: a secret by its name, or literal text.
 * A name may be qualified: `page-token/1234`.
 */
export type SlotArgument = SlotArgumentSecret | SlotArgumentLiteral;
export interface SlotArgumentSecret {
  tag: 'secret',
  val: string,
}
export interface SlotArgumentLiteral {
  tag: 'literal',
  val: string,
}
/**
 * What the host puts in at the last moment. Functions:
 * `secret` (one secret: its value),
 * `basic` (user, password: `Basic` and their base64),
 * `hmac-sha256-hex`, `hmac-sha256-base64` (key, then the parts of the message).
 * A function that the host does not know is refused.
 */
export interface Slot {
  'function': string,
  args: Array<SlotArgument>,
}
/**
 * A piece of a text that a plugin composes. Literals and bytes pass
 * unread: no text of a lead can name a secret.
 */
export type Segment = SegmentLiteral | SegmentBytes | SegmentSlot;
export interface SegmentLiteral {
  tag: 'literal',
  val: string,
}
export interface SegmentBytes {
  tag: 'bytes',
  val: Uint8Array,
}
export interface SegmentSlot {
  tag: 'slot',
  val: Slot,
}
/**
 * An HTTP request that the plugin asks the host to make. The host makes it
 * when `scheme`, `authority` are on the allow-list; redirects are not followed.
 */
export interface HttpRequest {
  method: string,
  /**
   * `https`, or `http` where the operator allowed it.
   */
  scheme: string,
  /**
   * Host, with the port if it is not the scheme's own.
   */
  authority: string,
  /**
   * The path, beginning with a slash, percent-encoded where literal;
   * slots are percent-encoded by the host.
   */
  path: Array<Segment>,
  /**
   * The query's fields; names and values are percent-encoded by the host.
   */
  query: Array<[string, Array<Segment>]>,
  headers: Array<[string, Array<Segment>]>,
  /**
   * The body's pieces in order; none is no body.
   */
  body: Array<Segment>,
}
export interface HttpResponse {
  status: number,
  /**
   * Names in lower case.
   */
  headers: Array<[string, string]>,
  body: Content,
}
/**
 * What the sender hears back, after the commit.
 */
export interface Reply {
  /**
   * 200 to 299, or 400 to 499.
   */
  status: number,
  contentType: string,
  body: Array<Segment>,
}
/**
 * A condition of a handshake that the host checks in constant time: the
 * named secret equals the value of the named query field.
 */
export interface Requirement {
  secret: string,
  queryField: string,
}
export interface HandshakeAnswer {
  /**
   * All must hold, else the host answers 403.
   */
  require: Array<Requirement>,
  reply: Reply,
}
/**
 * Where something is in a delivery. Places: `header`, `query`, `form`
 * (a field of an urlencoded body), `json` (a path of keys joined by dots,
 * compared without regard to case).
 */
export interface Location {
  place: string,
  name: string,
}
/**
 * A part of what the sender signed. Kinds: `literal` (value: the text),
 * `method`, `public-url`, `header` (value: its name), `timestamp` (as it
 * came), `sorted-form` (name and value of each field, sorted by name),
 * `body` (the raw bytes).
 */
export interface SignedPart {
  kind: string,
  value: string,
}
/**
 * How a sender proves who it is. The host checks it over the raw bytes in
 * constant time when the connection has the secret; the plugin never sees it.
 */
export interface SenderCheck {
  /**
   * The name of the connection's secret.
   */
  secret: string,
  /**
   * `hmac-sha256`, `hmac-sha1`, `basic` (the secret is `user:password`),
   * `bearer`, or `equals` (the proof is the secret itself).
   * A scheme that the host does not know is refused.
   */
  scheme: string,
  /**
   * Where the proof is.
   */
  proof: Location,
  /**
   * `hex`, `base64`, `base64url`, or `plain`.
   */
  encoding: string,
  /**
   * What stands before the proof: `sha256=`. May be empty.
   */
  prefix: string,
  /**
   * The header with the time of signing, in seconds or milliseconds; empty: none.
   */
  timestampHeader: string,
  /**
   * How far that time may be from the host's; 0: any.
   */
  toleranceSeconds: number,
  /**
   * What was signed, in order. Empty: the body.
   */
  signed: Array<SignedPart>,
}
export interface SenderPolicy {
  /**
   * Those whose secret the connection has must all pass.
   */
  checks: Array<SenderCheck>,
  /**
   * Where this source carries secrets of its own: masked wherever shown.
   */
  carriedSecrets: Array<Location>,
}
/**
 * A secret that the plugin's slots or checks name.
 */
export interface SecretDeclaration {
  /**
   * The name; a family of qualified names ends in `/*`.
   */
  name: string,
  /**
   * `static`, `oauth2-refresh`, or `client-credentials`.
   */
  kind: string,
  summary: string,
  required: boolean,
}
/**
 * Who the plugin is and what it needs.
 */
export interface Description {
  /**
   * Lower-case letters, digits and hyphens, at most 64.
   */
  name: string,
  /**
   * Semantic version.
   */
  version: string,
  /**
   * One line for people.
   */
  summary: string,
  /**
   * JSON Schema (2020-12) of the configuration; empty: none is taken.
   */
  configSchema: string,
  secrets: Array<SecretDeclaration>,
  /**
   * Hosts that it asks for when the configuration says nothing else.
   */
  hosts: Array<string>,
}
/**
 * Something that the plugin could not read, in words for whoever sent it.
 */
export interface Problem {
  message: string,
  /**
   * Where in the body: keys and indexes joined by dots; may be empty.
   */
  path: string,
}
