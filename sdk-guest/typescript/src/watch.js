// What the build puts into the author's loops and functions: a line of the log names a loop that goes on and on, and
// an error a function that calls itself without end, before the host ends the call.

import { writeLoop } from "./log.js";

/** Rounds of the loops of one call before the log names the loop: some tenths of a second. */
const ROUNDS = 1 << 20;
/** Calls within calls, which the stack of a component has room for. */
const DEPTH = 256;

let rounds = 0;
let depth = 0;

/** Counts the rounds and the depth of a call from here. */
export function beginWatch() {
  rounds = 0;
  depth = 0;
}

globalThis.watch = {
  round() {
    rounds += 1;
    if (rounds === ROUNDS) {
      writeLoop(new Error(`${ROUNDS} rounds of loops so far, now in`));
    }
  },
  enter() {
    depth += 1;
    if (depth > DEPTH) {
      throw new RangeError(`${DEPTH} calls within calls: a function calls itself without end`);
    }
  },
  leave() {
    depth -= 1;
  },
};
