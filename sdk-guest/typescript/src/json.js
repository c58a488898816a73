// JSON as sources send it: numbers keep every digit, and an absent value has many forms.

/**
 * Deeper nesting is no lead, would exhaust the stack of the engine, and as an attribute is
 * refused by the host.
 */
const MAX_DEPTH = 127;

/**
 * Returns the value of a JSON text, or `undefined` if it is not JSON or is nested too deep. Half
 * of a surrogate pair is U+FFFD, and a control character in a text, which templates put there, is itself. Of two
 * members with one name the last counts. In a component,
 * numbers are raw JSON with the digits that were sent. Node before 21, which only runs tests,
 * cannot keep them: there they are JavaScript's own.
 */
export function parseJson(text) {
  const json = withoutHalves(text.startsWith("\uFEFF") ? text.slice(1) : text);
  const value = parsed(json);
  const plain = value === undefined ? withoutControls(json) : json;
  return plain === json ? value : parsed(plain);
}

function parsed(json) {
  try {
    if (isDeep(json)) {
      return undefined;
    }
    let members = 0;
    const value = JSON.parse(json, function (key, value, context) {
      members += Array.isArray(this) ? 0 : 1;
      return typeof value === "number" ? raw(context?.source ?? String(value)) : value;
    });
    // The engine gives a number the digits of the first member of its name. The value itself
    // is a member too.
    return members === membersIn(json) + 1 ? value : parseRepeated(json);
  } catch {
    return undefined;
  }
}

/** Returns a value as JSON text, its numbers as they were sent. */
export function jsonText(value) {
  return JSON.stringify(value);
}

/** Returns a scalar as trimmed text, a number as it was sent, and of an element of XML its text. */
export function textOf(value) {
  if (typeof value === "string") {
    return value.trim() || undefined;
  }
  if (typeof value === "object" && value !== null) {
    return isRaw(value) ? value.rawJSON : textOf(value["#text"]);
  }
  return typeof value === "boolean" || typeof value === "number" ? String(value) : undefined;
}

/** Whether a value is empty: null, a blank text, `{}` or `[]`. */
export function isAbsent(value) {
  if (typeof value !== "object" || value === null) {
    return value === undefined || value === null || (typeof value === "string" && value.trim() === "");
  }
  for (const _ in value) {
    return false;
  }
  return true;
}

export function isObject(value) {
  return typeof value === "object" && value !== null && !Array.isArray(value) && !isRaw(value);
}

function isRaw(value) {
  return JSON.isRawJSON !== undefined && JSON.isRawJSON(value);
}

/** Returns a number with its digits. */
function raw(digits) {
  return JSON.rawJSON === undefined ? Number(digits) : JSON.rawJSON(digits);
}

/** Writes U+FFFD for an escape that is half of a surrogate pair, which cannot leave the component. */
function withoutHalves(text) {
  const escape = /\\(?:u(?:d[89ab][0-9a-f]{2}\\ud[c-f]|d[89a-f])[0-9a-f]{2}|.)/gis;
  const isHalf = (escape) => /^\\ud.{3}$/i.test(escape);
  return /\\ud/i.test(text) ? text.replace(escape, (all) => (isHalf(all) ? "\\ufffd" : all)) : text;
}

function withoutControls(text) {
  const code = (control) => control.charCodeAt(0).toString(16).padStart(4, "0");
  const escaped = (control) => (control.length > 1 ? control : `\\u${code(control)}`);
  return text.replace(/"[^"\\]*(?:\\[^]?[^"\\]*)*(?:"|$)/g, (text) => text.replace(/\\[^]|[\u0000-\u001f]/g, escaped));
}

/** Returns how many members the objects of a JSON text have, repeated ones included. */
function membersIn(text) {
  return text.replace(/"[^"\\]*(?:\\.[^"\\]*)*"/g, "").split(":").length - 1;
}

/** Parses JSON in which names repeat: numbers pass as strings, which have a letter in front. */
function parseRepeated(text) {
  const token = /("[^"\\]*(?:\\.[^"\\]*)*")(\s*:)?|-?[0-9][-+.0-9eE]*/g;
  const marked = text.replace(token, (all, string, colon) =>
    string === undefined ? `"n${all}"` : colon === undefined ? `"s${string.slice(1)}` : all,
  );
  return JSON.parse(marked, (_, value) => {
    if (typeof value !== "string") {
      return value;
    }
    return value.startsWith("n") ? raw(value.slice(1)) : value.slice(1);
  });
}

/** Whether brackets outside of strings are nested deeper than a lead's. */
function isDeep(text) {
  if (text.split("[").length + text.split("{").length - 2 <= MAX_DEPTH) {
    return false;
  }
  // Without escapes, a string ends at the next quote.
  const plain = text.includes("\\") ? text.replaceAll("\\\\", "").replaceAll('\\"', "") : text;
  let brackets = plain.replace(/"[^"]*"/g, "").replace(/[^{}[\]]+/g, "");
  for (let depth = 0; depth < MAX_DEPTH && brackets !== ""; depth++) {
    // The innermost ones. A match of many costs less than many.
    brackets = brackets.replace(/(?:\[\]|\{\}){1,1000}/g, "");
  }
  return brackets !== "";
}
