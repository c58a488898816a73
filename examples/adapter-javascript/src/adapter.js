// The sandbox channel again (plugins/adapter-sandbox): it takes every message,
// or refuses as its configuration says. Both answer the same golden cases.
//
// What is exported here is the interface `adapter` of the contract: names in
// camel case, a record as an object, a variant as `{ tag, val }`, an absent
// value as `undefined`; an error is thrown as the record that it is.

import schema from "../dist/schema.js";
import { answer, refused } from "./sending.js";
import { listed } from "./templates.js";
import { events } from "./webhook.js";

export const adapter = {
  describe() {
    return {
      name: "sandbox",
      version: "1.0.0",
      summary: "A channel without a network: delivers at once, or refuses as it is told",
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
    return { tag: "unknown", val: "the sandbox makes no calls, so this answers none" };
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
    throw refused("request", "", "this adapter asks for no templates and cannot read the answer to that");
  },
};
