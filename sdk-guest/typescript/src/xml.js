// XML as a tree. Senders' documents are read, not validated: nothing is expanded and nothing is
// fetched. Positions only move on, so the time grows with the length and no faster.

import { problem } from "./plugin.js";

/** Deeper nesting is no lead. */
const MAX_DEPTH = 64;
/** A batch of a thousand leads has a hundred thousand elements. */
const MAX_ELEMENTS = 200_000;

const SKIPPED = String.raw`<\?[^]*?\?>|<!--[^]*?-->|<!(?!--|\[CDATA\[)[^>[]*(?:\[[^\]]*\][^>]*)?>`;
const CDATA = String.raw`<!\[CDATA\[([^]*?)\]\]>`;
const NAME = String.raw`[^\s/>=<"'&]+`;
const ATTRIBUTE = String.raw`\s*(${NAME})\s*=\s*(?:"([^"]*)"|'([^']*)')`;
const ATTRIBUTES = `((?:${ATTRIBUTE.replace(/\((?!\?)/g, "(?:")}){0,500})`;
const EACH_ATTRIBUTE = new RegExp(ATTRIBUTE, "g");
/** A text and the markup after it: one match for each, since every call costs the engine of a component. */
const TOKEN = new RegExp(String.raw`([^<]*)(?:${SKIPPED}|${CDATA}|</([^>]*)>|<(${NAME})${ATTRIBUTES}\s*(/?)>)`, "y");

/**
 * Returns an object with the root element under its name. An element with only text is that text; any
 * other is an object with its attributes as `@name`, its text as `#text`, and its children by name,
 * repeated ones as a list. The name of an element is without its prefix, which each sender chooses.
 * Throws a problem.
 */
export function parseXml(text) {
  const document = element("");
  const open = [document];
  let [position, elements] = [0, 0];
  const fail = (what) => {
    const markup = text.indexOf("<", position);
    throw mistake(what, markup === -1 ? text : text.slice(0, markup));
  };
  while (document.isText) {
    TOKEN.lastIndex = position;
    const token = TOKEN.exec(text) ?? fail(reason(text.includes("<", position), open.length));
    const [, before, data, closed, opened, attributes, isEmpty] = token;
    const inner = open.at(-1);
    addText(inner, unescaped(before));
    if (opened !== undefined) {
      elements += 1;
      open.push(element(opened, attributes));
    } else if (data !== undefined) {
      addText(inner, data);
    } else if (closed !== undefined && (closed.trim() !== inner.name || inner === document)) {
      fail("a closing tag has no opening one");
    }
    if (elements > MAX_ELEMENTS || open.length > MAX_DEPTH + 1) {
      fail(elements > MAX_ELEMENTS ? "there are too many elements" : "elements are nested too deep");
    }
    if (closed !== undefined || isEmpty === "/") {
      close(open.pop(), open.at(-1));
    }
    position = TOKEN.lastIndex;
  }
  return document.fields;
}

function reason(hasMarkup, depth) {
  const isClosed = depth === 1 ? "there is no element" : "an element is not closed";
  return hasMarkup ? "a tag is not closed, has no name, or has an attribute without a quoted value" : isClosed;
}

function mistake(what, before) {
  const lines = before.split("\n");
  const column = [...lines.at(-1)].length + 1;
  return problem(`the body is not valid XML: ${what} at line ${lines.length} column ${column}`);
}

function element(name, attributes = "") {
  const one = { name, fields: Object.create(null), isText: true, texts: [] };
  for (const [, key, double, single] of attributes === "" ? [] : attributes.matchAll(EACH_ATTRIBUTE)) {
    one.fields[`@${key}`] = unescaped(double ?? single);
    one.isText = false;
  }
  return one;
}

function addText({ texts }, text) {
  if (text !== "") {
    texts.push(text);
  }
}

/** Adds an element to the one that it is in. */
function close({ name, fields, isText, texts }, parent) {
  const text = texts.join("").trim();
  if (!isText && text !== "") {
    fields["#text"] = text;
  }
  const value = isText ? text : fields;
  const local = name.split(":").at(-1) || name;
  const before = parent.fields[local];
  if (Array.isArray(before)) {
    before.push(value);
  } else {
    parent.fields[local] = before === undefined ? value : [before, value];
  }
  parent.isText = false;
}

const ENTITY = /&(?:([a-zA-Z][a-zA-Z0-9]{1,7})|#([0-9]{1,9})|#[xX]([0-9a-fA-F]{1,8}));/g;
/** The names that HTML has for U+00A0 to U+00FF, and others, each before its character. */
const LATIN = `
  nbsp iexcl cent pound curren yen brvbar sect uml copy ordf laquo not shy reg macr deg plusmn sup2 sup3 acute
  micro para middot cedil sup1 ordm raquo frac14 frac12 frac34 iquest Agrave Aacute Acirc Atilde Auml Aring
  AElig Ccedil Egrave Eacute Ecirc Euml Igrave Iacute Icirc Iuml ETH Ntilde Ograve Oacute Ocirc Otilde Ouml
  times Oslash Ugrave Uacute Ucirc Uuml Yacute THORN szlig agrave aacute acirc atilde auml aring aelig ccedil
  egrave eacute ecirc euml igrave iacute icirc iuml eth ntilde ograve oacute ocirc otilde ouml divide oslash
  ugrave uacute ucirc uuml yacute thorn yuml`;
const OTHERS = `
  amp & lt < gt > quot " apos ' ndash – mdash — lsquo ‘ rsquo ’ sbquo ‚ ldquo “ rdquo ” bdquo „ hellip … bull •
  euro € trade ™ OElig Œ oelig œ Scaron Š scaron š`;
const ENTITIES = new Map(LATIN.trim().split(/\s+/).map((name, at) => [name, String.fromCodePoint(0xa0 + at)]));
for (const [, name, character] of OTHERS.matchAll(/([a-zA-Z]+) (\S)/g)) {
  ENTITIES.set(name, character);
}

function unescaped(text) {
  return text.includes("&") ? text.replace(ENTITY, characterOf) : text;
}

/** Returns the character of an entity; those of a document's own stay. */
function characterOf(entity, name, decimal, hex) {
  const code = decimal === undefined ? parseInt(hex, 16) : Number(decimal);
  const isCharacter = code > 0 && code <= 0x10ffff && (code < 0xd800 || code > 0xdfff);
  return name !== undefined ? (ENTITIES.get(name) ?? entity) : isCharacter ? String.fromCodePoint(code) : entity;
}
