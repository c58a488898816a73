// The table of tasks in docs/console.md, which the suite keeps to.
import { strict as assert } from "node:assert";
import { readFileSync } from "node:fs";

/** The most clicks of a task, from the first page. */
const MOST_CLICKS = 3;

/** The clicks of each task, by its name. */
export function documented() {
  const text = readFileSync(new URL("../../docs/console.md", import.meta.url), "utf8");
  const rows = [...text.matchAll(/^\| ([^|]+) \| (\d+) \| [^|]+ \|$/gm)];
  const table = new Map(rows.map(([, name, clicks]) => [name.trim(), Number(clicks)]));
  assert.equal(table.size, rows.length, "each task is in the table once");
  for (const [name, clicks] of table) assert(clicks <= MOST_CLICKS, `${name}: ${clicks} clicks`);
  return table;
}

/** Fails if a task of the table is not in the suite, or the other way round. */
export function compare(table, tasks) {
  const inSuite = new Set(tasks.map(({ name }) => name));
  assert.equal(inSuite.size, tasks.length, "each task is in the suite once");
  const untested = [...table.keys()].filter((name) => !inSuite.has(name));
  const untold = [...inSuite].filter((name) => !table.has(name));
  assert.deepEqual({ untested, untold }, { untested: [], untold: [] }, "docs/console.md and the suite have the same tasks");
}
