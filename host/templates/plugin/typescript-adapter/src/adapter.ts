// Sends the messages of {{name}}, and reads the provider's answers and webhooks.
//
// The provider is made up: it takes `from`, `to`, `template`, `language` and `values` at
// `/v1/messages`, answers with an `id`, and posts a list of `events`. Replace its address,
// names and codes with those of your own, and raise the version with each change.

import * as sdk from "../leadhost-sdk/index.js";
import schema from "./config.schema.js";

const HOST = "api.provider.example";

export const adapter = sdk.defineAdapter({
  describe() {
    const secret = (name: string, summary: string, required: boolean): sdk.SecretDeclaration => ({
      name,
      kind: "static",
      summary,
      required,
    });
    return sdk.description("{{name}}", "1.0.0", "Messages of {{name}}", {
      configSchema: JSON.stringify(schema),
      secrets: [
        secret("token", "The token for calls", true),
        secret("webhook-key", "The key with which the provider signs", false),
      ],
      hosts: [HOST],
    });
  },

  senderChecks: () => ({ checks: [sdk.hmacSha256Hex("webhook-key", "x-signature")], carriedSecrets: [] }),

  // One address may serve several numbers. Returns the number of this instance.
  routes: (config) => [["number", number(config)]],

  send(message) {
    const template = sdk.requested(message);
    const token = [sdk.literal("Bearer "), sdk.secret("token")];
    return sdk.postJson(HOST, "/v1/messages", [["authorization", token]], {
      from: number(message.config),
      language: template.language,
      // The provider repeats it in each status.
      reference: message.messageId,
      template: template.name,
      to: message.recipient,
      values: template.values,
    });
  },

  readAnswer(_message, response) {
    const body = sdk.parseJson(sdk.bodyText(response.body)) ?? {};
    const code = sdk.textAt(body, "error.code") ?? "";
    const text = sdk.textAt(body, "error.message") ?? "";
    const refusal = (category: string): sdk.SendAnswer =>
      sdk.refusal(sdk.refused(category, text, code, sdk.retryAfter(response)));
    const id = sdk.textAt(body, "id");
    switch (response.status) {
      case 200:
        return id === undefined ? sdk.unknown("the provider answered 200 without an id") : sdk.accepted(id);
      case 401:
      case 403:
        return refusal("connection");
      case 402:
        return refusal("account");
      case 429:
        return refusal("throttled-number");
    }
    if (code === "no-such-template" || code === "not-reachable") {
      return refusal(code === "no-such-template" ? "unknown-template" : "recipient");
    }
    // After a 5xx, nothing shows whether the message was sent.
    return response.status < 500 ? refusal("request") : sdk.unknown(`the provider answered ${response.status}`);
  },

  readWebhook: (delivery) => sdk.webhook(sdk.eventsIn(delivery, "events").map(event)),
});

function number(config: string): string {
  return (JSON.parse(config) as { number: string }).number;
}

function event(event: sdk.Json, index: number): sdk.Event {
  const text = (name: string): string | undefined => sdk.textAt(event, name);
  const id = text("id");
  if (id === undefined) {
    return sdk.event("invalid", { message: "an event needs `id`", path: `events.${index}.id` });
  }
  const occurredAt = sdk.timeText(text("at"));
  const number = text("number");
  const route: sdk.Route = number === undefined ? [] : [["number", number]];
  const [state, from] = [text("state"), text("from")];
  if (state !== undefined) {
    return sdk.event("status", sdk.status(id, state, { messageId: text("reference"), occurredAt }), route);
  }
  if (from !== undefined) {
    const message = sdk.inbound(id, from, { senderPhone: from, content: text("text"), occurredAt });
    return sdk.event("inbound", message, route);
  }
  return sdk.event("other", "neither a status nor a message", route);
}
