// Builds a component from src/adapter.js: QuickJS with the source inside, initialised
// at build time, so that a call does not pay for the start.
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
    wit: { type: "string", default: `${here}/../../wit/published/leadhost-adapter-1.0.0.wit` },
    out: { type: "string", default: `${here}/dist/example-adapter.wasm` },
  },
});

// The engine reads no files, so the schema becomes a module.
const schema = await readFile(`${here}/../../plugins/adapter-sandbox/src/config.schema.json`, "utf8");
await mkdir(`${here}/dist`, { recursive: true });
await writeFile(`${here}/dist/schema.js`, `export default ${JSON.stringify(schema)};\n`);

const source = `${here}/src/adapter.js`;
const { component } = await componentize({
  witPath: resolve(values.wit),
  world: "channel-adapter",
  jsSource: await readFile(source, "utf8"),
  jsPath: source,
  // One folder up, since the reading helpers are in the converter's example.
  moduleRoot: dirname(here),
  // The contract's functions are synchronous; the host accepts no others.
  sync: true,
});
await mkdir(dirname(resolve(values.out)), { recursive: true });
await writeFile(values.out, component);
