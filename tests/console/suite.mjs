// The tasks of an operator's day, each done in a real browser as docs/console.md describes it: first
// with script, then the whole again without. Fails at the first task that does not work, at any finding
// of axe, at any error in the browser's log, and at any request that leaves the service. The screens are
// kept in the folder of the run.
//
//     node suite.mjs WORLD       a JSON file with the addresses and keys of the running service
import { strict as assert } from "node:assert";
import { mkdirSync, readFileSync } from "node:fs";
import { join } from "node:path";

import { chromium } from "playwright-core";

const world = JSON.parse(readFileSync(process.argv[2], "utf8"));
const axe = readFileSync(new URL("node_modules/axe-core/axe.min.js", import.meta.url), "utf8");
const console_ = `http://${world.admin}/console`;
mkdirSync(world.screens, { recursive: true });

/** The most clicks of a task, from the first page. */
const MOST_CLICKS = 3;

/** A browser window that counts clicks and watches what the page does. */
class Window {
  static async open(browser, withScript, options = {}) {
    const context = await browser.newContext({ javaScriptEnabled: withScript, viewport: { width: 1200, height: 900 }, ...options });
    const page = await context.newPage();
    const own = new Window(page, withScript);
    page.on("request", (request) => own.requests.push(request.url()));
    page.on("console", (message) => message.type() === "error" && own.errors.push(message.text()));
    page.on("pageerror", (error) => own.errors.push(String(error)));
    page.on("dialog", (dialog) => dialog.accept());
    return own;
  }

  constructor(page, withScript) {
    Object.assign(this, { page, withScript, clicks: 0, requests: [], errors: [] });
  }

  async signIn() {
    await this.page.goto(console_);
    await this.page.fill("#key", world.keys.adminKey);
    await this.page.click("text=Sign in");
    await this.shows("Today");
  }

  async click(name, role = "link") {
    this.clicks += 1;
    await this.page.getByRole(role, { name, exact: typeof name === "string" }).first().click();
  }

  async press(name) {
    await this.click(name, "button");
  }

  /** Opens the newest delivery of the list with this status. */
  async open(status) {
    this.clicks += 1;
    await this.page.locator("tr", { has: this.page.locator(`.tag.${status}`) }).locator("a.mono").first().click();
  }

  async shows(text) {
    await this.page.getByText(text).first().waitFor({ timeout: 20_000 });
  }

  async screen(name) {
    if (this.withScript) await this.page.screenshot({ path: join(world.screens, `${name}.png`), fullPage: true });
  }

  /** Does a task from the first page, and counts its clicks. */
  async task(name, steps) {
    await this.page.goto(console_);
    this.clicks = 0;
    await steps(this);
    assert(this.clicks <= MOST_CLICKS, `${name}: ${this.clicks} clicks`);
    await this.screen(name.replaceAll(" ", "-"));
    console.log(`  ${name}: ${this.clicks} clicks`);
  }

  async close() {
    const outside = this.requests.filter((url) => !url.startsWith(`http://${world.admin}/`) && !url.startsWith("data:"));
    assert.deepEqual(outside, [], "requests to elsewhere");
    assert.deepEqual(this.errors, [], "errors in the browser's log");
    await this.page.context().close();
  }
}

/** Loads the page of a repair again until the repair is in this state: without script, no page does by itself. */
async function ends(window, state) {
  await window.page.waitForURL(/\/repairs\/[0-9a-f-]+$/);
  for (let look = 0; look < 100; look += 1) {
    if (await window.page.locator(`dd .tag.${state}`).count()) return;
    await window.page.waitForTimeout(200);
    await window.page.goto(window.page.url());
  }
  assert.fail(`the repair is not ${state}`);
}

async function lead(id, token = world.token) {
  const body = new URLSearchParams({ ticket: id, first: "Rui", last: "Sá", whatsapp: "(21) 98888-7777", unit: "CA-0007", text: "Quero visitar." });
  const answer = await fetch(`http://${world.gateway}/ingest-lead/${world.keys.connections["site-form"]}`, {
    method: "POST", body, headers: { "X-Form-Token": token },
  });
  return answer.status;
}

/** Asks an operation of the admin API, for what a task finds and does not do itself. */
async function admin(path, body) {
  const bytes = body instanceof Uint8Array ? body : JSON.stringify(body);
  const answer = await fetch(`http://${world.admin}/admin/v1${path}`, {
    method: "POST", body: bytes, headers: { authorization: `Bearer ${world.keys.adminKey}`, "content-type": "application/json" },
  });
  assert(answer.ok, `${path}: ${answer.status} ${await answer.clone().text()}`);
  return answer.json();
}

