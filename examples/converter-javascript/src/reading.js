// Reading what forms send: JSON whose numbers keep every digit, and texts that
// may be blank. Copy this file into a converter of your own.

/**
 * The JSON value of a body; `undefined` when it is none. Numbers come as raw
 * JSON, since ids above 2^53 would lose digits as numbers of the language.
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

/** A scalar as trimmed text, a number as it was written; else `undefined`. */
export function textOf(value) {
  if (typeof value === "string") {
    return value.trim() || undefined;
  }
  if (JSON.isRawJSON(value)) {
    return value.rawJSON;
  }
  return typeof value === "boolean" ? String(value) : undefined;
}

/** Whether a value says nothing: null, a blank text, `{}` or `[]`. */
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

/** A value as the JSON text that an attribute carries. */
export function attributeText(value) {
  return JSON.stringify(value);
}

function keepDigits(key, value, context) {
  // Half of a surrogate pair is no text, and cannot leave the component.
  if (!key.isWellFormed() || (typeof value === "string" && !value.isWellFormed())) {
    throw new SyntaxError("a lone surrogate");
  }
  return typeof value === "number" ? JSON.rawJSON(context.source) : value;
}

/**
 * Bytes as text. The host gives text wherever a body is UTF-8, so bytes are
 * what is not: old senders' Latin-1, in which every byte is a character.
 */
function latin1(bytes) {
  let text = "";
  for (const byte of bytes) {
    text += String.fromCharCode(byte);
  }
  return text;
}
