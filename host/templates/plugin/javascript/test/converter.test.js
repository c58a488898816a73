// Runs with `npm test`. The golden cases run in the built component: `leadhost plugin test`.

import assert from "node:assert/strict";
import { test } from "node:test";
import { conversion, defineConverter, lead } from "../leadhost-sdk/index.js";
import { converter } from "../src/converter.js";

test("a value under a usual name fills its field, and the rest is kept", () => {
  const lead = only({
    lead_id: 17,
    contact: { first_name: "Ana", last_name: "Prado", ddd: "11", celular: "90000-0001", age: 41 },
    "E-mail": "ana@example.com",
    anúncio: { id: "P-9", referência: "AP-9" },
    mensagem: "Olá",
    broker_phone: "11 90000-0009",
    tags: [],
  });
  assert.equal(lead.externalId, "17");
  assert.equal(lead.name, "Ana Prado");
  assert.deepEqual(lead.phones, ["(11) 90000-0001"]);
  assert.deepEqual(lead.emails, ["ana@example.com"]);
  assert.deepEqual(lead.listings, [
    { kind: "client", reference: "AP-9" },
    { kind: "portal", reference: "P-9" },
  ]);
  assert.equal(lead.message, "Olá");
  assert.deepEqual(lead.attributes, [
    ["broker_phone", '"11 90000-0009"'],
    ["contact", '{"age":41}'],
  ]);
});

test("a value that the contract does not have is refused with its field", () => {
  for (const [fields, message] of [
    [{ phones: [undefined] }, "`lead.phones[0]` must be a text, not undefined"],
    [{ phones: "11" }, '`lead.phones` must be a list, not "11"'],
    [{ emails: [null] }, "`lead.emails[0]` must be a text, not null"],
    [{ name: 7 }, "`lead.name` must be a text, not 7"],
    [{ isTest: "yes" }, '`lead.isTest` must be true or false, not "yes"'],
    [{ listings: [{ kind: "client" }] }, "`lead.listings[0].reference` must be a text, not undefined"],
    [{ listings: ["AP-1"] }, '`lead.listings[0]` must be an object, not "AP-1"'],
    [{ attributes: [["a", 1]] }, "`lead.attributes[0][1]` must be a text, not 1"],
    [{ attributes: [["a"]] }, '`lead.attributes[0]` must be a name and a value, not ["a"]'],
  ]) {
    assert.throws(() => lead(fields), { name: "TypeError", message });
  }
  assert.equal(lead({ name: null }).outcome.val.name, null);
  const message = "`items[0]` must be an object, not undefined";
  assert.throws(() => conversion([undefined]), { name: "TypeError", message });
  const { convert } = defineConverter({ convert: () => undefined });
  const nothing = "`the result of convert` must be an object, not undefined";
  assert.throws(() => convert(), { name: "TypeError", message: nothing });
});

test("one number in two spellings is one phone", () => {
  const { phones } = only({ ddd: "11", phone: "900000001", phoneNumber: "11900000001" });
  assert.deepEqual(phones, ["11900000001"]);
});

test("questions and answers are read like the fields of a form", () => {
  const found = only({
    name: "Contact form",
    answers: [
      { label: "Qual o seu nome?", value: "Ana Prado" },
      { label: "Contato", type: "tel", value: ["11 90000-0001"] },
      { label: "Prazo", value: { label: "3 meses" } },
      { label: "Prazo", value: "4 meses" },
      { label: "Bairro", value: "" },
    ],
  });
  assert.equal(found.name, "Ana Prado");
  assert.deepEqual(found.phones, ["11 90000-0001"]);
  assert.deepEqual(found.attributes, [
    ["Prazo", '"3 meses"'],
    ["Prazo 2", '"4 meses"'],
    ["name", '"Contact form"'],
  ]);
});

test("a name may say whose it is", () => {
  for (const name of ["nomeDoComprador", "nome_do_comprador", "buyer_name"]) {
    assert.equal(only({ [name]: "Ana", phone: "11900000001" }).name, "Ana");
  }
});

