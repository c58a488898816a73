// Builds build/plugin.wasm from src/converter.ts: one file of JavaScript inside the engine
// QuickJS, initialised at build time, so that a call does not pay for the start. An error
// in the component names lines of build/converter.js.

import { readFile, writeFile } from "node:fs/promises";
import { build } from "esbuild";
import { componentize } from "componentize-qjs";

const bundle = "build/converter.js";
await build({
  entryPoints: ["src/converter.ts"],
  bundle: true,
  format: "esm",
  platform: "neutral",
  mainFields: ["module", "main"],
  target: "es2023",
  charset: "utf8",
  outfile: bundle,
});
const { component } = await componentize({
  witPath: "wit/leadhost-converter-1.0.0.wit",
  world: "lead-converter",
  jsSource: await readFile(bundle, "utf8"),
  jsPath: bundle,
  // The contract's functions are synchronous; the host accepts no others.
  sync: true,
});
await writeFile("build/plugin.wasm", component);
