import assert from "node:assert/strict";
import { test } from "node:test";
import * as sdk from "../index.js";
import { delivery } from "./delivery.js";

const FORM = [["content-type", "application/x-www-form-urlencoded"]];
const PARTS = [["content-type", "multipart/form-data; boundary=b"]];

test("a malformed path says what is wrong", () => {
  for (const path of ["", " ", ".", "a.", ".a", "a..b", "a[", "a[x]", 'a["b]', "a[?b]", "a[?b=c", '"a', "a[0]b", '"a"b', "a[?b[?c=d]=e]", "a[-1]"]) {
    assert.throws(() => sdk.text({ a: [1] }, path), { name: "TypeError", message: /^path `.*`: \S/ }, path);
  }
});

test("paths that the cases do not have", () => {
  const tree = { 'c]"': "1", list: [[{ a: "2" }]], "*": "3", big: Object.fromEntries([["__proto__", "4"]]) };
  assert.equal(sdk.text(tree, '["c]\\""]'), "1");
  assert.equal(sdk.text(tree, "list.a"), "2");
  assert.deepEqual(sdk.texts(tree, "big.*"), ["4"]);
  assert.equal(sdk.text(tree, "big.__proto__"), "4");
  assert.equal(sdk.text(tree, "constructor"), undefined);
  assert.deepEqual(sdk.list([{ a: 1 }, null]), [{ a: 1 }, null]);
  assert.deepEqual(sdk.list({ a: 1 }), [{ a: 1 }]);
  assert.deepEqual(sdk.list({}, "a"), []);
  assert.equal(sdk.number({ a: "0x10" }, "a"), undefined);
});

test("a body that is neither of these is refused with its label", () => {
  const check = (headers, shown) => assert.throws(() => sdk.parse(delivery("hello", headers)), { message: `the body is neither JSON nor XML nor a form (content type \`${shown}\`)`, path: "" });
  check([["content-type", "Text/Plain; charset=utf-8"]], "text/plain");
  check([], "");
});

test("XML is read, not validated", () => {
  const read = (text) => sdk.jsonText(sdk.parse(delivery(text)));
  const text = '\ufeff<?ADF VERSION="1.0"?><?XML x?>\n<!DOCTYPE a [<!ENTITY e "x">]><!-- <b> --><a k=\'1 &lt; 2\' ><b>x &amp; &#233;&#xe9; &e; &</b><b/>' +
    '<c t="u"> text <![CDATA[<raw> & ]]></c><d></d><__proto__>1</__proto__></a>trailing';
  assert.equal(read(text), '{"a":{"@k":"1 < 2","b":["x & éé &e; &",""],"c":{"@t":"u","#text":"text <raw> &"},"d":"","__proto__":"1"}}');
  assert.equal(read("<a>&#0;&#xd800;&#1114112;&#128512;</a>"), '{"a":"&#0;&#xd800;&#1114112;😀"}');
  assert.throws(() => read("<a>\n <b></c></a>"), { message: "the body is not valid XML: a closing tag has no opening one at line 2 column 5" });
  const bad = ["<", "<a", "<a>", "</a>", "</>", "<a></b>", "<a b></a>", "<a b=c></a>", '<a b="></a>', "<!--", "<!-->", "<?x", "<![CDATA[", "<!DOCTYPE [", "<a><![CDATA[</a>", "< a></a>"];
  for (const text of [...bad, "<a>".repeat(65), `<a>${"<b/>".repeat(200_000)}</a>`]) {
    assert.throws(() => read(text), { message: /^the body is not valid XML: .* at line \d+ column \d+$/ }, text.slice(0, 40));
  }
  const good = '<?xml?><!DOCTYPE a [x]><a é="&amp;"><b>é&#233;</b><!-- --><![CDATA[é]]></a>';
  for (let at = 0; at <= good.length; at++) {
    for (const put of ["", "<", ">", "&", "é", '"', "/", "!", "]", " "]) {
      readOrRefused(good.slice(0, at) + put + good.slice(at));
      readOrRefused(good.slice(0, at) + put);
    }
  }
});

test("parts", () => {
  const read = (text, headers = PARTS) => sdk.jsonText(sdk.parse(delivery(text, headers)));
  const part = (name, value) => `--b\r\nContent-Disposition: form-data; name=${name}\r\n\r\n${value}\r\n`;
  assert.equal(read(part('"a \\"b\\""', "1") + part("c", "2\r\n3")), '{"a \\"b\\"":"1","c":"2\\r\\n3"}');
  assert.equal(read(`${part("a", "--bc")}--b--`), '{"a":"--bc"}');
  const latin = Buffer.from(`${part("a", "JOSÉ")}--b--`, "latin1");
  assert.equal(read(latin), '{"a":"JOSÉ"}');
  for (const text of ["x", part("a", "1").repeat(1001), `--b\r\n${"x".repeat(9000)}`]) {
    assert.throws(() => read(text), { message: /multipart body/ });
  }
});

test("hostile bodies end quickly", () => {
  const size = 256 << 10;
  const starts = ["", "<a>", "<a b='", "[", '["', "a=", "--b\r\n"];
  const texts = ["<", "[", "&", '"', "=", "{", "%", "\\", "<a/>", "<!--", "<?", "</", "&#", "<a ", "[],", '"\\', "a[]=&", "a[", "[[]]", "--b\n", ";", " ", "%e9", "+1"];
  for (const text of starts.flatMap((start) => texts.map((text) => start + text.repeat(size / text.length)))) {
    for (const headers of [undefined, FORM, PARTS]) {
      const began = performance.now();
      readOrRefused(text, headers);
      assert.ok(performance.now() - began < 3000, `${text.slice(0, 20)} ${headers}`);
    }
    readOrRefused(Buffer.from(`\xe9${text}`, "latin1"), FORM);
  }
});

test("time grows with length and no faster", () => {
  const many = 50_000;
  const keys = Array.from({ length: many }, (_, index) => `"k${index}":"v",`);
  const tree = sdk.parse(delivery(`{${keys.join("")}"a":1,"a":2}`));
  assert.equal(sdk.text(tree, "a"), "2");
  const leads = sdk.list(sdk.parse(delivery(`[${'{"id":"1","phone":"11 90000-0001"},'.repeat(many)}{}]`)));
  const items = leads.map((one) => sdk.lead({ externalId: sdk.text(one, "ID"), phones: [sdk.phone(sdk.text(one, "phone"))] }));
  assert.equal(items.length, many + 1);
  const size = 1 << 20;
  assert.equal(sdk.email("a@".repeat(size)), "a@".repeat(size));
  assert.equal(sdk.time(`2026-01-01${" ".repeat(size)}x`), undefined);
  assert.equal(sdk.phone("9".repeat(size)), "9".repeat(size));
});

/** Reads a body, which is a tree or a problem, and nothing else. */
function readOrRefused(body, headers) {
  try {
    sdk.parse(delivery(body, headers));
  } catch (problem) {
    assert.deepEqual(Object.keys(problem), ["message", "path"], problem.stack);
  }
}
