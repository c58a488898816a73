// Does not end, as the body says, or runs through every form of function and loop that the build counts.

import { conversion, defineConverter, description, lead, parse, text } from "leadhost-sdk";

export const converter = defineConverter({
  describe: () => description("sample-converter-typescript", "1.0.0", "Does not end"),

  convert(delivery) {
    const ends: Record<string, () => unknown> = { spin, descend: () => descend(1), fill };
    const end = ends[text(parse(delivery), "do") ?? ""];
    return conversion([lead({ name: String(end ? end() : forms()) })]);
  },
});

function spin() {
  let rounds = 0;
  for (;;) rounds += 1;
}

function descend(depth: number): number {
  return descend(depth + 1) + 1;
}

function fill() {
  const parts: string[] = [];
  while (parts.length < 1024) parts.push("x".repeat(1 << 20) + String(parts.length));
  return parts.length;
}

class Counter {
  #count = 0;

  get count() {
    return this.#count;
  }

  add(more: number) {
    this.#count += more;
    return this;
  }
}

class Double extends Counter {
  constructor(count: number) {
    super();
    this.add(2 * count);
  }
}

function* numbers(most: number) {
  for (let number = 1; number <= most; number++) yield number;
}

function forms() {
  const found: unknown[] = [];
  const pair = (one: number) => ({ one });
  const curried = (one: number) => (other: number) => one + other;
  for (const number of numbers(3)) if (number !== 2) found.push(pair(number).one);
  outer: for (const key in { a: 1, b: 2 }) {
    do {
      if (key === "b") continue outer;
      found.push(key);
    } while (false);
  }
  let rest = 2;
  while (rest > 0) for (const one of [rest--]) found.push(curried(one)(10));
  found.push(new Double(4).add(1).count, ((...all: number[]) => all.length)(1, 2), (() => {})());
  return found.join(" ");
}