/** Has a lead converted by a version that reads another name, and then activates another version. */
async function convertWrongly(suffix) {
  const component = readFileSync(world.component);
  // The same component with one more custom section is another version.
  const variant = (word) => Buffer.concat([component, Buffer.from([0, 1 + 7 + word.length, 7]), Buffer.from(`variant${word}`)]);
  const activate = (word) => admin("/plugins?activate=true&accept=all", variant(word));
  const apply = (name) => admin("/apply", {
    workspace: { slug: "demo", name: "Demo" }, partners: [{ name: "crm" }],
    connections: [{ name: "expo", partner: "crm", plugin: "mapping", config: { fields: { name } } }],
  });
  await activate(`before-${suffix}`);
  const { connections } = await apply("outro");
  const lead = { id: `expo-${suffix}`, nome: "Lia Reis", outro: "Feira", telefone: "(21) 96666-5555" };
  const answer = await fetch(`http://${world.gateway}/ingest-lead/${connections.expo}`, { method: "POST", body: JSON.stringify(lead) });
  assert.equal(answer.status, 200);
  await apply("nome");
  await activate(`after-${suffix}`);
}

/** Counts what is committed, and waits for it. */
async function countAnalytics() {
  const answer = await fetch(`http://${world.admin}/admin/v1/etl/runs`, {
    method: "POST", headers: { Authorization: `Bearer ${world.keys.adminKey}` },
  });
  assert.equal(answer.status, 200);
}

