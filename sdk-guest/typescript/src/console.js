// A console for the engine of a component, which has none: what is logged goes to the standard
// error, which the host shows and keeps also after a crash. Node, which only runs tests, has its
// own.

import { writeLine } from "./log.js";
import { isCalled, note } from "./plugin.js";

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
  const line = values.map(shown).join(" ");
  // While the component is built, nothing can be written.
  if (!isCalled() || !writeLine(line)) {
    note(line);
  }
}

globalThis.console ??= { log, debug: log, info: log, warn: log, error: log };
