// Helpers for reading what forms send: JSON whose numbers keep every digit, and texts
// that may be blank. Copy this file into your own converter.

/** Most nesting that is read. The parser recurses, and a trap would be a fault of the plugin. */
const MAX_DEPTH = 64;

/**
 * Returns the JSON value of a body; `undefined` if it is empty, nested too deeply or not JSON.
 * Numbers are raw JSON, since ids above 2^53 would lose digits as JavaScript numbers.
 */
export function parseBody(content) {
  let text = content.tag === "text" ? content.val : decoded(latin1(content.val));
  text = withoutHalves(text.startsWith("\uFEFF") ? text.slice(1) : text);
  if (isTooDeep(text)) {
    return undefined;
  }
  try {
    return JSON.parse(text, keepDigits);
  } catch {
    return undefined;
  }
}

/** Returns a scalar as trimmed text, a number as it was written; else `undefined`. */
export function textOf(value) {
  if (typeof value === "string") {
    return value.trim() || undefined;
  }
  if (JSON.isRawJSON(value)) {
    return value.rawJSON;
  }
  return typeof value === "boolean" ? String(value) : undefined;
}

/** Whether a value is empty: null, a blank text, `{}` or `[]`. */
export function isAbsent(value) {
  if (typeof value === "string") {
    return value.trim() === "";
  }
  if (JSON.isRawJSON(value) || typeof value === "boolean") {
    return false;
  }
  return value === null || value === undefined || Object.keys(value).length === 0;
}

export function isObject(value) {
  return typeof value === "object" && value !== null && !Array.isArray(value) && !JSON.isRawJSON(value);
}

/** Returns a value as the JSON text that an attribute carries. */
export function attributeText(value) {
  return JSON.stringify(value);
}

/** Whether a JSON text is nested deeper than `MAX_DEPTH`. Reads it once, without recursion. */
function isTooDeep(text) {
  let depth = 0;
  for (let at = 0; at < text.length; at += 1) {
    switch (text.charCodeAt(at)) {
      case 0x22: // A quote
        at = endOfString(text, at);
        break;
      case 0x5b: // Brackets and braces that open
      case 0x7b:
        depth += 1;
        if (depth > MAX_DEPTH) {
          return true;
        }
        break;
      case 0x5d: // Those that close
      case 0x7d:
        depth -= 1;
        break;
    }
  }
  return false;
}

/** Returns the place of the quote that closes a string, or the end of the text. */
function endOfString(text, open) {
  let close = text.indexOf('"', open + 1);
  while (close !== -1 && isEscaped(text, close)) {
    close = text.indexOf('"', close + 1);
  }
  return close === -1 ? text.length : close;
}

function isEscaped(text, at) {
  let before = at;
  while (text[before - 1] === "\\") {
    before -= 1;
  }
  return (at - before) % 2 === 1;
}

function keepDigits(_, value, context) {
  return typeof value === "number" ? JSON.rawJSON(context.source) : value;
}

/** Writes U+FFFD for an escape that is half of a surrogate pair, which cannot leave the component. */
function withoutHalves(text) {
  const escape = /\\(?:u(?:d[89ab][0-9a-f]{2}\\ud[c-f]|d[89a-f])[0-9a-f]{2}|.)/gis;
  const isHalf = (escape) => /^\\ud.{3}$/i.test(escape);
  return /\\ud/i.test(text) ? text.replace(escape, (all) => (isHalf(all) ? "\\ufffd" : all)) : text;
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

/** Returns a text of which each character is a byte. */
function latin1(bytes) {
  let text = "";
  for (const byte of bytes) {
    text += String.fromCharCode(byte);
  }
  return text;
}
