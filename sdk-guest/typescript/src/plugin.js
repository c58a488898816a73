// What converters and adapters share: who they are, problems, and notes.

import { openLog, writeCrash } from "./log.js";
import { beginWatch } from "./watch.js";

/** Returns a description; `summary` is one line for people. */
export function description(name, version, summary, more = {}) {
  return { name, version, summary, configSchema: "", secrets: [], hosts: [], ...more };
}

/**
 * Returns a problem to be thrown: `throw problem("…")` refuses the whole body. An `Error` would be a
 * crash of the plugin instead.
 */
export function problem(message, path = "") {
  return { message, path };
}

/** More lines than a person reads. */
const MAX_NOTES = 200;
const notes = [];

/** Adds a line to the notes of the delivery. */
export function note(line) {
  if (notes.length < MAX_NOTES) {
    notes.push(String(line));
  }
}

/** Returns the lines so far, and forgets them. */
export function takeNotes() {
  return notes.splice(0);
}

/**
 * Returns functions that begin without notes: those of a call that refused its body, or failed, are not
 * the next call's. An error that they throw is written to the log before it ends the call.
 */
export function withOwnNotes(functions) {
  const begin = (call) =>
    function (...values) {
      openLog();
      takeNotes();
      beginWatch();
      try {
        return call.apply(this, values);
      } catch (thrown) {
        writeCrash(thrown);
        throw thrown;
      }
    };
  const isCall = (value) => typeof value === "function";
  return Object.fromEntries(Object.entries(functions).map(([name, one]) => [name, isCall(one) ? begin(one) : one]));
}
