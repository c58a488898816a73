/** @module Interface leadhost:converter/converter@1.0.0 **/
/**
 * Who the converter is. Called when it is loaded, never for a delivery.
 */
export function describe(): Description;
/**
 * How senders prove themselves. The argument is the connection's configuration.
 */
export function senderChecks(config: string): SenderPolicy;
/**
 * The answer to a GET by which a source makes sure of the address; none:
 * this source has no such thing.
 */
export function handshake(delivery: Delivery): HandshakeAnswer | undefined;
/**
 * Items of a delivery, good and bad. An error refuses the body as a whole:
 * the sender hears 400.
 */
export function convert(delivery: Delivery): Conversion;
/**
 * Items that the answer to a fetch gives: leads, or further fetches (at most 4 hops).
 */
export function complete(completion: Completion): Array<Item>;
export type Delivery = import('./leadhost-types-core.js').Delivery;
export type Description = import('./leadhost-types-core.js').Description;
export type HandshakeAnswer = import('./leadhost-types-core.js').HandshakeAnswer;
export type HttpRequest = import('./leadhost-types-core.js').HttpRequest;
export type HttpResponse = import('./leadhost-types-core.js').HttpResponse;
export type Problem = import('./leadhost-types-core.js').Problem;
export type Reply = import('./leadhost-types-core.js').Reply;
export type SenderPolicy = import('./leadhost-types-core.js').SenderPolicy;
/**
 * A reference to what the lead asks about.
 */
export interface Listing {
  /**
   * `client` (the workspace's own external id), `portal`, or the source's word.
   */
  kind: string,
  reference: string,
}
export interface Consent {
  /**
   * What was agreed to: the source's word.
   */
  purpose: string,
  granted: boolean,
  /**
   * The text that was shown; may be empty.
   */
  text: string,
}
/**
 * A normalised contact request.
 */
export interface Lead {
  /**
   * The source's own id of the lead, as text. None: the host recognises
   * repeats by contact, listing and message for a while.
   */
  externalId?: string,
  /**
   * `create`, `update` or `delete`; the host knows no others yet.
   */
  action: string,
  /**
   * The source marks it as a test.
   */
  isTest: boolean,
  name?: string,
  /**
   * Raw, best first; the host normalises them.
   */
  phones: Array<string>,
  /**
   * Raw, best first.
   */
  emails: Array<string>,
  /**
   * ISO 3166 alpha-2: how to read phones without a country code.
   */
  region?: string,
  /**
   * Best first.
   */
  listings: Array<Listing>,
  message?: string,
  /**
   * The source's time: RFC 3339, or local in the connection's time zone.
   */
  occurredAt?: string,
  /**
   * The source's name where one connection serves several.
   */
  source?: string,
  consents: Array<Consent>,
  /**
   * Names and values: `campaign-id`, `ad-id`, `form-id` and the like.
   */
  campaign: Array<[string, string]>,
  /**
   * Whatever else the source said: name and JSON text.
   */
  attributes: Array<[string, string]>,
}
/**
 * The lead is elsewhere: the host makes the request and calls `complete`.
 */
export interface Fetch {
  /**
   * The source's own id of the lead; claims it at once, so that a repeat is a duplicate.
   */
  externalId?: string,
  request: HttpRequest,
  /**
   * At most 64 KiB, handed back to `complete`.
   */
  state: Uint8Array,
}
export type Outcome = OutcomeLead | OutcomeFetch | OutcomeIgnored | OutcomeInvalid;
export interface OutcomeLead {
  tag: 'lead',
  val: Lead,
}
export interface OutcomeFetch {
  tag: 'fetch',
  val: Fetch,
}
/**
 * Nothing to do, and why.
 */
export interface OutcomeIgnored {
  tag: 'ignored',
  val: string,
}
/**
 * This one item cannot be read; the others stand.
 */
export interface OutcomeInvalid {
  tag: 'invalid',
  val: Problem,
}
export interface Item {
  /**
   * Names and values that say which connection it belongs to when one
   * address serves several (`page-id` and the like); empty: this one.
   */
  route: Array<[string, string]>,
  outcome: Outcome,
}
export interface Conversion {
  items: Array<Item>,
  /**
   * None: the host answers with its own JSON.
   */
  reply?: Reply,
  /**
   * Lines for the delivery's log, for whoever debugs the converter.
   */
  notes: Array<string>,
}
/**
 * The answer to a fetch.
 */
export interface Completion {
  deliveryId: string,
  receivedAt: string,
  config: string,
  context: Array<[string, string]>,
  externalId?: string,
  state: Uint8Array,
  /**
   * 1 for the first fetch of an item, then 2, 3 and 4.
   */
  hop: number,
  response: HttpResponse,
}
export interface Failure {
  /**
   * `retry` (later), `stop` (the connection's credential or permission
   * is at fault: pause its fetches), or `give-up` (this item is lost).
   */
  category: string,
  message: string,
  /**
   * Not before so many seconds have passed.
   */
  retryAfterSeconds?: number,
}
