// Persons, keys, the audit and the service itself.
import { strict as assert } from "node:assert";

import { get, lead, newest, person, post, world } from "../service.mjs";

/** Asks the admin API with a key. Returns the status. */
async function asks(key) {
  const answer = await fetch(`http://${world.admin}/admin/v1/status`, { headers: { authorization: `Bearer ${key}` } });
  return answer.status;
}

const label = ({ withScript }) => `night shift ${withScript ? "script" : "plain"}`;

// The key that the tasks of one run share.
let key;

export const tasks = [
  {
    name: "count what an erasure removes, then erase",
    given: async ({ withScript }) => {
      const who = person(50, withScript);
      await lead({ ticket: `erased-${withScript}`, first: who.first, last: who.last, whatsapp: who.phone });
      return { who, delivery: (await newest(world.keys.connections["site-form"])).id };
    },
    steps: async (own, { who, delivery }) => {
      const search = `/deliveries?q=${encodeURIComponent(who.phone)}`;
      await own.click("Contacts");
      await own.page.fill("#phone", who.phone);
      await own.press("Count what would be erased");
      const counted = own.page.getByRole("alert");
      await own.shows("This would be erased", counted);
      const counts = await counted.locator("dl").innerText();
      assert.match(counts, /Deals\s+1\b/);
      assert.equal((await get(search)).deliveries.length, 1, "nothing is erased yet");
      await own.press("Erase permanently", counted);
      const receipt = own.page.getByRole("status", { name: "Receipt" });
      await own.shows("The person is erased", receipt);
      assert.match(await receipt.locator("dl").innerText(), /Deals\s+1\b/);
      assert.equal((await get(search)).deliveries.length, 0);
      await assert.rejects(get(`/deliveries/${delivery}`), /: 404 /, "its only delivery is gone");
      const { erasures } = await get("/erasures");
      assert(erasures[0].doneAt, "it is in the record");
    },
  },
  {
    name: "see who erased a person, what was erased and what was not reached",
    steps: async (own) => {
      const { erasures } = await get("/erasures");
      await own.click("Contacts");
      await own.click(`Receipt of ${erasures[0].contactId}`);
      await own.shows(erasures[0].key);
      await own.shows("Not reached");
      await own.shows("backups of the store");
      const said = await own.page.locator("main").innerText();
      assert.match(said, /Found by\s+phone/);
      assert(!said.includes(person(50, own.withScript).e164), "it names no phone");
    },
  },
  {
    name: "make a key",
    steps: async (own) => {
      await own.click("Keys");
      await own.page.selectOption("#kind", "admin");
      await own.page.getByLabel("Label").fill(label(own));
      await own.press("Create");
      await own.shows("The key is shown only now.");
      key = (await own.page.locator("#new-key").textContent()).trim();
      assert.equal(await asks(key), 200);
    },
  },
  {
    name: "declare a partner",
    steps: async (own) => {
      const name = `imobcrm-${own.withScript ? "a" : "b"}`;
      await own.click("Keys");
      await own.page.selectOption("#partner-workspace", "demo");
      await own.page.getByLabel("Name of the partner").fill(name);
      await own.press("Declare the partner");
      await own.shows(`The partner ${name} is declared in demo.`);
      await own.shows("[[partners]]");
      // It is there: nothing is left to declare.
      const { changes } = await post("/apply?part=true&dryRun=true", { workspace: { slug: "demo", name: "Demo" }, partners: [{ name }] });
      assert(!changes.some((change) => change.kind === "partner"), JSON.stringify(changes));
    },
  },
  {
    name: "revoke a key",
    steps: async (own) => {
      await own.click("Keys");
      await own.press(`Revoke ${label(own)}`);
      await own.shows("The key is revoked.");
      assert.equal(await asks(key), 401);
    },
  },
  {
    name: "see who did what",
    steps: async (own) => {
      await own.click("Audit");
      await own.page.getByLabel("What").fill("pause-connection");
      await own.press("Show");
      await own.shows(`paused the connection ${world.keys.connections["site-form"]}`);
    },
  },
  {
    name: "see the hosts, the backlog and how far analytics are counted",
    steps: async (own) => {
      await own.click("Service");
      // A store in a file has this host alone.
      const { backlog, host, hosts } = await get("/status");
      await own.shows(host.name, own.page.getByRole("main"));
      assert.equal(await own.page.getByText("live", { exact: true }).count(), hosts.length);
      await own.shows("Backlog");
      await own.page.getByRole("columnheader", { name: "Counted until" }).waitFor();
      await own.shows(`${backlog.quarantined} in quarantine`);
    },
  },
  {
    name: "see the configuration in force and the free disk space",
    steps: async (own) => {
      await own.click("Service");
      await own.shows("Free disk space");
      await own.shows("Configuration in force");
      await own.page.getByRole("cell", { name: "store.data_dir" }).waitFor();
    },
  },
];
