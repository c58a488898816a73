// Helpers for reading what forms send: JSON whose numbers keep every digit, and texts
// that may be blank. Copy this file into your own converter.

/** Most nesting that is read. The parser recurses, and a trap would be a fault of the plugin. */
const MAX_DEPTH = 64;

/**
 * Returns the JSON value of a body; `undefined` if it is empty, nested too deeply or not JSON.
 * Numbers are raw JSON, since ids above 2^53 would lose digits as JavaScript numbers.
 */
export function parseBody(content) {
  let text = content.tag === "text" ? content.val : latin1(content.val);
  if (text.startsWith("\uFEFF")) {
    text = text.slice(1);
  }
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

function keepDigits(key, value, context) {
  // Half of a surrogate pair is not text, and cannot leave the component.
  if (!key.isWellFormed() || (typeof value === "string" && !value.isWellFormed())) {
    throw new SyntaxError("a lone surrogate");
  }
  return typeof value === "number" ? JSON.rawJSON(context.source) : value;
}

/**
 * Returns bytes as text. The host passes a UTF-8 body as text, so bytes are not UTF-8:
 * old senders' Latin-1, in which every byte is a character.
 */
function latin1(bytes) {
  let text = "";
  for (const byte of bytes) {
    text += String.fromCharCode(byte);
  }
  return text;
}
