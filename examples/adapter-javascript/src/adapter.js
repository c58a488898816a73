// The sandbox channel in JavaScript (plugins/adapter-sandbox is in Rust): it accepts
// every message, or refuses as configured. Both pass the same golden cases.
//
// The export is the interface `adapter` of the contract: names in camel case, a
// record as an object, a variant as `{ tag, val }`, an absent value as `undefined`.
// An error is thrown as its plain record.

import schema from "../dist/schema.js";
import { answer, refused } from "./sending.js";
import { listed } from "./templates.js";
import { events } from "./webhook.js";

export const adapter = {
  describe() {
    return {
      name: "sandbox",
      version: "1.0.0",
      summary: "A channel without a network: delivers at once, or refuses as configured",
      configSchema: schema,
      secrets: [],
      hosts: [],
    };
  },

  senderChecks(_config) {
    return { checks: [], carriedSecrets: [] };
  },

  routes(_config) {
    return [];
  },

  handshake(_delivery) {
    return undefined;
  },

  send(message) {
    return { tag: "answer", val: answer(JSON.parse(message.config), message) };
  },

  readAnswer(_message, _response) {
    return { tag: "unknown", val: "the sandbox makes no calls, so there is no response to read" };
  },

  readWebhook(delivery) {
    return { events: events(delivery), reply: undefined, notes: [] };
  },

  listTemplates(config) {
    const { templates } = JSON.parse(config);
    return templates === undefined
      ? { tag: "unlisted" }
      : { tag: "page", val: { templates: templates.map(listed), next: undefined } };
  },

  readTemplates(_config, _response) {
    throw refused("request", "", "this adapter never requests templates and cannot read such a response");
  },
};
