// Forms, with the bracket paths that form builders send.

import { decoded } from "./encoding.js";
import { problem } from "./plugin.js";

/** Brackets deeper than this stay part of the last key. */
const MAX_DEPTH = 16;
/** No form has so many; they would exhaust the memory. */
const MAX_FIELDS = 50_000;

/**
 * Returns a form as a tree: `a[b][0]=x` is `{ a: { b: ["x"] } }`, `a=x&a=y` a list. A name or a value
 * that is not UTF-8 is read by itself.
 */
export function parseForm(text) {
  const pairs = text.trim().split("&", MAX_FIELDS + 1);
  if (pairs.length > MAX_FIELDS) {
    throw problem(`the form has more than ${MAX_FIELDS} fields`);
  }
  return urlTree(pairs.filter((pair) => pair !== "").map(fieldOf));
}

/** Returns the name and the value of a field of a URL or a form. */
export function fieldOf(text) {
  const [name, ...value] = text.split("=");
  return [formDecoded(name), formDecoded(value.join("="))];
}

/**
 * Returns the fields of a URL or a form as a tree. The plus of a phone that was not encoded became a space,
 * which nobody types there.
 */
export function urlTree(fields) {
  const length = (text) => text.replace(/[^0-9]/g, "").length;
  const isPhone = (text) => /^ [0-9][0-9 ()-]*$/.test(text) && length(text) >= 10 && length(text) <= 15;
  return tree(fields.map(([name, text]) => [name, isPhone(text) ? `+${text.slice(1)}` : text]));
}

/** Returns names and texts as a tree. */
export function tree(fields) {
  const root = new Node();
  for (const [name, text] of fields) {
    let node = root;
    for (const key of keysOf(name)) {
      node = node.child(key);
    }
    node.values.push(text);
  }
  return Object.fromEntries(Object.entries(root.tree() ?? {}));
}

/** Reads a text in the encoding of a URL. A `%` without two digits stays. */
function formDecoded(text) {
  const spaced = text.replaceAll("+", " ");
  if (!spaced.includes("%")) {
    return spaced;
  }
  const bytes = spaced.toWellFormed().replace(/[^\x00-\x7f]+/g, (characters) => encodeURIComponent(characters));
  return decoded(bytes.replace(/%([0-9a-f]{2})/gi, (_, hex) => String.fromCharCode(parseInt(hex, 16))));
}

class Node {
  values = [];
  children = new Map();
  #appended = 0;

  child(name) {
    let key = name;
    // `a[]` is the first index that is free.
    while (name === "" && (key === "" || this.children.has(key))) {
      key = String(this.#appended++);
    }
    if (!this.children.has(key)) {
      this.children.set(key, new Node());
    }
    return this.children.get(key);
  }

  tree() {
    const own = this.values.length < 2 ? this.values : [this.values];
    if (this.children.size === 0) {
      return own[0];
    }
    const indexes = [...this.children.keys()].map((_, index) => String(index));
    if (own.length === 0 && indexes.every((index) => this.children.has(index))) {
      return indexes.map((index) => this.children.get(index).tree());
    }
    const inner = [...this.children].map(([key, node]) => [key, node.tree()]);
    return Object.fromEntries([...own.map((value) => ["", value]), ...inner]);
  }
}

/** Splits `a[b][]` into `a`, `b` and an empty key. */
function keysOf(name) {
  const open = name.indexOf("[");
  const keys = open > 0 && name.endsWith("]") ? name.slice(open + 1, -1).split("][") : [];
  if (keys.length === 0 || keys.some((key) => key.includes("]"))) {
    return [name];
  }
  const tail = keys.length < MAX_DEPTH ? [] : [`[${keys.slice(MAX_DEPTH - 1).join("][")}]`];
  return [name.slice(0, open), ...keys.slice(0, MAX_DEPTH - 1), ...tail];
}
