// Runs with `npm test`. The golden cases run in the built component: `leadhost plugin test`.

import assert from "node:assert/strict";
import { test } from "node:test";
import type { HttpResponse, SendStep, TemplateSend, Webhook } from "../leadhost-sdk/index.js";
import { adapter } from "../src/adapter.ts";

const config = '{"number": "+551130000001"}';

test("the values of the template's body are sent in order", () => {
  const parameters = ["Ana", 7].map((text) => ({ type: "text", text }));
  const step = send({ name: "welcome", language: { code: "pt_BR" }, components: [{ type: "BODY", parameters }] });
  assert(step.tag === "call");
  const [body] = step.val.body;
  assert(body.tag === "literal");
  assert.deepEqual(JSON.parse(body.val), {
    from: "+551130000001",
    language: "pt_BR",
    reference: "m-1",
    template: "welcome",
    to: "+5511900000001",
    values: ["Ana", "7"],
  });
});

test("a template without a meaning is refused", () => {
  for (const template of [{}, { name: "x" }, null]) {
    const step = send(template);
    assert(step.tag === "answer" && step.val.tag === "refused");
    assert.equal(step.val.val.category, "request");
  }
});

test("the provider's answer decides what the host does", () => {
  const check = (status: number, body: string, tag: string, category?: string) => {
    const answer = adapter.readAnswer(message("{}"), response(status, body));
    assert.equal(answer.tag, tag);
    assert.equal(answer.tag === "refused" ? answer.val.category : undefined, category);
  };
  check(200, '{"id": "p-1"}', "accepted");
  check(200, "{}", "unknown");
  check(400, "{}", "refused", "request");
  check(401, "", "refused", "connection");
  check(404, '{"error": {"code": "no-such-template"}}', "refused", "unknown-template");
  check(429, "{}", "refused", "throttled-number");
  check(502, "<html>", "unknown");
});

test("a bad event does not affect the others", () => {
  const { events } = webhook('{"events": [1, {"id": "m-1", "state": "read", "at": 1767268800}]}');
  assert.deepEqual(events.map(({ body }) => body.tag), ["invalid", "status"]);
  const { body } = events[1];
  assert(body.tag === "status");
  assert.equal(body.val.occurredAt, "2026-01-01T12:00:00Z");
  assert.throws(() => webhook("{}"), { message: "the body has no list `events`", path: "" });
});

function send(template: unknown): SendStep {
  return adapter.send(message(JSON.stringify(template)));
}

function message(template: string): TemplateSend {
  return { messageId: "m-1", recipient: "+5511900000001", template, config, context: [] };
}

function response(status: number, text: string): HttpResponse {
  return { status, headers: [], body: { tag: "text", val: text } };
}

function webhook(text: string): Webhook {
  const body = { tag: "text" as const, val: text };
  return adapter.readWebhook({
    id: "1",
    receivedAt: "",
    method: "POST",
    path: "/",
    query: [],
    headers: [],
    body,
    config,
    context: [],
  });
}
