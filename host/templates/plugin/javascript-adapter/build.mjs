// Builds build/plugin.wasm from src/adapter.js: one file of JavaScript inside the engine
// QuickJS, initialised at build time, so that a call does not pay for the start. The stack
// of an error in the component names lines of the sources.

import { readFile, writeFile } from "node:fs/promises";
import { build } from "esbuild";
import { componentize } from "componentize-qjs";
import { withPositions } from "./leadhost-sdk/positions.js";
import { banner, withStderr } from "./leadhost-sdk/stderr.js";

const bundle = "build/adapter.js";
await build({
  entryPoints: ["src/adapter.js"],
  bundle: true,
  format: "esm",
  platform: "neutral",
  mainFields: ["module", "main"],
  target: "es2023",
  charset: "utf8",
  outfile: bundle,
  banner: { js: banner },
  sourcemap: "external",
  sourcesContent: false,
});
const contract = await readFile("wit/leadhost-adapter-1.0.0.wit", "utf8");
await writeFile("build/plugin.wit", withStderr(contract, "leadhost:adapter/channel-adapter@1.0.0"));
const { component } = await componentize({
  witPath: "build/plugin.wit",
  world: "leadhost:plugin/plugin",
  jsSource: withPositions(await readFile(bundle, "utf8"), await readFile(`${bundle}.map`, "utf8")),
  jsPath: bundle,
  // The contract's functions are synchronous; the host accepts no others.
  sync: true,
});
await writeFile("build/plugin.wasm", component);
