// The screens of the guide: some pages as an operator finds them, of the size of a small screen.
import { strict as assert } from "node:assert";
import { mkdirSync, statSync } from "node:fs";
import { join } from "node:path";

import { admin, connection, get, post, rollout, until } from "./service.mjs";
import { PORTAL, leads, store } from "./tasks/plugins.mjs";
import { Window } from "./window.mjs";

/** The most bytes of a screen, so that the guide stays light. */
const MOST_BYTES = 120 * 1024;

/** Has a guard end a canary, so that there is one to show. */
async function trip() {
  const last = await rollout(PORTAL);
  if (["shadow", "canary", "probation"].includes(last.stage)) {
    await admin("PATCH", `/plugins/${PORTAL}/rollout`, { change: "abort" });
  }
  const { digest } = await store("wrong", "guide");
  await post(`/plugins/${PORTAL}/rollout`, { digest, mode: "canary", steps: [50, 100], everySeconds: 3_600, accept: ["all"] });
  let from = 200;
  await until(
    "a guard trips",
    async () => {
      await leads(4, true, from);
      from += 4;
      return rollout(PORTAL);
    },
    ({ stage }) => stage === "rolled-back",
  );
}

/** The screens: their names, their pages, and what they begin with, if that is not the top of the page, or
 * the one part that they show. */
async function screens() {
  const { id } = await connection("vista-portal");
  const { deliveries } = await get(`/deliveries?connection=${id}&status=converted&limit=1`);
  return [
    { name: "today", path: "" },
    { name: "delivery", path: `/deliveries/${deliveries[0].id}` },
    { name: "versions", path: `/plugins/${PORTAL}`, from: "h2:has-text('Versions')" },
    { name: "rollout", path: `/plugins/${PORTAL}`, part: "section[aria-label='Rollout']" },
    { name: "connections", path: "/connections" },
    { name: "analytics", path: "/analytics?measure=conversations_started&by=agent_id&interval=day" },
  ];
}

/** Writes the screens into a folder. */
export async function writeGuide(browser, folder) {
  mkdirSync(folder, { recursive: true });
  await trip();
  await post("/etl/runs");
  await until("the activity is counted", () => get("/activity?period=day"), ({ countedAt }) => countedAt);
  const window = await Window.open(browser, true, { viewport: { width: 1200, height: 720 } });
  await window.signIn();
  for (const { name, path, from, part } of await screens()) {
    await window.goTo(path);
    if (from) await window.page.locator(from).first().evaluate((element) => scrollTo(0, element.getBoundingClientRect().top + scrollY - 16));
    const file = join(folder, `${name}.png`);
    await (part ? window.page.locator(part).first() : window.page).screenshot({ path: file });
    const { size } = statSync(file);
    assert(size <= MOST_BYTES, `${file} has ${size} bytes`);
    console.log(`  ${file}: ${Math.ceil(size / 1024)} KiB`);
  }
  await window.close();
}
