// Sends the messages of {{name}}, and reads the provider's answers and webhooks.
//
// The provider is made up: it takes a message at `/v1/messages`, answers with an `id`, and posts a list of `events`. Replace
// its address, names and codes with your own, and raise the version with each change.

import { bodyText, description, type Json, parseJson, type Route, text, time } from "leadhost-sdk";
import * as sdk from "leadhost-sdk/adapter";

const HOST = "api.provider.example";

/** The JSON Schema of an instance's configuration. */
const schema = {
  type: "object",
  additionalProperties: false,
  required: ["number"],
  // The number that messages are sent from, in E.164.
  properties: { number: { type: "string", pattern: "^\\+[0-9]{8,15}$" } },
};

/** What the host does with a message that the provider refuses, by its status or its code. */
const categories: Record<string, string> = {
  401: "connection",
  402: "account",
  403: "connection",
  429: "throttled-number",
  "no-such-template": "unknown-template",
  "not-reachable": "recipient",
};

export const adapter = sdk.defineAdapter({
  describe: () =>
    description("{{name}}", "1.0.0", "Messages of {{name}}", {
      configSchema: JSON.stringify(schema),
      secrets: [
        { name: "token", kind: "static", summary: "The token for calls", required: true },
        { name: "webhook-key", kind: "static", summary: "The key with which the provider signs", required: false },
      ],
      hosts: [HOST],
    }),

  senderChecks: () => ({ checks: [sdk.hmacSha256Hex("webhook-key", "x-signature")], carriedSecrets: [] }),

  // One address may serve several numbers. Returns the number of this instance.
  routes: (config) => [["number", number(config)]],

  send(message) {
    const { name, language, values } = sdk.requested(message);
    const headers: sdk.Header[] = [["authorization", [sdk.literal("Bearer "), sdk.secret("token")]]];
    return sdk.postJson(`https://${HOST}/v1/messages`, headers, {
      from: number(message.config),
      language,
      // The provider repeats it in each status.
      reference: message.messageId,
      template: name,
      to: message.recipient,
      values,
    });
  },

  readAnswer(_message, response) {
    const body = parseJson(bodyText(response.body));
    const id = text(body, "id");
    if (response.status === 200) {
      return id === undefined ? sdk.unknown("the provider answered 200 without an id") : sdk.accepted(id);
    }
    // After a 5xx, nothing shows whether the message was sent.
    if (response.status >= 500) {
      return sdk.unknown(`the provider answered ${response.status}`);
    }
    const code = text(body, "error.code") ?? "";
    const category = categories[response.status] ?? categories[code] ?? "request";
    return sdk.refusal(sdk.refused(category, text(body, "error.message") ?? "", code, sdk.retryAfter(response)));
  },

  readWebhook: (delivery) => sdk.webhook(sdk.eventsIn(delivery, "events").map(event)),
});

function number(config: string): string {
  return (JSON.parse(config) as { number: string }).number;
}

function event(event: Json, index: number): sdk.Event {
  const [id, state, from, number] = ["id", "state", "from", "number"].map((name) => text(event, name));
  const occurredAt = time(text(event, "at"));
  const route: Route = number === undefined ? [] : [["number", number]];
  if (id === undefined) {
    return sdk.event("invalid", { message: "an event needs `id`", path: `events.${index}.id` });
  }
  if (state !== undefined) {
    return sdk.event("status", sdk.status(id, state, { messageId: text(event, "reference"), occurredAt }), route);
  }
  if (from !== undefined) {
    const content = text(event, "text");
    return sdk.event("inbound", sdk.inbound(id, from, { senderPhone: from, content, occurredAt }), route);
  }
  return sdk.event("other", "neither a status nor a message", route);
}