test("numbers keep every digit", { skip: JSON.rawJSON === undefined }, () => {
  const lead = only('{"id": 9007199254740993, "phone": "11900000001", "price": 1.10}');
  assert.equal(lead.externalId, "9007199254740993");
  assert.deepEqual(lead.attributes, [["price", "1.10"]]);
});

test("of two members with one name the last counts", () => {
  const lead = only('{"email": "a@example.com", "a": {"b": 1}, "a": {"b": "n1", "c": "x:\\\\"}, "a:b": [2, "2"], "a:b": [3, "\\"3"]}');
  assert.deepEqual(lead.attributes, [
    ["a", '{"b":"n1","c":"x:\\\\"}'],
    ["a:b", '[3,"\\"3"]'],
  ]);
});

test("a form is read like JSON", () => {
  const body = "lead[nome]=Ana+Prado&lead[fones][]=%2811%29+90000-0001&lead[fones][]=1130000002&origem=rodap%C3%A9";
  const lead = only(body, "application/x-www-form-urlencoded; charset=utf-8");
  assert.equal(lead.name, "Ana Prado");
  assert.deepEqual(lead.phones, ["(11) 90000-0001", "1130000002"]);
  assert.equal(lead.source, "rodapé");
  assert.deepEqual(lead.attributes, []);
});

test("the area code beside a phone belongs to it", () => {
  for (const body of [
    { ddd_celular: "11", celular: "900000001" },
    { dddTelefone: "11", telefone: "900000001" },
    { contactDDD: "11", contactPhone: "900000001" },
    { TelefoneDDD: "11", TelefoneNumero: "900000001" },
    { ddd2: "11", telefone2: "900000001" },
  ]) {
    const lead = only(body);
    assert.deepEqual([lead.phones, lead.attributes], [["(11) 900000001"], []]);
  }
});

test("a lead without a phone and an e-mail address has a name or answers, and an id", () => {
  const tags = (body) => convert(body).map(({ outcome }) => outcome.tag);
  assert.deepEqual(tags([
    { id: "1", name: "Ana" },
    { name: "Ana", message: "Olá" },
    { id: "1", answers: [{ question: "Prazo", answer: "3 meses" }] },
    { event: "deal_created", id: "1", name: "Ana" },
    { id: "1", buyer_name: "Ana" },
    { id: "1" },
  ]), ["lead", "lead", "lead", "invalid", "invalid", "invalid"]);
});

test("a field or a value says that a lead is a test", () => {
  for (const field of [{ is_test: true }, { Teste: "Sim" }, { nome: "<test lead: dummy data for nome>" }]) {
    assert.equal(only({ email: "ana@example.com", ...field }).isTest, true);
  }
  assert.equal(only({ email: "ana@example.com", test: 0 }).isTest, false);
});

test("a bad item does not affect the others", () => {
  const outcomes = convert([{ name: "Ana" }, 1, { email: "bia@example.com" }]).map(({ outcome }) => outcome);
  assert.deepEqual(outcomes.map(({ tag }) => tag), ["invalid", "invalid", "lead"]);
  assert.deepEqual(outcomes.slice(0, 2).map(({ val }) => val.path), ["0", "1"]);
  assert.deepEqual(convert([]), []);
});

test("a body that is not JSON is refused", () => {
  for (const body of ["", "{", "[".repeat(1000), '{"a": "\\ud80"}']) {
    assert.throws(() => convert(body), { message: "the body is not valid JSON", path: "" });
  }
});

test("the host masks the usual secrets", () => {
  const { carriedSecrets } = converter.senderChecks("{}");
  assert.ok(carriedSecrets.some(({ place, name }) => place === "json" && name === "google_key"));
});

function only(body, type) {
  const [{ outcome }] = convert(body, type);
  assert.equal(outcome.tag, "lead");
  return outcome.val;
}

function convert(body, type = "application/json") {
  const delivery = {
    id: "1",
    receivedAt: "2026-01-01T12:00:00Z",
    method: "POST",
    path: "/",
    query: [],
    headers: [["content-type", type]],
    body: { tag: "text", val: typeof body === "string" ? body : JSON.stringify(body) },
    config: "{}",
    context: [],
  };
  return converter.convert(delivery).items;
}
