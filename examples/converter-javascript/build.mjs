// Builds a component from src/converter.js: QuickJS with the source inside,
// initialised at build time, so that a call does not pay for the start.
//
//     node build.mjs [--wit FILE] [--out FILE]

import { mkdir, readFile, writeFile } from "node:fs/promises";
import { dirname, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { componentize } from "componentize-qjs";

const here = dirname(fileURLToPath(import.meta.url));
const { values } = parseArgs({
  options: {
    wit: { type: "string", default: `${here}/../../wit/published/leadhost-converter-1.0.0.wit` },
    out: { type: "string", default: `${here}/dist/example-form.wasm` },
  },
});

const source = `${here}/src/converter.js`;
const { component } = await componentize({
  witPath: resolve(values.wit),
  world: "lead-converter",
  jsSource: await readFile(source, "utf8"),
  jsPath: source,
  moduleRoot: `${here}/src`,
  // The contract's functions are synchronous; the host accepts no others.
  sync: true,
});
await mkdir(dirname(resolve(values.out)), { recursive: true });
await writeFile(values.out, component);
