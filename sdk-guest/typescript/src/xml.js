// XML as a tree. Senders' documents are read, not validated: nothing is expanded and nothing is
// fetched. Positions only move on, so the time grows with the length and no faster.

import { problem } from "./plugin.js";

/** Deeper nesting is no lead. */
const MAX_DEPTH = 64;
/** A batch of a thousand leads has a hundred thousand elements. */
const MAX_ELEMENTS = 200_000;

const SKIPPED = String.raw`<\?[^]*?\?>|<!--[^]*?-->|<!(?!--|\[CDATA\[)[^>[]*(?:\[[^\]]*\][^>]*)?>`;
const CDATA = String.raw`<!\[CDATA\[([^]*?)\]\]>`;
const NAME = String.raw`([^\s/>=<"'&]+)`;
const MARKUP = new RegExp(`${SKIPPED}|${CDATA}|</([^>]*)>|<${NAME}`, "y");
const ATTRIBUTE = new RegExp(String.raw`\s*${NAME}\s*=\s*(?:"([^"]*)"|'([^']*)')`, "y");
const TAG_END = /\s*(\/?)>/y;

/**
 * Returns an object with the root element under its name. An element with only text is that text; any
 * other is an object with its attributes as `@name`, its text as `#text`, and its children by name,
 * repeated ones as a list. Throws a problem.
 */
export function parseXml(text) {
  const cursor = new Cursor(text);
  const document = element(undefined);
  const open = [document];
  let elements = 0;
  while (document.fields.size === 0) {
    const inner = open.at(-1);
    const missing = inner === document ? "there is no element" : "an element is not closed";
    inner.texts.push(unescaped(cursor.until("<", missing)));
    const [, data, closed, opened] = cursor.take(MARKUP) ?? cursor.fail("a tag is not closed, or has no name");
    if (data !== undefined) {
      inner.texts.push(data);
    } else if (opened !== undefined) {
      const { isEmpty, ...one } = startTag(cursor, opened);
      isEmpty ? add(one, inner) : open.push(one);
    } else if (closed !== undefined) {
      closed.trim() === inner.name ? add(open.pop(), open.at(-1)) : cursor.fail("a closing tag has no opening one");
    }
    elements += opened === undefined ? 0 : 1;
    if (elements > MAX_ELEMENTS || open.length > MAX_DEPTH + 1) {
      cursor.fail(elements > MAX_ELEMENTS ? "there are too many elements" : "elements are nested too deep");
    }
  }
  return Object.fromEntries(document.fields);
}

class Cursor {
  #text;
  #at = 0;
  #before = 0;

  constructor(text) {
    this.#text = text;
  }

  /** Goes on to the next `mark`; returns the text before it. */
  until(mark, missing) {
    const found = this.#text.indexOf(mark, this.#at);
    const text = found === -1 ? this.fail(missing) : this.#text.slice(this.#at, found);
    this.#at = found;
    return text;
  }

  /** Goes on after what the pattern matches here. */
  take(pattern) {
    pattern.lastIndex = this.#at;
    const match = pattern.exec(this.#text);
    this.#before = this.#at;
    this.#at = match === null ? this.#at : pattern.lastIndex;
    return match;
  }

  /** Throws a problem with the place of what was taken last. */
  fail(what) {
    const lines = this.#text.slice(0, this.#before).split("\n");
    const column = [...lines.at(-1)].length + 1;
    throw problem(`the body is not valid XML: ${what} at line ${lines.length} column ${column}`);
  }
}

function element(name) {
  return { name, fields: new Map(), texts: [] };
}

/** Reads the rest of an opening tag. */
function startTag(cursor, name) {
  const one = element(name);
  for (let attribute = cursor.take(ATTRIBUTE); attribute !== null; attribute = cursor.take(ATTRIBUTE)) {
    one.fields.set(`@${attribute[1]}`, unescaped(attribute[2] ?? attribute[3]));
  }
  const end = cursor.take(TAG_END) ?? cursor.fail("a tag is not closed, or an attribute has no quoted value");
  return { ...one, isEmpty: end[1] === "/" };
}

/** Adds an element as a value of the one that it is in. */
function add({ name, fields, texts }, parent) {
  const text = texts.join("").trim();
  const all = text === "" ? fields : [...fields, ["#text", text]];
  const value = fields.size === 0 ? text : Object.fromEntries(all);
  const before = parent.fields.get(name);
  if (Array.isArray(before)) {
    before.push(value);
  } else {
    parent.fields.set(name, before === undefined ? value : [before, value]);
  }
}

const ENTITY = /&(?:(amp|lt|gt|quot|apos)|#([0-9]{1,9})|#[xX]([0-9a-fA-F]{1,8}));/g;
const ENTITIES = { amp: "&", lt: "<", gt: ">", quot: '"', apos: "'" };

/** Puts characters for entities; those of a document's own stay. */
function unescaped(text) {
  return text.replace(ENTITY, (entity, name, decimal, hex) => {
    const code = decimal === undefined ? parseInt(hex, 16) : Number(decimal);
    const isCharacter = code > 0 && code <= 0x10ffff && (code < 0xd800 || code > 0xdfff);
    return name !== undefined ? ENTITIES[name] : isCharacter ? String.fromCodePoint(code) : entity;
  });
}
