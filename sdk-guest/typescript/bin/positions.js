// For the build: from which line of which source each line of the bundle is, so that the stack of a
// crash names the sources.

const DIGITS = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

/** Returns the names of the sources, and of each line of the bundle the number of its source and the line in it. */
export function positions(map) {
  const { sources, mappings } = JSON.parse(map);
  let [source, line] = [0, 0];
  const lines = mappings.split(";").map((text) => {
    let first = 0;
    for (const segment of text.split(",")) {
      const [, ofSource, ofLine] = numbers(segment);
      if (ofSource !== undefined) {
        source += ofSource;
        line += ofLine;
        first ||= [source, line + 1];
      }
    }
    return first;
  });
  const names = sources.map((name) => name.replace(/^(\.\.?\/)+/, ""));
  return { sources: names, lines };
}

/** Returns the numbers of a segment, each of which is the difference to the one before. */
function numbers(segment) {
  const found = [];
  let [value, shift] = [0, 0];
  for (const character of segment) {
    const digit = DIGITS.indexOf(character);
    value += (digit & 31) * 2 ** shift;
    shift += 5;
    if ((digit & 32) === 0) {
      found.push(value & 1 ? -(value >> 1) : value >> 1);
      [value, shift] = [0, 0];
    }
  }
  return found;
}