async function tasks(window) {
  const suffix = window.withScript ? "script" : "plain";
  assert.equal(await lead(`good-${suffix}`), 200);
  assert.equal(await lead(`bad-${suffix}`, "wrong"), 401);

  await window.task("see what is wrong", async (own) => {
    await own.shows("in quarantine, because the sender check failed");
  });
  await window.task("find the deliveries in quarantine", async (own) => {
    await own.click(/in quarantine/);
    await own.page.locator("td .tag.quarantined").first().waitFor();
  });
  await window.task("see the charts of the last hour", async (own) => {
    await own.click("Last hour");
    await own.page.getByRole("img", { name: /^Leads/ }).first().waitFor();
    await own.shows("Numbers of Leads");
  });
  await window.task("find the deliveries of a person", async (own) => {
    await own.click("Deliveries");
    await own.page.fill("#q", "(21) 98888-7777");
    await own.press("Show");
    await own.open("converted");
    await own.shows(/Quero.visitar/);
  });
  await window.task("open the last delivery and see what was sent", async (own) => {
    await own.click("Deliveries");
    await own.page.selectOption("#status", "converted");
    await own.press("Show");
    await own.open("converted");
    await own.shows(/Quero.visitar/);
  });
  await window.task("download a delivery as a golden case", async (own) => {
    await own.open("converted");
    const download = own.page.waitForEvent("download");
    await own.press("Download as a golden case");
    const file = await download;
    assert.match(file.suggestedFilename(), /^delivery-.*\.tar$/);
    const text = readFileSync(await file.path(), "utf8");
    assert(text.includes("case.json") && !text.includes("98888-7777"), "persons are made up");
  });
  await window.task("see what a replay would change", async (own) => {
    await own.open("converted");
    await own.press(/Convert again/);
    await own.shows("Converted again by the active version");
  });
  await window.task("pause a connection", async (own) => {
    await own.click("Connections");
    const card = own.page.getByRole("region", { name: "site-form" });
    own.clicks += 2;
    await card.getByText("Pause", { exact: true }).click();
    await card.getByLabel("Reason").fill("the site moves");
    await card.getByRole("button", { name: "Pause its fetches" }).click();
    await own.shows("the site moves");
  });
  await window.task("resume a connection", async (own) => {
    await own.click(/the fetches of .* are paused/);
    own.clicks += 1;
    await own.page.getByRole("region", { name: "site-form" }).getByRole("button", { name: "Resume" }).click();
    await own.shows("The connection is resumed.");
  });
  await window.task("send a test delivery", async (own) => {
    await own.click("Connections");
    own.clicks += 2;
    const card = own.page.getByRole("region", { name: "site-form" });
    await card.getByText("Test delivery", { exact: true }).click();
    await card.getByLabel("The body").fill(`ticket=test-${suffix}&first=Ana&last=Luz&whatsapp=(21) 97777-6666&unit=CA-0007&text=Um teste.`);
    await card.getByRole("button", { name: "Deliver it" }).click();
    await own.page.getByRole("region", { name: "What became of it" }).locator(".tag.converted").first().waitFor();
  });
  await window.task("try a new connection on a body", async (own) => {
    await own.click("Connections");
    await own.click("New connection");
    await own.page.selectOption("#plugin", "mapping");
    await own.page.getByLabel("Name", { exact: true }).first().fill(`landing-${suffix}`);
    await own.page.getByLabel("Partner").fill("crm");
    await own.page.getByLabel("A body as the source sends it").fill('{"nome": "Ana Luz", "telefone": "(21) 97777-6666", "outro": "x"}');
    await own.press(/Try it/);
    await own.shows("guessed");
    await own.page.getByRole("button", { name: "Save the connection" }).click();
    await own.shows("For the file of the workspace");
    await own.shows("[[connections]]");
  });
  await window.task("upload a component", async (own) => {
    await own.click("Plugins");
    await own.page.getByLabel("The file of the component").setInputFiles(world.component);
    await own.press("Upload");
    await own.shows(/serves nothing yet/);
  });
  await window.task("see the versions of a plugin", async (own) => {
    await own.click("Plugins");
    await own.click("grupo-olx");
    await own.shows("golden cases");
  });
  await window.task("see what the calls of a version needed", async (own) => {
    await own.click("Plugins");
    await own.click("mapping");
    await own.click("Last hour");
    await own.page.getByRole("img", { name: /^Calls by outcome/ }).first().waitFor();
    await own.shows("Numbers of Processor time");
    await own.shows("within a request");
  });
  await window.task("read the golden cases of a version", async (own) => {
    await own.click("Plugins");
    await own.click("grupo-olx");
    await own.click(/golden cases/);
    // What the case has to give is a click further.
    await own.shows("A version is activated only if it answers its golden cases");
    await own.page.locator("td a").first().click();
    await own.shows("Expected answer");
  });
  await convertWrongly(suffix);
  await window.task("see what a version did to its leads, and repair them", async (own) => {
    await own.click("Plugins");
    await own.click("mapping");
    own.clicks += 1;
    const card = own.page.getByRole("region", { name: /^Version/ }).filter({ hasText: "previous" });
    await card.getByRole("button", { name: "Impact on the leads that it converted" }).click();
    await own.page.getByRole("button", { name: "Repair", exact: true }).click();
    await own.shows("The repair has begun");
    await ends(own, "done");
    await own.shows("contact.name");
  });
  await window.task("undo a repair by its receipt", async (own) => {
    await own.click("Repairs");
    own.clicks += 1;
    await own.page.locator("td a.mono").first().click();
    await own.press("Undo");
    await own.shows("The changes of this receipt are taken back");
    await own.page.getByRole("button", { name: "Take the changes back" }).click();
    await ends(own, "undone");
    await own.shows("changes");
  });
  await window.task("see the state of an instance", async (own) => {
    await own.click("Instances");
    await own.shows("assistant");
  });
  await window.task("see the age of the secrets of a connection", async (own) => {
    await own.click("Connections");
    await own.page.getByRole("region", { name: "site-form" }).getByText(/^set/).first().waitFor();
  });
  await window.task("see the templates of an instance", async (own) => {
    await own.click("Instances");
    await own.click(/assistant$/);
    await own.page.getByRole("columnheader", { name: "Language" }).waitFor();
  });
  await window.task("play the contact of a sandbox", async (own) => {
    await own.click("Messages");
    await own.page.getByLabel("Phone, or the id of a message").fill("(21) 98888-7777");
    await own.page.getByLabel("Text", { exact: true }).fill("Pode ser no sábado?");
    await own.press("Write");
    await own.shows("The contact has written");
    await own.shows("Pode ser no sábado?");
  });
  await window.task("read a conversation and answer as its contact", async (own) => {
    await own.click("Messages");
    await own.click(/^Conversation of/);
    await own.page.getByLabel("Answer as the contact of the sandbox").fill(`Até sábado, ${suffix}!`);
    await own.press("Write");
    await own.shows(`Até sábado, ${suffix}!`);
    await own.shows("Conversation with");
  });
  await countAnalytics();
  await window.task("see a measure by agent and week", async (own) => {
    await own.click("Analytics");
    await own.page.selectOption("#measure", "conversations_started");
    await own.page.selectOption("#by", "agent_id");
    await own.page.selectOption("#interval", "week");
    await own.page.fill("#tz", "Europe/Lisbon");
    await own.press("Show");
    await own.page.getByRole("img", { name: /^Conversations started/ }).waitFor();
    await own.shows("Numbers of Conversations started");
    await own.shows("Counted until");
    assert.match(own.page.url(), /measure=conversations_started&by=agent_id&interval=week&tz=Europe%2FLisbon/);
  });
  await window.task("see the history of a deal", async (own) => {
    await own.open("converted");
    own.clicks += 1;
    await own.page.locator("a[href^='/console/deals?id=']").first().click();
    await own.shows("History");
  });
  await window.task("make a key for a viewer", async (own) => {
    await own.click("Keys");
    await own.page.selectOption("#kind", "admin");
    await own.page.getByLabel("Label").fill(`night shift ${suffix}`);
    await own.press("Create");
    await own.shows("The key is shown only now.");
  });
  await window.task("revoke a key", async (own) => {
    await own.click("Keys");
    await own.press(`Revoke night shift ${suffix}`);
    await own.shows("The key is revoked.");
  });
  await window.task("count what an erasure removes", async (own) => {
    await own.click("Contacts");
    await own.page.getByLabel("Phone").fill("(21) 98888-7777");
    await own.press("Count what would be erased");
    await own.shows("This would be erased");
  });
  await window.task("see who did what", async (own) => {
    await own.click("Audit");
    await own.page.getByLabel("What").fill("pause-connection");
    await own.press("Show");
    await own.shows(`pause-connection ${world.keys.connections["site-form"]}`);
  });
  await window.task("see the hosts", async (own) => {
    await own.click("Service");
    await own.shows("live");
  });
}

