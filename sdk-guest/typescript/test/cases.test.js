// The cases that the SDKs of all languages read alike, in `sdk-guest/cases`.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import * as sdk from "../index.js";
import { delivery } from "./delivery.js";

/** Node 20 keeps no digits of numbers; a component does. */
const keepsDigits = JSON.rawJSON !== undefined;

test("bodies", () => {
  for (const { about, body, base64, contentType, query, tree, problem } of cases("bodies")) {
    const content = base64 === undefined ? body : Buffer.from(base64, "base64");
    const given = delivery(content, contentType === "" ? [] : [["content-type", contentType]], query);
    if (problem !== undefined) {
      assert.throws(() => sdk.parse(given), ({ message }) => message.startsWith(problem), about);
    } else if (keepsDigits) {
      assert.equal(sdk.jsonText(sdk.parse(given)), tree, about);
    } else {
      assert.equal(JSON.stringify(sdk.parse(given)), JSON.stringify(JSON.parse(tree)), about);
    }
  }
});

test("paths", { skip: !keepsDigits }, () => {
  const { tree, cases: paths } = cases("paths");
  const value = sdk.parseJson(tree);
  for (const { path, text, number, texts, list, at } of paths) {
    assert.equal(sdk.text(value, path), text ?? undefined, path);
    assert.equal(sdk.number(value, path), number ?? undefined, path);
    if ([text, texts, list, at].every((one) => one === undefined)) {
      assert.equal(sdk.at(value, path), undefined, path);
    }
    const expected = Object.entries({ at, list, texts: texts && JSON.stringify(texts) }).filter(([, json]) => json);
    expected.forEach(([name, json]) => assert.equal(sdk.jsonText(sdk[name](value, path)), json, path));
  }
});

test("values", () => {
  const { phone, email, time, yes, join, number, attribute } = cases("values");
  phone.forEach((one) => assert.equal(sdk.phone(one.text, one.area, one.country), one.phone, JSON.stringify(one)));
  email.forEach((one) => assert.equal(sdk.email(one.text), one.email, one.text));
  time.forEach((one) => assert.equal(sdk.time(one.text), one.time, one.text));
  yes.forEach((one) => assert.equal(sdk.yes(one.text), one.yes, one.text));
  number.forEach((one) => assert.equal(sdk.number(one.text), one.number, one.text));
  join.forEach((one) => assert.equal(sdk.join(...one.texts), one.join, one.texts));
  for (const { value, json } of attribute.filter(({ value }) => keepsDigits || !value.includes("."))) {
    const expected = json === undefined ? undefined : ["name", json];
    assert.deepEqual(sdk.attribute("name", sdk.parseJson(value)), expected, value);
  }
});

function cases(name) {
  return JSON.parse(readFileSync(new URL(`../../cases/${name}.json`, import.meta.url), "utf8"));
}
