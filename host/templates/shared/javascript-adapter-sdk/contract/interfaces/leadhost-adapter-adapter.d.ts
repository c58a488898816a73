/** @module Interface leadhost:adapter/adapter@1.0.0 **/
export function describe(): Description;
/**
 * How the provider's webhooks prove themselves.
 */
export function senderChecks(config: string): SenderPolicy;
/**
 * Names and values by which events lead to an instance with this
 * configuration, such as `phone-number-id`; `account` is the account that
 * limits and payments are counted for.
 */
export function routes(config: string): Array<[string, string]>;
/**
 * The answer to a GET by which the provider makes sure of the address.
 */
export function handshake(delivery: Delivery): HandshakeAnswer | undefined;
export function send(message: TemplateSend): SendStep;
export function readAnswer(message: TemplateSend, response: HttpResponse): SendAnswer;
/**
 * An error refuses the body as a whole.
 */
export function readWebhook(delivery: Delivery): Webhook;
export function listTemplates(config: string): TemplateStep;
/**
 * `template`, `recipient`, `opt-out` and `window` do not occur in this refusal.
 */
export function readTemplates(config: string, response: HttpResponse): TemplatePage;
export type Delivery = import('./leadhost-types-core.js').Delivery;
export type Description = import('./leadhost-types-core.js').Description;
export type HandshakeAnswer = import('./leadhost-types-core.js').HandshakeAnswer;
export type HttpRequest = import('./leadhost-types-core.js').HttpRequest;
export type HttpResponse = import('./leadhost-types-core.js').HttpResponse;
export type Problem = import('./leadhost-types-core.js').Problem;
export type Reply = import('./leadhost-types-core.js').Reply;
export type SenderPolicy = import('./leadhost-types-core.js').SenderPolicy;
/**
 * A template message that is to go out.
 */
export interface TemplateSend {
  /**
   * The host's own id of the message, at most 64 characters. A provider
   * that gives an opaque text back with its statuses is given this one.
   */
  messageId: string,
  /**
   * E.164; where the contact has no phone, the recipient as the provider
   * named it before.
   */
  recipient: string,
  /**
   * The template as JSON text in the shape of the REST interface:
   * `name`, `language.code`, `components`.
   */
  template: string,
  /**
   * The configuration of the instance: JSON text, valid under the schema
   * that `describe` gave.
   */
  config: string,
  /**
   * `callback-url` (where the provider's webhooks reach this instance),
   * `conversation-id`, `instance-id`, `time-zone` (IANA name), `region`
   * (ISO 3166 alpha-2). More may come.
   */
  context: Array<[string, string]>,
}
/**
 * The provider has taken the message.
 */
export interface Accepted {
  /**
   * The provider's ids of the message, under which statuses come.
   */
  externalIds: Array<string>,
  /**
   * The recipient as the provider names it.
   */
  recipientId?: string,
  /**
   * How far the message is: `accepted`, `held`, `sent`, `delivered`;
   * another word counts as `accepted` and is kept.
   */
  status: string,
  /**
   * Names, and JSON texts: what else the provider says of it. A host
   * leaves out what it does not know.
   */
  attributes: Array<[string, string]>,
}
/**
 * The provider has not taken the message, or the adapter cannot compose it.
 */
export interface Refused {
  /**
   * Whose matter it is, which decides what the host does. `request` (the
   * parameters), `unknown-template` (there is none), `template` (paused, or
   * not as its text demands), `recipient` (cannot be reached), `opt-out`
   * (the contact wants no more messages), `window` (only an answer is
   * allowed now): final.
   * `throttled-recipient`, `throttled-number`, `throttled-account`,
   * `transient`: tried again later. `account`, `connection` (token,
   * permission): the instance is paused and the message kept. Another
   * word counts as `request`.
   */
  category: string,
  /**
   * The provider's code, as text; may be empty.
   */
  code: string,
  title: string,
  /**
   * What to tell the partner.
   */
  text: string,
  /**
   * The provider's further words; may be empty.
   */
  details: string,
  retryAfterSeconds?: number,
}
export type SendAnswer = SendAnswerAccepted | SendAnswerRefused | SendAnswerUnknown;
export interface SendAnswerAccepted {
  tag: 'accepted',
  val: Accepted,
}
export interface SendAnswerRefused {
  tag: 'refused',
  val: Refused,
}
/**
 * The provider may or may not have taken it, and why nobody knows. Such
 * a message is never sent again by itself.
 */
export interface SendAnswerUnknown {
  tag: 'unknown',
  val: string,
}
export type SendStep = SendStepCall | SendStepAnswer;
/**
 * The host makes the call, and gives its answer to `read-answer`.
 */
export interface SendStepCall {
  tag: 'call',
  val: HttpRequest,
}
/**
 * No call is needed.
 */
export interface SendStepAnswer {
  tag: 'answer',
  val: SendAnswer,
}
/**
 * An error that the provider reports of a message.
 */
export interface ChannelError {
  /**
   * The provider's code, as text.
   */
  code: string,
  title: string,
  description: string,
  details: string,
  /**
   * As of a refusal.
   */
  category: string,
}
/**
 * What became of a message.
 */
