// Bytes as text. The engine of a component has no TextDecoder. Bytes are given as a text, each character of
// which is one, so that each piece of a body can be read by itself.

/** A character of several bytes, or as much of it as there is. */
const SEQUENCE = new RegExp(
  "[\\xc2-\\xdf][\\x80-\\xbf]?" +
    "|(?:\\xe0[\\xa0-\\xbf]|[\\xe1-\\xec\\xee\\xef][\\x80-\\xbf]|\\xed[\\x80-\\x9f])[\\x80-\\xbf]?" +
    "|(?:\\xf0[\\x90-\\xbf]|[\\xf1-\\xf3][\\x80-\\xbf]|\\xf4[\\x80-\\x8f])[\\x80-\\xbf]{0,2}" +
    "|[\\x80-\\xff]",
  "g",
);

/** The characters of 0x80 to 0x9F; those that have none are U+FFFD. */
const WINDOWS_1252 = "€\uFFFD‚ƒ„…†‡ˆ‰Š‹Œ\uFFFDŽ\uFFFD\uFFFD‘’“”•–—˜™š›œ\uFFFDžŸ";

/**
 * Reads bytes as UTF-8, with U+FFFD for each bad sequence, if at least as many characters of several
 * bytes are good as bad, or if windows-1252 would read `â€`, `ðŸ`, or `Ã` after a small letter, which
 * nobody writes; else as windows-1252, as old senders mean by Latin-1.
 */
export function decoded(bytes) {
  let [good, bad, isWhole] = [0, 0, true];
  const text = bytes.replace(SEQUENCE, (sequence) => {
    const isCharacter = sequence.length === lengthFrom(sequence.charCodeAt(0));
    const character = isCharacter ? decodeURIComponent(escaped(sequence)) : "\uFFFD";
    isWhole &&= isCharacter;
    character === "\uFFFD" ? bad++ : good++;
    return character;
  });
  return isWhole || good >= bad || /\xe2\x80|\xf0\x9f|[a-z]\xc3/.test(bytes)
    ? text
    : bytes.replace(/[\x80-\x9f]/g, (byte) => WINDOWS_1252[byte.charCodeAt(0) - 0x80]);
}

/** Returns how many bytes a character has by its first one; none begins with one of the others. */
function lengthFrom(first) {
  return first < 0xc2 || first > 0xf4 ? undefined : first < 0xe0 ? 2 : first < 0xf0 ? 3 : 4;
}

/** Writes bytes as `%E9`. */
export function escaped(bytes) {
  return bytes.replace(/[\x80-\xff]/g, (character) => `%${character.charCodeAt(0).toString(16)}`);
}

export function latin1(bytes) {
  const parts = [];
  for (let at = 0; at < bytes.length; at += 4096) {
    parts.push(String.fromCharCode(...bytes.subarray(at, at + 4096)));
  }
  return parts.join("");
}
