// The log of a call: the standard error of the component, which the host shows and keeps also after a
// crash. The engine of a component has no console; Node has its own, and no `stderr` of WASI.

/** The host keeps no more of a line. */
const MAX_LENGTH = 1024;
/** Frames of a stack that are written. */
const MAX_FRAMES = 20;

/** While the component is built, nothing can be written. */
let isOpen = false;

export function openLog() {
  isOpen = globalThis.stderr !== undefined;
}

globalThis.console ??= { log, debug: log, info: log, warn: log, error: log };

function log(...values) {
  writeLine(values.map((value) => shown(value)).join(" "));
}

/** Returns a value as text, within others `quoted`. A log must not itself be a crash: of a cycle, or of a BigInt. */
export function shown(value, quoted = false) {
  if (typeof value === "string" && !quoted) {
    return value;
  }
  if (value instanceof Error) {
    return traced(value).join("\n");
  }
  try {
    return JSON.stringify(value) ?? String(value);
  } catch {
    return typeof value === "object" ? Object.prototype.toString.call(value) : String(value);
  }
}

/**
 * Writes what a function has thrown and where, before it becomes a crash. A plain object is none: the
 * contract knows it.
 */
export function writeCrash(thrown) {
  if (thrown instanceof Error) {
    traced(thrown).forEach(writeLine);
  } else if (typeof thrown !== "object" || thrown === null) {
    writeLine(`Error: thrown was no error: ${String(thrown)}`);
  }
}

/** Writes the words of an error with the place of the loop in which it was made. */
export function writeLoop(error) {
  // The innermost frame is of the count itself.
  const [words, , loop] = traced(error);
  writeLine(`${words.replace(/^Error: /, "")} ${(loop ?? "").trim().replace(/^at /, "")}`);
}

/** Returns the lines of an error: its message, and where it was thrown. */
function traced(error) {
  const kept = JSON.parse(globalThis.sourceLines ?? "null");
  const frames = (error.stack ?? "").split("\n").filter((line) => line.trim() !== "");
  return [...String(error).split("\n"), ...frames.slice(0, MAX_FRAMES).map((frame) => inSources(frame, kept))];
}

/** Returns a frame with the line of a source in place of that of the bundle, if the build has `kept` it. */
export function inSources(frame, kept) {
  return frame.replace(/[^\s(]*build\/[^\s():]+\.js:(\d+)(?::\d+)?/, (place, number) => {
    const found = kept?.lines[number - 1];
    return found ? `${kept.sources[found[0]]}:${found[1]}` : place;
  });
}

function writeLine(line) {
  if (!isOpen) {
    return;
  }
  // A half of a surrogate pair, from the data or from a cut, is not text.
  const text = `${line.slice(0, MAX_LENGTH).toWellFormed()}\n`;
  const bytes = encodeURIComponent(text).match(/%..|[^%]/g);
  const byte = (one) => (one.length === 1 ? one.charCodeAt(0) : parseInt(one.slice(1), 16));
  globalThis.stderr.getStderr().blockingWriteAndFlush(Uint8Array.from(bytes, byte));
}
