#!/usr/bin/env node
// Builds build/plugin.wasm from src/converter.ts or src/adapter.ts (or .js): one file of JavaScript inside the
// engine QuickJS, initialised at build time, so that a call does not pay for the start. The stack of an error in
// the component names lines of the sources.

import { existsSync } from "node:fs";
import { readFile, writeFile } from "node:fs/promises";
import { componentize } from "componentize-qjs";
import { build } from "esbuild";
import { inSources } from "../src/log.js";
import { positions } from "./positions.js";
import { watched } from "./watched.js";

const WORLDS = {
  converter: "leadhost:converter/lead-converter@1.0.0",
  adapter: "leadhost:adapter/channel-adapter@1.0.0",
};
const WASI = "0.2.0";

const [kind] = process.argv.slice(2);
const source = [`src/${kind}.ts`, `src/${kind}.js`].find(existsSync);
if (!Object.hasOwn(WORLDS, kind ?? "") || source === undefined) {
  console.error("usage: leadhost-build converter|adapter, with src/converter.ts or src/adapter.ts (or .js)");
  process.exit(2);
}

const bundle = `build/${kind}.js`;
const made = await build({
  entryPoints: [source],
  bundle: true,
  format: "esm",
  platform: "neutral",
  mainFields: ["module", "main"],
  target: "es2023",
  charset: "utf8",
  outfile: bundle,
  // The console writes to the standard error of WASI.
  banner: { js: `import stderr from "wasi:cli/stderr@${WASI}"; globalThis.stderr = stderr;` },
  sourcemap: "external",
  sourcesContent: false,
  metafile: true,
  // It has written the file, the line and the mistake.
}).catch(() => process.exit(1));
if (!made.metafile.outputs[bundle].exports.includes(kind)) {
  const define = kind === "converter" ? "defineConverter" : "defineAdapter";
  console.error(`${source} exports no \`${kind}\`: write \`export const ${kind} = ${define}({ … })\``);
  process.exit(1);
}
const contract = await readFile(new URL(`../wit/leadhost-${kind}-1.0.0.wit`, import.meta.url), "utf8");
await writeFile("build/plugin.wit", withStderr(contract, WORLDS[kind]));
const kept = positions(await readFile(`${bundle}.map`, "utf8"));
const isOwn = (line) => kept.sources[kept.lines[line - 1]?.[0]]?.startsWith("node_modules/") === false;
const counted = watched(await readFile(bundle, "utf8"), isOwn);
const { component } = await componentize({
  witPath: "build/plugin.wit",
  world: "leadhost:plugin/plugin",
  // A text, which needs little memory and is read only after a crash.
  jsSource: `${counted}\nglobalThis.sourceLines = ${JSON.stringify(JSON.stringify(kept))};\n`,
  jsPath: bundle,
  // The contract's functions are synchronous; the host accepts no others.
  sync: true,
}).catch((error) => {
  console.error(error.message.replace(/^: /, "").split("\n").map((line) => inSources(line, kept)).join("\n"));
  process.exit(1);
});
await writeFile("build/plugin.wasm", component);

/** Returns a contract with the standard error of WASI: the world `leadhost:plugin/plugin`. */
function withStderr(contract, world) {
  return `${contract}
package wasi:io@${WASI} {
  interface error {
    resource error;
  }
  interface streams {
    use error.{error};
    variant stream-error { last-operation-failed(error), closed }
    resource output-stream {
      blocking-write-and-flush: func(contents: list<u8>) -> result<_, stream-error>;
    }
  }
}
package wasi:cli@${WASI} {
  interface stderr {
    use wasi:io/streams@${WASI}.{output-stream};
    get-stderr: func() -> output-stream;
  }
}
package leadhost:plugin {
  world plugin {
    include ${world};
    import wasi:cli/stderr@${WASI};
  }
}
`;
}
