// The tasks of an operator's day, each done in a real browser as the table of docs/console.md describes: first
// with script, then the whole again without, on a phone and in the dark. Fails if tasks do not work or take
// more clicks than the table says, at a task that only the table or only the suite has, at any finding of axe,
// at any error in the browser's log, and at any request that leaves the service. The screens are kept in the
// folder of the run.
//
//     node suite.mjs WORLD [FOLDER]    a JSON file with the addresses and keys of the running service; a
//                                      folder that gets the screens of the guide
import { strict as assert } from "node:assert";
import { mkdirSync } from "node:fs";
import { join } from "node:path";

import { chromium } from "playwright-core";

import { writeGuide } from "./guide.mjs";
import { accessible, live, manyLive } from "./pages.mjs";
import { world } from "./service.mjs";
import { compare, documented } from "./table.mjs";
import { tasks as ofAdministration } from "./tasks/administration.mjs";
import { tasks as ofConnections } from "./tasks/connections.mjs";
import { tasks as ofDeliveries } from "./tasks/deliveries.mjs";
import { tasks as ofMessages } from "./tasks/messages.mjs";
import { tasks as ofPeople } from "./tasks/people.mjs";
import { tasks as ofPlugins } from "./tasks/plugins.mjs";
import { tasks as ofRepairs } from "./tasks/repairs.mjs";
import { tasks as ofRollouts } from "./tasks/rollouts.mjs";
import { tasks as ofToday } from "./tasks/today.mjs";
import { Window, slug } from "./window.mjs";

const tasks = [ofToday, ofDeliveries, ofConnections, ofPlugins, ofRollouts, ofRepairs, ofMessages, ofPeople, ofAdministration].flat();

/** Does a task, and compares its clicks with the table. Returns why it does not work. */
async function attempt(window, task) {
  try {
    const clicks = await window.does(task);
    const most = table.get(task.name);
    // Without script, nothing asks for a second thought.
    assert(window.withScript ? clicks === most : clicks <= most, `${clicks} clicks; docs/console.md says ${most}`);
    console.log(`  ${task.name}: ${clicks} clicks`);
    return null;
  } catch (error) {
    console.log(`  ${task.name}: FAILED: ${error.message}`);
    // A page that hangs has no screen to keep.
    await window.page.screenshot({ path: join(world.screens, `failed-${slug(task.name)}.png`), fullPage: true }).catch(() => {});
    return error;
  }
}

const failed = [];
const table = documented();
compare(table, tasks);
mkdirSync(world.screens, { recursive: true });
const browser = await chromium.launch({
  executablePath: world.chromium,
  // The pages are our own, and there is no network but this machine.
  args: ["--no-sandbox", "--disable-dev-shm-usage", "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1"],
});
try {
  for (const withScript of [true, false]) {
    const window = await Window.open(browser, withScript, withScript ? {} : { viewport: { width: 390, height: 800 }, colorScheme: "dark" });
    await window.signIn();
    for (const task of tasks) {
      const failure = await attempt(window, task);
      if (failure) failed.push(`${task.name}, ${withScript ? "with" : "without"} script: ${failure.stack}`);
    }
    await window.close();
    assert.deepEqual(failed, [], "tasks do not work");
    console.log(`  all ${tasks.length} tasks ${withScript ? "with" : "without"} script`);
  }
  await live(browser);
  await manyLive(browser);
  await accessible(browser);
  if (process.argv[3]) await writeGuide(browser, process.argv[3]);
} finally {
  await browser.close();
}
