// A browser window that counts clicks, and watches what its pages ask for and complain of.
import { strict as assert } from "node:assert";
import { join } from "node:path";

import { consoleAddress, world } from "./service.mjs";

/** The longest wait for what a page is to show. */
const PATIENCE = 60_000;

/** The name of a task as the name of a file. */
export function slug(name) {
  return name.toLowerCase().replaceAll(/[^a-z]+/g, "-");
}

export class Window {
  static async open(browser, withScript, options = {}) {
    const context = await browser.newContext({
      javaScriptEnabled: withScript,
      viewport: { width: 1200, height: 900 },
      permissions: ["clipboard-read", "clipboard-write"],
      ...options,
    });
    context.setDefaultTimeout(PATIENCE);
    const page = await context.newPage();
    const own = new Window(page, withScript);
    page.on("request", (request) => own.requests.push(request.url()));
    page.on("console", (message) => message.type() === "error" && own.errors.push(message.text()));
    page.on("pageerror", (error) => own.errors.push(String(error)));
    // A second thought is a click too.
    page.on("dialog", (dialog) => {
      own.clicks += 1;
      return dialog.accept();
    });
    return own;
  }

  constructor(page, withScript) {
    Object.assign(this, { page, withScript, clicks: 0, requests: [], errors: [] });
  }

  async signIn() {
    await this.page.goto(consoleAddress);
    await this.page.fill("#key", world.keys.adminKey);
    await this.page.click("text=Sign in");
    await this.shows("Today");
  }

  async goTo(path) {
    await this.page.goto(`${consoleAddress}${path}`);
  }

  /** Clicks an element that is no plain link or button. */
  async clickOn(locator) {
    this.clicks += 1;
    await locator.first().click();
  }

  async click(name, role = "link", within = this.page) {
    await this.clickOn(within.getByRole(role, { name, exact: typeof name === "string" }));
  }

  async press(name, within = this.page) {
    await this.click(name, "button", within);
  }

  /** The link to a delivery: its id in a wide table, its time on a card. */
  delivery(id) {
    return this.page.locator(`a[href='/console/deliveries/${id}']:visible`).first();
  }

  /** Opens the newest delivery of the list with this status, and of this connection if one is named. */
  async open(status, connection) {
    let rows = this.page.locator("tr", { has: this.page.locator(`.tag.${status}`) });
    if (connection) rows = rows.filter({ hasText: connection });
    await this.clickOn(rows.locator("a[href^='/console/deliveries/']:visible"));
  }

  /** The part of a page with this name, such as the card of a connection. */
  card(name) {
    return this.page.getByRole("region", { name, exact: typeof name === "string" }).first();
  }

  async shows(text, within = this.page) {
    await within.getByText(text).first().waitFor({ timeout: PATIENCE });
  }

  /** Loads the page again until it shows something: without script, no page does so by itself. */
  async comesToShow(locator) {
    const until = Date.now() + PATIENCE;
    while (!(await locator.count())) {
      assert(Date.now() < until, `${this.page.url()} does not show ${locator}`);
      await this.page.waitForTimeout(200);
      await this.page.goto(this.page.url());
    }
  }

  async screen(name) {
    if (this.withScript) await this.page.screenshot({ path: join(world.screens, `${name}.png`), fullPage: true });
  }

  /** Does a task from the first page. Returns its clicks. */
  async does({ name, given, steps }) {
    const before = given ? await given(this) : undefined;
    await this.goTo("");
    this.clicks = 0;
    await steps(this, before);
    const { clicks } = this;
    await this.screen(slug(name));
    return clicks;
  }

  async close() {
    const outside = this.requests.filter((url) => !url.startsWith(`http://${world.admin}/`) && !url.startsWith("data:"));
    assert.deepEqual(outside, [], "requests to elsewhere");
    assert.deepEqual(this.errors, [], "errors in the browser's log");
    await this.page.context().close();
  }
}
