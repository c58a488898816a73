import assert from "node:assert/strict";
import { test } from "node:test";
import * as sdk from "../index.js";
import { delivery } from "./delivery.js";

test("what is left out of a lead, absent or blank is empty", () => {
  const { route, outcome } = sdk.lead({ externalId: "17", name: " ", phones: ["1", null, ["2", ["1", ""]]], emails: undefined }, [["page", "1"]]);
  assert.deepEqual(route, [["page", "1"]]);
  assert.deepEqual(outcome, { tag: "lead", val: {
    externalId: "17", action: "create", isTest: false, name: undefined, phones: ["1", "2"], emails: [], region: undefined,
    listings: [], message: undefined, occurredAt: undefined, source: undefined, consents: [], campaign: [], attributes: [],
  } });
});

test("absent listings, campaign fields and attributes are left out, lists of them are spread", () => {
  const { outcome } = sdk.lead({
    listings: [sdk.listing("client", "AP-9"), sdk.listing("portal", undefined)],
    campaign: [["utm-source", "search"], ["utm-medium", undefined], [["ad-id", " "], ["form-id", "1"]]],
    attributes: [sdk.attribute("a", 1), sdk.attribute("b", []), [sdk.attribute("c", { d: null })], sdk.attribute(undefined, 1)],
  });
  assert.deepEqual(outcome.val.listings, [{ kind: "client", reference: "AP-9" }]);
  assert.deepEqual(outcome.val.campaign, [["utm-source", "search"], ["form-id", "1"]]);
  assert.deepEqual(outcome.val.attributes, [["a", "1"], ["c", '{"d":null}']]);
});

test("a wrong type is a crash that names the field", () => {
  const check = (fields, message) => assert.throws(() => sdk.lead(fields), { name: "TypeError", message });
  check({ phones: ["1", { a: 1 }] }, '`phones[1]` must be a text, not {"a":1}');
  check({ phones: "1" }, '`phones` must be a list, not "1"');
  check({ name: { first: "Ana" } }, '`name` must be a text, not {"first":"Ana"}');
  check({ isTest: "yes" }, '`isTest` must be true or false, not "yes"');
  check({ listings: [{ kind: "client" }] }, "`listings[0].reference` must be a text, not undefined");
  check({ campaign: [["utm-source", ["a"]]] }, '`campaign[0][1]` must be a text, not ["a"]');
  check({ attributes: [["a", "1", "2"]] }, '`attributes[0]` must be a name and a value, not ["a","1","2"]');
  check({ phone: "1" }, "`phone` is no field of a lead");
  assert.throws(() => sdk.conversion([undefined]), { message: "`items[0]` must be an object, not undefined" });
  assert.throws(() => sdk.phone({ a: 1 }), { message: '`phone` must be a text, not {"a":1}' });
  const converter = sdk.defineConverter({ describe() {}, convert() {} });
  assert.throws(() => converter.convert(delivery("{}")), { message: "`the result of convert` must be an object, not undefined" });
});

test("a lead that says nothing is invalid, with its index among several", () => {
  const empty = () => sdk.lead({ attributes: [sdk.attribute("a", 1)] });
  const paths = (...items) => sdk.conversion(items).items.map(({ outcome }) => outcome.val.path);
  assert.equal(empty().outcome.val.message, "the lead has no id, name, phone, e-mail address, message or listing");
  assert.deepEqual(paths(empty()), [""]);
  assert.deepEqual(paths(sdk.ignored("a test"), empty(), sdk.invalid("no", "leads.2")), [undefined, "1", "leads.2"]);
});

test("an item that throws is invalid with its reason, and the others are given", () => {
  const read = (text) => {
    if (text === "") {
      throw sdk.problem("no text", "a.b");
    }
    return sdk.lead({ name: text.slice(0) });
  };
  const [first, second, third] = sdk.conversion(sdk.readEach(["Ana", undefined, ""], read)).items;
  assert.equal(first.outcome.val.name, "Ana");
  assert.equal(second.outcome.tag, "invalid");
  assert.match(second.outcome.val.message, /^TypeError: /);
  assert.equal(second.outcome.val.path, "1");
  assert.deepEqual(third.outcome, { tag: "invalid", val: { message: "no text", path: "a.b" } });
  assert.deepEqual(sdk.readEach([], read), []);
  assert.throws(() => sdk.readEach([undefined], read), TypeError);
});

test("the notes are those of the call", () => {
  const converter = sdk.defineConverter({
    describe: () => sdk.description("a", "1.0.0", "A"),
    convert(given) {
      sdk.note(`body ${sdk.bodyText(given.body)}`);
      return sdk.conversion(sdk.list(sdk.parse(given)).map(() => sdk.ignored("")));
    },
  });
  assert.throws(() => converter.convert(delivery("hello")), { path: "" });
  assert.deepEqual(converter.convert(delivery("[1]")).notes, ["body [1]"]);
  assert.ok(converter.senderChecks("{}").carriedSecrets.some(({ name }) => name === "google_key"));
  assert.throws(() => converter.complete(), { category: "give-up" });
});
