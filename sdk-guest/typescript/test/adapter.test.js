import assert from "node:assert/strict";
import { test } from "node:test";
import * as adapter from "../adapter.js";

test("a request takes a whole URL", () => {
  const parts = (url) => {
    const { scheme, authority, path, query } = adapter.request("GET", url).val;
    return [scheme, authority, path[0].val, ...query.flatMap(([name, [{ val }]]) => [name, val])];
  };
  assert.deepEqual(parts("https://api.provider.example/v1/messages"), ["https", "api.provider.example", "/v1/messages"]);
  assert.deepEqual(parts("http://127.0.0.1:8080?a=1%202&b"), ["http", "127.0.0.1:8080", "/", "a", "1 2", "b", ""]);
  assert.deepEqual(parts("https://[::1]/a%20b?c=d=e"), ["https", "[::1]", "/a%20b", "c", "d=e"]);
  for (const url of ["api.provider.example/v1", "ftp://a/b", "https://", "https://a/b c", "https://u:p@a/", "https://a/é", "https://a/#b", undefined, {}]) {
    assert.throws(() => adapter.request("GET", url), { name: "TypeError", message: /^`url` must be a whole URL: https:\/\/ or http:\/\// });
  }
});

test("a JSON body and its headers", () => {
  const { val } = adapter.postJson("https://a/b", [["x-key", [adapter.secret("key")]], ["x-plain", "1"]], { a: 1 });
  assert.deepEqual(val.headers.map(([name]) => name), ["x-key", "x-plain", "content-type"]);
  assert.deepEqual([val.method, val.body], ["POST", [adapter.literal('{"a":1}')]]);
  assert.throws(() => adapter.postJson("https://a", [["x-key", 1]], {}), { message: "`request.headers[0][1]` must be a list, not 1" });
});

test("a refusal that `send` throws is an answer, and a mistake is a crash", () => {
  const sends = (send) => adapter.defineAdapter({ send }).send({ template: "{}" });
  const { tag, val } = sends(adapter.requested);
  assert.deepEqual([tag, val.tag, val.val.category, val.val.text], ["answer", "refused", "request", "the template has no `name`"]);
  assert.throws(() => sends(() => undefined), { message: "`the result of send` must be an object, not undefined" });
  assert.throws(() => adapter.accepted(17), { message: "`accepted[0]` must be a text, not 17" });
  assert.throws(() => adapter.status("1", "sent", { occurredAt: {} }), { message: "`status.occurredAt` must be a text, not {}" });
});
