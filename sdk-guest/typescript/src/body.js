// The body of a delivery: JSON, or a form, urlencoded or in parts, with the bracket paths that
// form builders send. The engine of a component has neither URLSearchParams nor TextDecoder.

import { isObject, parseJson } from "./json.js";
import { multipartFields } from "./multipart.js";
import { problem } from "./plugin.js";

/** Brackets deeper than this stay part of the last key. */
const MAX_DEPTH = 16;

/** Returns the body as JSON values. Throws a problem, which refuses the whole delivery. */
export function parseBody(delivery) {
  const { tag, val } = delivery.body;
  // Each character is a byte, so that each name and value is decoded by itself.
  const bytes = tag === "text" ? val : latin1(val);
  if (contentType(delivery) === "multipart/form-data") {
    const decode = tag === "text" ? (piece) => piece : decoded;
    return tree(multipartFields(header(delivery, "content-type"), bytes, decode));
  }
  // Some senders label JSON as a form.
  if (contentType(delivery) === "application/x-www-form-urlencoded" && !/^\s*[{[]/.test(bytes)) {
    return parseForm(tag === "text" ? bytes : escaped(bytes));
  }
  const value = parseJson(tag === "text" ? bytes : decoded(bytes));
  if (value === undefined) {
    throw problem("the body is not valid JSON");
  }
  return value;
}

/**
 * Returns a form as a tree: `a[b][0]=x` is `{ a: { b: ["x"] } }`, `a=x&a=y` a list. A name
 * or a value that is not UTF-8 is read by itself, as `decoded` does.
 */
export function parseForm(text) {
  const pairs = text.trim().split("&").filter((pair) => pair !== "");
  return tree(
    pairs.map((pair) => {
      const [name, ...value] = pair.split("=");
      return [decode(name), decode(value.join("="))];
    }),
  );
}

/** Returns names and texts as a tree. */
function tree(fields) {
  const root = new Node();
  for (const [name, text] of fields) {
    let node = root;
    for (const step of steps(name)) {
      node = node.child(step);
    }
    node.values.push(text);
  }
  const tree = root.tree();
  return isObject(tree) ? tree : Object.fromEntries(Object.entries(tree ?? {}));
}

/** Returns the text of a body; `decoded` reads bytes, which are not UTF-8. */
export function bodyText(body) {
  return body.tag === "text" ? body.val : decoded(latin1(body.val));
}

/** Returns the media type, in lower case and without parameters; empty if there is none. */
export function contentType(delivery) {
  return (header(delivery, "content-type") ?? "").split(";")[0].trim().toLowerCase();
}

/** Returns the first header of this name. */
export function header(delivery, name) {
  return delivery.headers.find(([known]) => known === name.toLowerCase())?.[1];
}

/** Returns the first field of this name in the query. */
export function queryField(delivery, name) {
  return delivery.query.find(([known]) => known === name)?.[1];
}

class Node {
  values = [];
  children = new Map();
  appended = 0;

  child(step) {
    let key = step;
    // `a[]` is the first index that is free.
    while (step === "" && (key === "" || this.children.has(key))) {
      key = String(this.appended++);
    }
    if (!this.children.has(key)) {
      this.children.set(key, new Node());
    }
    return this.children.get(key);
  }

  tree() {
    if (this.children.size === 0) {
      return this.values.length < 2 ? this.values[0] : this.values;
    }
    const indexes = [...this.children.keys()].map((_, index) => String(index));
    if (this.values.length === 0 && indexes.every((index) => this.children.has(index))) {
      return indexes.map((index) => this.children.get(index).tree());
    }
    const entries = [...this.children].map(([key, node]) => [key, node.tree()]);
    const own = this.values.length < 2 ? this.values : [this.values];
    return Object.fromEntries([...entries, ...own.map((value) => ["", value])]);
  }
}

/** Splits `a[b][]` into `a`, `b` and an empty step. */
function steps(name) {
  const [, first, brackets] = /^([^[]+)((?:\[[^\]]*\])*)$/.exec(name) ?? [, name, ""];
  const keys = brackets === "" ? [] : brackets.slice(1, -1).split("][");
  const tail = keys.length < MAX_DEPTH ? [] : [`[${keys.slice(MAX_DEPTH - 1).join("][")}]`];
  return [first, ...keys.slice(0, MAX_DEPTH - 1), ...tail];
}

function decode(text) {
  // A `%` without two digits stays.
  const spaced = text.replaceAll("+", " ").replace(/%(?![0-9a-f]{2})/gi, "%25");
  try {
    return decodeURIComponent(spaced);
  } catch {
    const bytes = spaced.replace(/[^\x00-\x7f]+/g, encodeURIComponent);
    return decoded(bytes.replace(/%([0-9a-f]{2})/gi, (_, hex) => String.fromCharCode(parseInt(hex, 16))));
  }
}

/** Writes bytes as `%E9`. */
function escaped(bytes) {
  return bytes.replace(/[\x80-\xff]/g, (character) => `%${character.charCodeAt(0).toString(16)}`);
}

/** A character of several bytes, or as much of it as there is. */
const SEQUENCE = new RegExp(
  "[\\xc2-\\xdf][\\x80-\\xbf]?" +
    "|(?:\\xe0[\\xa0-\\xbf]|[\\xe1-\\xec\\xee\\xef][\\x80-\\xbf]|\\xed[\\x80-\\x9f])[\\x80-\\xbf]?" +
    "|(?:\\xf0[\\x90-\\xbf]|[\\xf1-\\xf3][\\x80-\\xbf]|\\xf4[\\x80-\\x8f])[\\x80-\\xbf]{0,2}" +
    "|[\\x80-\\xff]",
  "g",
);

/** The characters of 0x80 to 0x9F; those that have none are U+FFFD. */
const WINDOWS_1252 = "€\uFFFD‚ƒ„…†‡ˆ‰Š‹Œ\uFFFDŽ\uFFFD\uFFFD‘’“”•–—˜™š›œ\uFFFDžŸ";

/**
 * Reads bytes as UTF-8, with U+FFFD for each bad sequence, if at least as many characters of several
 * bytes are good as bad, or if windows-1252 would read `â€`, `ðŸ`, or `Ã` after a small letter, which
 * nobody writes; else as windows-1252, as old senders mean by Latin-1.
 */
function decoded(bytes) {
  let [good, bad, isWhole] = [0, 0, true];
  const text = bytes.replace(SEQUENCE, (sequence) => {
    try {
      const character = decodeURIComponent(escaped(sequence));
      character === "\uFFFD" ? bad++ : good++;
      return character;
    } catch {
      bad++;
      isWhole = false;
      return "\uFFFD";
    }
  });
  return isWhole || good >= bad || /\xe2\x80|\xf0\x9f|[a-z]\xc3/.test(bytes)
    ? text
    : bytes.replace(/[\x80-\x9f]/g, (byte) => WINDOWS_1252[byte.charCodeAt(0) - 0x80]);
}

function latin1(bytes) {
  const parts = [];
  for (let at = 0; at < bytes.length; at += 4096) {
    parts.push(String.fromCharCode(...bytes.subarray(at, at + 4096)));
  }
  return parts.join("");
}
