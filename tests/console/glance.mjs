// The first page of the console and its form, in a Chromium that Node drives without any package: signs in, sees
// Today, and fails at an error in the log of the browser.
//
//     node --experimental-websocket glance.mjs WORLD
import { strict as assert } from "node:assert";
import { spawn } from "node:child_process";
import { readFileSync, rmSync } from "node:fs";
import { dirname, join } from "node:path";

import { consoleAddress, until, world } from "./service.mjs";

// Removed before a run: after one, the browser's children may still write to it.
const profile = join(dirname(process.argv[2]), "browser");
rmSync(profile, { recursive: true, force: true });
const chromium = spawn(world.chromium, [
  "--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run", "--disable-sync",
  "--disable-background-networking", "--disable-component-update", "--remote-debugging-port=0",
  "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1", `--user-data-dir=${profile}`, "about:blank",
], { stdio: "ignore" });

/** A page of the browser. */
class Page {
  #socket;
  #asked = new Map();
  errors = [];

  async open(address) {
    this.#socket = new WebSocket(address);
    this.#socket.onmessage = ({ data }) => this.#hear(JSON.parse(data));
    await new Promise((resolve, reject) => Object.assign(this.#socket, { onopen: resolve, onerror: reject }));
    for (const domain of ["Page", "Runtime", "Log"]) await this.#ask(`${domain}.enable`);
  }

  #hear({ id, method, params, result, error }) {
    if (id) {
      const { resolve, reject } = this.#asked.get(id);
      return error ? reject(new Error(error.message)) : resolve(result);
    }
    if (method === "Runtime.exceptionThrown") this.errors.push(params.exceptionDetails.text);
    if (method === "Log.entryAdded" && params.entry.level === "error") this.errors.push(params.entry.text);
  }

  #ask(method, params = {}) {
    const id = this.#asked.size + 1;
    this.#socket.send(JSON.stringify({ id, method, params }));
    return new Promise((resolve, reject) => this.#asked.set(id, { resolve, reject }));
  }

  async goTo(url) {
    await this.#ask("Page.navigate", { url });
  }

  async evaluate(expression) {
    const { result, exceptionDetails } = await this.#ask("Runtime.evaluate", { expression, returnByValue: true });
    return exceptionDetails ? undefined : result.value;
  }

  /** Waits for a page with this heading. */
  async shows(heading) {
    await until(`the heading ${heading}`, () => this.evaluate("document.querySelector('h1')?.textContent ?? ''"),
      (found) => found?.includes(heading));
  }

  /** Fills a field, and sends its form. */
  async send(selector, value) {
    const field = `document.querySelector(${JSON.stringify(selector)})`;
    const sent = await this.evaluate(`${field}.value = ${JSON.stringify(value)}; ${field}.form.requestSubmit(); true`);
    assert(sent, `the page has no ${selector}`);
  }

  close() {
    this.#socket?.close();
  }
}

const page = new Page();
try {
  const port = await until("the port of Chromium", () => {
    try {
      return readFileSync(join(profile, "DevToolsActivePort"), "utf8").split("\n")[0];
    } catch {
      return null;
    }
  });
  const targets = await (await fetch(`http://127.0.0.1:${port}/json`)).json();
  await page.open(targets.find(({ type }) => type === "page").webSocketDebuggerUrl);
  await page.goTo(consoleAddress);
  await page.shows("Leadhost");
  await page.send("#key", world.keys.adminKey);
  await page.shows("Today");
  assert.deepEqual(page.errors, [], "errors in the browser's log");
  console.log("  signed in, and saw Today");
} finally {
  page.close();
  chromium.kill();
  await new Promise((ended) => (chromium.exitCode === null ? chromium.on("exit", ended) : ended()));
}
