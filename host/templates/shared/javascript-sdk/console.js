// A console for the engine of a component, which has none: what is logged becomes notes of the
// delivery. Node, which only runs tests, has its own.

import { note } from "./plugin.js";

/** The host keeps no more bytes of a note. */
const MAX_LENGTH = 1024;

/** Returns a value as text. A log must not itself be a crash: of a cycle, or of a BigInt. */
function shown(value) {
  if (typeof value === "string") {
    return value;
  }
  if (value instanceof Error) {
    return [String(value), value.stack].filter(Boolean).join("\n").trimEnd();
  }
  try {
    return JSON.stringify(value) ?? String(value);
  } catch {
    return typeof value === "object" ? Object.prototype.toString.call(value) : String(value);
  }
}

function log(...values) {
  // A half of a surrogate pair, from the data or from the cut, is not text.
  note(values.map(shown).join(" ").slice(0, MAX_LENGTH).toWellFormed());
}

globalThis.console ??= { log, debug: log, info: log, warn: log, error: log };
