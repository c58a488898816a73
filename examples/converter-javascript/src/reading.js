// Helpers for reading what forms send: JSON whose numbers keep every digit, and texts
// that may be blank. Copy this file into your own converter.

/**
 * Returns the JSON value of a body; `undefined` if it is empty or not JSON. Numbers are
 * raw JSON, since ids above 2^53 would lose digits as JavaScript numbers.
 */
export function parseBody(content) {
  let text = content.tag === "text" ? content.val : latin1(content.val);
  if (text.startsWith("\uFEFF")) {
    text = text.slice(1);
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
