// The log of a call: the standard error of the component, which the host shows and keeps also after a
// crash. Node, which only runs tests, has none.

/** The host keeps no more of a line. */
const MAX_LENGTH = 1024;
/** Frames of a stack that are written. */
const MAX_FRAMES = 20;

/** Writes a line. Returns whether there is a log. */
export function writeLine(line) {
  if (globalThis.stderr === undefined) {
    return false;
  }
  // A half of a surrogate pair, from the data or from a cut, is not text.
  const text = line.slice(0, MAX_LENGTH).toWellFormed();
  globalThis.stderr.getStderr().blockingWriteAndFlush(utf8(`${text}\n`));
  return true;
}

/**
 * Writes what a function has thrown and where, before it becomes a crash. A plain object is none: the
 * contract knows it.
 */
export function writeCrash(thrown) {
  if (!(thrown instanceof Error)) {
    if (typeof thrown !== "object" || thrown === null) {
      writeLine(`Error: thrown was no error: ${String(thrown)}`);
    }
    return;
  }
  for (const line of String(thrown).split("\n")) {
    writeLine(line);
  }
  const kept = JSON.parse(globalThis.sourceLines ?? "null");
  const frames = String(thrown.stack ?? "").split("\n").filter((line) => line.trim() !== "");
  for (const frame of frames.slice(0, MAX_FRAMES)) {
    writeLine(inSources(frame, kept));
  }
}

/** Returns a frame with the line of a source in place of that of the bundle, if the build has `kept` it. */
function inSources(frame, kept) {
  return frame.replace(/[^\s(]*build\/[^\s():]+\.js:(\d+)(?::\d+)?/, (place, number) => {
    const found = kept?.lines[number - 1];
    return found ? `${kept.sources[found[0]]}:${found[1]}` : place;
  });
}

function utf8(text) {
  const bytes = encodeURIComponent(text).match(/%..|[^%]/g);
  return Uint8Array.from(bytes, (byte) => (byte.length === 1 ? byte.charCodeAt(0) : parseInt(byte.slice(1), 16)));
}