/** Checks every page with axe, in both schemes and at the width of a phone. */
async function accessible(browser) {
  const sections = ["", "deliveries", "analytics", "analytics?measure=tickets&by=source&interval=month", "plugins", "plugins/grupo-olx", "plugins/mapping", "repairs", "connections", "connections/new", "instances", "instances/assistant", "messages", "deals", "contacts", "keys", "audit", "service"];
  for (const [name, options] of [["light", {}], ["dark", { colorScheme: "dark" }], ["phone", { viewport: { width: 390, height: 800 } }]]) {
    // axe is a script that the page's own policy would not let in.
    const window = await Window.open(browser, true, { bypassCSP: true, ...options });
    await window.page.goto(`${console_}/sign-in`);
    await check(window, `sign-in (${name})`);
    await window.signIn();
    // Pages of one thing, which their lists name.
    const found = async (list, link) => {
      await window.page.goto(`${console_}/${list}`);
      const href = await window.page.locator(link).first().getAttribute("href");
      return href.slice("/console/".length);
    };
    const things = [
      await found("repairs", "td a.mono"),
      await found("plugins/mapping", "a[href*='/golden/']"),
      await found("deliveries", "td a.mono"),
    ];
    for (const section of [...sections, ...things]) {
      await window.page.goto(`${console_}/${section}`);
      await check(window, `/${section} (${name})`);
      if (name === "phone") {
        const wide = await window.page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth);
        assert(wide <= 0, `/${section} is ${wide} pixels too wide for a phone`);
      }
      const called = section.replace(/\/[0-9a-f-]{30,}$/, "/one").replaceAll(/[^a-z-]+/g, "-");
      await window.screen(`page-${called || "today"}-${name}`);
    }
    await window.close();
    console.log(`  ${sections.length + things.length + 1} pages, ${name}: axe finds nothing`);
  }
}

async function check(window, where) {
  await window.page.evaluate(axe);
  const { violations } = await window.page.evaluate(() => globalThis.axe.run());
  const found = violations.map((one) => `${one.id}: ${one.help}: ${one.nodes.map((node) => node.html.slice(0, 150)).join(" | ")}`);
  assert.deepEqual(found, [], where);
}

/** A page that is shown changes by itself when something happens. */
async function live(browser) {
  const window = await Window.open(browser, true);
  await window.signIn();
  await window.page.goto(`${console_}/deliveries`);
  const first = await window.page.locator("tbody a").first().getAttribute("href");
  assert.equal(await lead(`live-${Date.now()}`), 200);
  await window.page.waitForFunction((old) => document.querySelector("tbody a").getAttribute("href") !== old, first, { timeout: 30_000 });
  await window.close();
  console.log("  a shown list follows new deliveries");
}

const browser = await chromium.launch({
  executablePath: world.chromium,
  // The pages are our own, and there is no network but this machine.
  args: ["--no-sandbox", "--disable-dev-shm-usage", "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1"],
});
try {
  for (const withScript of [true, false]) {
    const window = await Window.open(browser, withScript);
    await window.signIn();
    await tasks(window);
    await window.close();
    console.log(`  all tasks ${withScript ? "with" : "without"} script`);
  }
  await live(browser);
  await accessible(browser);
} finally {
  await browser.close();
}
