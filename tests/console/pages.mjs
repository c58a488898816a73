// What holds for every page: axe finds nothing, a phone can show it, and a page that is open is kept up
// to date.
import { strict as assert } from "node:assert";
import { readFileSync } from "node:fs";

import { consoleAddress, lead, person } from "./service.mjs";
import { Window } from "./window.mjs";

const axe = readFileSync(new URL("node_modules/axe-core/axe.min.js", import.meta.url), "utf8");

const SECTIONS = [
  "", "deliveries", "analytics", "analytics?measure=tickets&by=source&interval=month", "plugins", "plugins/grupo-olx",
  "plugins/mapping", "plugins/portal", "repairs", "connections", "connections/new", "instances", "instances/assistant",
  "messages", "deals", "tickets", "contacts", "keys", "audit", "service",
];

/** The ways in which pages are looked at. */
const LOOKS = { light: {}, dark: { colorScheme: "dark" }, phone: { viewport: { width: 390, height: 800 } } };

/** Checks every page with axe, in both schemes and at the width of a phone. */
export async function accessible(browser) {
  for (const [look, options] of Object.entries(LOOKS)) {
    // axe is a script that the page's own policy would not let in.
    const window = await Window.open(browser, true, { bypassCSP: true, ...options });
    await window.page.goto(`${consoleAddress}/sign-in`);
    await check(window, `sign-in (${look})`);
    await window.signIn();
    // Pages of one thing, which their lists name.
    const found = async (list, link) => {
      await window.goTo(`/${list}`);
      const href = await window.page.locator(link).first().getAttribute("href");
      return href.slice("/console/".length);
    };
    const things = [
      await found("connections", "a[href$='/entry']"),
      await found("connections", "a[href$='/retire']"),
      await found("repairs", "td a.mono"),
      await found("plugins/mapping", "a[href*='/golden/']"),
      await found("deliveries?status=converted", "td a.mono"),
      await found("messages", "td a.mono"),
      await found("deals", "td a.mono"),
      await found("deals", "a[href*='/contacts/']"),
      await found("tickets", "td a.mono"),
      await found("contacts", "a[href*='/erasures/']"),
    ];
    for (const section of [...SECTIONS, ...things]) {
      await window.goTo(`/${section}`);
      await check(window, `/${section} (${look})`);
      if (look === "phone") {
        const wide = await window.page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth);
        assert(wide <= 0, `/${section} is ${wide} pixels too wide for a phone`);
      }
      const called = section.replace(/\/[0-9a-f-]{30,}$/, "/one").replaceAll(/[^a-z-]+/g, "-");
      await window.screen(`page-${called || "today"}-${look}`);
    }
    await window.close();
    console.log(`  ${SECTIONS.length + things.length + 1} pages, ${look}: axe finds nothing`);
  }
}

async function check(window, where) {
  await window.page.evaluate(axe);
  const { violations } = await window.page.evaluate(() => globalThis.axe.run());
  const found = violations.map((one) => `${one.id}: ${one.help}: ${one.nodes.map((node) => node.html.slice(0, 150)).join(" | ")}`);
  assert.deepEqual(found, [], where);
}

/** More pages than a browser opens connections to one host. */
const MANY = 8;

/** As many visible pages as an operator likes follow what happens, and further ones still open. */
export async function manyLive(browser) {
  const window = await Window.open(browser, true);
  await window.signIn();
  const pages = [];
  for (let number = 0; number < MANY; number += 1) {
    const page = await window.page.context().newPage();
    await page.goto(`${consoleAddress}/deliveries`);
    pages.push(page);
  }
  const newest = () => document.querySelector("tbody a").getAttribute("href");
  const before = await pages[0].evaluate(newest);
  const { phone } = person(92, true);
  assert.equal((await lead({ ticket: "many", first: "Vera", last: "Braga", whatsapp: phone })).status, 200);
  // The first page has the stream, and hands it over when it is closed.
  await window.page.close();
  const changed = (old) => document.querySelector("tbody a").getAttribute("href") !== old;
  await Promise.all(pages.map((page) => page.waitForFunction(changed, before, { timeout: 60_000 })));
  await window.close();
  console.log(`  ${MANY} visible pages follow new deliveries at once`);
}

/** A page that is shown changes by itself when something happens, and says so if it no longer can. */
export async function live(browser) {
  const window = await Window.open(browser, true);
  await window.signIn();
  await window.goTo("/deliveries");
  const first = await window.page.locator("tbody a").first().getAttribute("href");
  const { phone } = person(90, true);
  assert.equal((await lead({ ticket: "live", first: "Vera", last: "Braga", whatsapp: phone })).status, 200);
  await window.page.waitForFunction((old) => document.querySelector("tbody a").getAttribute("href") !== old, first, { timeout: 30_000 });
  await window.page.context().clearCookies();
  const another = person(91, true);
  assert.equal((await lead({ ticket: "unseen", first: "Vera", last: "Braga", whatsapp: another.phone })).status, 200);
  await window.shows(/^Not updated since \d\d:\d\d:\d\d UTC: you are signed out/);
  await window.page.getByRole("status").getByRole("link", { name: "Sign in" }).click();
  await window.shows("Sign in to continue.");
  await window.close();
  console.log("  a shown list follows new deliveries, and says when it no longer does");
}