export interface StatusUpdate {
  /**
   * The provider's id of the message.
   */
  externalId: string,
  /**
   * The host's own id, where the provider gave it back.
   */
  messageId?: string,
  /**
   * `sent`, `delivered`, `read`, `failed`; another word is noted and
   * changes nothing.
   */
  status: string,
  /**
   * RFC 3339; none where the provider does not say: the time of receipt.
   */
  occurredAt?: string,
  recipientId?: string,
  errors: Array<ChannelError>,
}
/**
 * A contact has written.
 */
export interface InboundMessage {
  /**
   * The provider's id of the message, by which a repeat is recognised.
   */
  externalId: string,
  /**
   * The sender as the provider names it; need not be a phone.
   */
  senderId: string,
  /**
   * The sender's phone as the provider writes it.
   */
  senderPhone?: string,
  senderName?: string,
  /**
   * `text`, `image`, `video`, `audio`, `document`, `location`, `contacts`,
   * `button`, `interactive`, `reaction`, `sticker`, `system`; another word
   * counts as `unsupported` and is kept.
   */
  kind: string,
  /**
   * What people read: the text, the caption, the button's words.
   */
  content?: string,
  occurredAt?: string,
  /**
   * The provider's id of the message that this one answers.
   */
  replyTo?: string,
  /**
   * Names, and JSON texts: what else the provider says of it.
   */
  attributes: Array<[string, string]>,
}
/**
 * The provider has changed the state of a template.
 */
export interface TemplateChange {
  name: string,
  language: string,
  /**
   * As of a template; empty: something else changed, and the list is
   * asked for again.
   */
  status: string,
  reason: string,
}
/**
 * Something about a contact changed.
 */
export interface ContactChange {
  senderId: string,
  senderPhone?: string,
  /**
   * `number` (value: the new id of the sender), `opt-out`, `opt-in`;
   * another word is noted and changes nothing.
   */
  kind: string,
  value: string,
  occurredAt?: string,
}
export type EventBody = EventBodyStatus | EventBodyInbound | EventBodyTemplate | EventBodyContact | EventBodyOther | EventBodyInvalid;
export interface EventBodyStatus {
  tag: 'status',
  val: StatusUpdate,
}
export interface EventBodyInbound {
  tag: 'inbound',
  val: InboundMessage,
}
export interface EventBodyTemplate {
  tag: 'template',
  val: TemplateChange,
}
export interface EventBodyContact {
  tag: 'contact',
  val: ContactChange,
}
/**
 * Read, and nothing that the host acts on; why, for people.
 */
export interface EventBodyOther {
  tag: 'other',
  val: string,
}
/**
 * One event that cannot be read; the others count.
 */
export interface EventBodyInvalid {
  tag: 'invalid',
  val: Problem,
}
export interface Event {
  /**
   * Names and values that say which instance it belongs to, as `routes`
   * gives them. Empty: the one whose address it came to.
   */
  route: Array<[string, string]>,
  body: EventBody,
  /**
   * Names, and JSON texts: what else the provider says of it, where the
   * body has no place for it. A host leaves out what it does not know.
   */
  attributes: Array<[string, string]>,
}
export interface Webhook {
  events: Array<Event>,
  /**
   * None: an empty 200.
   */
  reply?: Reply,
  /**
   * For people, shown with the delivery.
   */
  notes: Array<string>,
}
/**
 * What a send must fill.
 */
export interface Placeholder {
  /**
   * `header`, `body`, `button`.
   */
  component: string,
  /**
   * Of a button, from 0; else 0.
   */
  index: number,
  /**
   * `text`, `document`, `image`, `video`.
   */
  kind: string,
  /**
   * Where the provider names its placeholders; else empty.
   */
  name: string,
}
export interface Template {
  name: string,
  language: string,
  /**
   * `approved`, `pending`, `paused`, `rejected`, `disabled`; only an
   * approved one is sent.
   */
  status: string,
  category: string,
  /**
   * Why it is not approved; may be empty.
   */
  reason: string,
  /**
   * The body with its placeholders, as `{{1}}` or `{{name}}`; may be empty.
   */
  text: string,
  placeholders: Array<Placeholder>,
  /**
   * The components as the provider writes them: JSON text.
   */
  components: string,
}
export interface TemplatePage {
  templates: Array<Template>,
  /**
   * The request for the next page.
   */
  next?: HttpRequest,
}
export type TemplateStep = TemplateStepCall | TemplateStepPage | TemplateStepUnlisted;
/**
 * The host makes the call, and gives its answer to `read-templates`.
 */
export interface TemplateStepCall {
  tag: 'call',
  val: HttpRequest,
}
/**
 * No call is needed: this is all.
 */
export interface TemplateStepPage {
  tag: 'page',
  val: TemplatePage,
}
/**
 * This provider, or this configuration, has no list: templates are not
 * checked before they are sent.
 */
export interface TemplateStepUnlisted {
  tag: 'unlisted',
}
