// Adapters. The contract (`wit/leadhost-adapter-1.0.0.wit` in this package) describes each field of its records, and
// which words they take.

import type {
  Delivery,
  Description,
  HandshakeAnswer,
  HttpRequest,
  HttpResponse,
  Json,
  Pairs,
  Problem,
  Reply,
  Route,
  Segment,
  SenderCheck,
  SenderPolicy,
} from "./index.js";

export interface Adapter {
  describe(): Description;
  senderChecks(config: string): SenderPolicy;
  /** The names and values by which events lead to an instance with this configuration. */
  routes(config: string): Route;
  handshake(delivery: Delivery): HandshakeAnswer | undefined;
  /** Returns a request or an answer, or throws `refused(…)`. */
  send(message: TemplateSend): SendStep;
  readAnswer(message: TemplateSend, response: HttpResponse): SendAnswer;
  readWebhook(delivery: Delivery): Webhook;
  listTemplates(config: string): TemplateStep;
  readTemplates(config: string, response: HttpResponse): TemplatePage;
}
/** Returns the exports of an adapter from the functions that it has. */
export function defineAdapter(
  functions: Pick<Adapter, "describe" | "send" | "readAnswer" | "readWebhook"> & Partial<Adapter>,
): Adapter;
/** Returns the check of a hex HMAC-SHA256 of the raw body in a header. */
export function hmacSha256Hex(secret: string, header: string, prefix?: string): SenderCheck;

// Sending

/** A name with a text, or with segments where the host puts in a secret. */
export type Header = [name: string, value: string | Segment[]];
export interface Call {
  tag: "call";
  val: HttpRequest;
}
/** Returns the step of a POST with a JSON body to a whole URL. */
export function postJson(url: string, headers: Header[], body: unknown): Call;
/** Returns the step of a call of a whole URL, with a text as its body, or none. */
export function request(method: string, url: string, headers?: Header[], body?: string): Call;
export function literal(text: string): Segment;
/** Returns a segment that the host fills with a secret; the adapter never sees it. */
export function secret(name: string): Segment;
/** Returns the template of a send, and the texts for its body. Throws a refusal. */
export function requested(message: TemplateSend): { name: string; language: string; values: string[] };
export function accepted(...externalIds: string[]): SendAnswer;
/** Returns a refusal: to be thrown in `send`, or as an answer with `refusal`. */
export function refused(category: string, text: string, code?: string, retryAfterSeconds?: number): Refused;
export function refusal(refused: Refused): SendAnswer;
/** Nothing shows whether the provider has the message, so the host does not send it again. */
export function unknown(why: string): SendAnswer;
/** Returns the seconds of a `retry-after` header. */
export function retryAfter(response: HttpResponse): number | undefined;

export interface TemplateSend {
  /** The host's own id of the message, which a provider that repeats one with its statuses is given. */
  messageId: string;
  /** E.164, or as the provider named it before. */
  recipient: string;
  /** JSON text: `name`, `language.code`, `components`. */
  template: string;
  config: string;
  /** `callback-url`, `conversation-id`, `instance-id`, `time-zone`, `region`, … */
  context: Pairs;
}
export interface Accepted {
  externalIds: string[];
  recipientId?: string;
  /** `accepted`, `held`, `sent`, `delivered`. */
  status: string;
  attributes: Pairs;
}
export interface Refused {
  category: string;
  code: string;
  title: string;
  text: string;
  details: string;
  retryAfterSeconds?: number;
}
export type SendAnswer =
  { tag: "accepted"; val: Accepted } | { tag: "refused"; val: Refused } | { tag: "unknown"; val: string };
export type SendStep = Call | { tag: "answer"; val: SendAnswer };

// Webhooks

/** Returns the list of events under a key of a webhook's JSON body. Throws a problem. */
export function eventsIn(delivery: Delivery, key: string): Json[];
/** Returns what `readWebhook` returns: the events, and the lines of `note`. */
export function webhook(events: Event[], reply?: Reply): Webhook;
/** Returns an event with its body. */
export function event<Tag extends EventBody["tag"]>(
  tag: Tag,
  val: Extract<EventBody, { tag: Tag }>["val"],
  route?: Route,
): Event;
/** Returns a status of a message: `sent`, `delivered`, `read`, `failed`. Fields that are left out are empty. */
export function status(externalId: string, word: string, fields?: Partial<StatusUpdate>): StatusUpdate;
/** Returns a message of a contact; fields that are left out are empty. */
export function inbound(externalId: string, senderId: string, fields?: Partial<InboundMessage>): InboundMessage;

export interface ChannelError {
  code: string;
  title: string;
  description: string;
  details: string;
  /** As of a refusal. */
  category: string;
}
export interface StatusUpdate {
  externalId: string;
  /** The host's own id, where the provider gave it back. */
  messageId?: string;
  status: string;
  occurredAt?: string;
  recipientId?: string;
  errors: ChannelError[];
}
export interface InboundMessage {
  externalId: string;
  senderId: string;
  senderPhone?: string;
  senderName?: string;
  /** `text`, `image`, `video`, `audio`, `document`, `location`, `contacts`, `button`, `interactive`, … */
  kind: string;
  content?: string;
  occurredAt?: string;
  /** The provider's id of the message that this one answers. */
  replyTo?: string;
  attributes: Pairs;
}
export interface TemplateChange {
  name: string;
  language: string;
  status: string;
  reason: string;
}
export interface ContactChange {
  senderId: string;
  senderPhone?: string;
  /** `number` (value: the new id of the sender), `opt-out`, `opt-in`. */
  kind: string;
  value: string;
  occurredAt?: string;
}
export type EventBody =
  | { tag: "status"; val: StatusUpdate }
  | { tag: "inbound"; val: InboundMessage }
  | { tag: "template"; val: TemplateChange }
  | { tag: "contact"; val: ContactChange }
  | { tag: "other"; val: string }
  | { tag: "invalid"; val: Problem };
export interface Event {
  route: Route;
  body: EventBody;
  attributes: Pairs;
}
export interface Webhook {
  events: Event[];
  reply?: Reply;
  notes: string[];
}

// Templates

export interface Template {
  name: string;
  language: string;
  /** Only an `approved` one is sent. */
  status: string;
  category: string;
  reason: string;
  /** The body with its placeholders. */
  text: string;
  placeholders: Array<{ component: string; index: number; kind: string; name: string }>;
  /** The components as the provider writes them: JSON text. */
  components: string;
}
export interface TemplatePage {
  templates: Template[];
  next?: HttpRequest;
}
export type TemplateStep = Call | { tag: "page"; val: TemplatePage } | { tag: "unlisted" };
