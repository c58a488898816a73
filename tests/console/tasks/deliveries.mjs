// Deliveries: found, read, converted again, released, and taken along.
import { strict as assert } from "node:assert";
import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";

import { FAIR_FEED, apply, contactOf, deal, dealOf, get, lead, newest, person, send, world } from "../service.mjs";
import { fail } from "./today.mjs";

/** Sends a lead with the form of the site. Returns its person and the id of its delivery. */
async function sent(number, { withScript }, fields = {}) {
  const who = person(number, withScript);
  const { status, delivery } = await lead({ ticket: `lead-${number}-${withScript}`, first: who.first, last: who.last, whatsapp: who.phone, ...fields });
  assert.equal(status, 200);
  return { who, delivery };
}

/** The connection of a source whose field with the name has changed, and was mapped late. */
async function mapped(name) {
  const report = await apply({
    connections: [{ name: "expo", partner: "crm", plugin: "mapping", config: { fields: { externalId: "id", name, phones: "telefone" } } }],
  });
  return report.connections.expo;
}

const CHECK = { secret: "token", scheme: "equals", proof: { place: "header", name: "X-Fair-Token" } };

/** The connection of a source that has a new token. */
async function guarded(token) {
  const report = await apply({
    connections: [{ name: "fair", partner: "crm", plugin: "mapping", checks: [CHECK], secrets: { token } }],
  });
  return report.connections.fair;
}

export const tasks = [
  {
    name: "find the deliveries of a person",
    given: (own) => sent(1, own),
    steps: async (own, { who, delivery }) => {
      await own.page.fill("#q", who.phone);
      await own.press("Find");
      await own.delivery(delivery).waitFor();
      assert.equal(await own.page.locator(".list tbody tr").count(), 1, "no other's");
    },
  },
  {
    name: "find a delivery by its id",
    given: (own) => sent(1, own, { text: "De novo." }),
    steps: async (own, { delivery }) => {
      await own.page.fill("#q", delivery);
      await own.press("Find");
      await own.page.waitForURL(`**/deliveries/${delivery}`);
      await own.shows(/De.novo/);
    },
  },
  {
    name: "open a delivery and see what was sent, its items, notes and log",
    steps: async (own) => {
      await own.click("Deliveries");
      await own.page.selectOption("#status", "converted");
      await own.page.selectOption("#connection", "demo/site-form");
      await own.press("Show");
      await own.open("converted");
      await own.shows("text = Quero visitar.");
      await own.page.getByRole("columnheader", { name: "External id" }).waitFor();
      await own.page.locator("td a[href^='/console/deals/']").first().waitFor();
    },
  },
  {
    name: "see what a replay would change, then apply it",
    given: async ({ withScript }) => {
      const who = person(2, withScript);
      const id = await mapped("contato");
      const { delivery } = await send(id, { id: `expo-${withScript}`, contato: "Feira", nome: `${who.first} ${who.last}`, telefone: who.phone });
      assert.equal((await contactOf(delivery)).name, "Feira");
      await mapped("nome");
      return { who, delivery };
    },
    steps: async (own, { who, delivery }) => {
      const name = `${who.first} ${who.last}`;
      await own.clickOn(own.delivery(delivery));
      await own.press(/^Convert again/);
      const changes = own.card("What a replay would change");
      await own.shows(name, changes);
      assert.equal((await contactOf(delivery)).name, "Feira", "nothing is written yet");
      await own.press("Apply these changes");
      await own.shows("The delivery was converted again");
      assert.equal((await contactOf(delivery)).name, name);
    },
  },
  {
    name: "convert a failed delivery again",
    given: async ({ withScript }) => {
      const delivery = await fail(`again-${withScript}`);
      await apply({ connections: [{ name: FAIR_FEED, partner: "crm", plugin: FAIR_FEED, config: { do: "mended" } }] });
      return delivery;
    },
    steps: async (own, delivery) => {
      await own.click(/failed and will be retried/);
      await own.clickOn(own.delivery(delivery));
      await own.press("Convert it now");
      await own.shows("The delivery was converted again: converted.");
      assert.equal((await get(`/deliveries/${delivery}`)).status, "converted");
    },
  },
  {
    name: "release a delivery from quarantine",
    given: async ({ withScript }) => {
      const who = person(3, withScript);
      const id = await guarded("old");
      const body = { id: `fair-${withScript}`, nome: `${who.first} ${who.last}`, telefone: who.phone };
      assert.equal((await send(id, body, { "X-Fair-Token": "new" })).status, 401);
      await guarded("new");
      return (await newest(id)).id;
    },
    steps: async (own, delivery) => {
      await own.click(/in quarantine/);
      await own.clickOn(own.delivery(delivery));
      await own.press(/^Release it/);
      await own.shows("The delivery was released: converted.");
      assert.equal((await get(`/deliveries/${delivery}`)).status, "converted");
    },
  },
  {
    name: "release all deliveries in quarantine",
    given: async ({ withScript }) => {
      const who = person(7, withScript);
      const id = await guarded("before");
      for (const part of ["a", "b"]) {
        const body = { id: `fair-${part}-${withScript}`, nome: `${who.first} ${who.last}`, telefone: who.phone };
        assert.equal((await send(id, body, { "X-Fair-Token": "after" })).status, 401);
      }
      await guarded("after");
      return id;
    },
    steps: async (own, id) => {
      await own.click(/in quarantine/);
      await own.press("Release these");
      await own.shows(/of demo\/fair/);
      await own.press(/^Release these \d+/);
      await own.shows(/^(All )?\d+ (of \d+ )?released/);
      const { deliveries } = await get(`/deliveries?connection=${id}&limit=2`);
      assert.deepEqual(deliveries.map((one) => one.status), ["converted", "converted"]);
    },
  },
  {
    name: "download a delivery as a golden case, with masked persons",
    given: (own) => sent(4, own),
    steps: async (own, { who, delivery }) => {
      await own.click("Deliveries");
      await own.clickOn(own.delivery(delivery));
      const download = own.page.waitForEvent("download");
      await own.press("Download as a golden case");
      const file = await download;
      assert.equal(file.suggestedFilename(), `delivery-${delivery}.tar`);
      const text = readFileSync(await file.path(), "utf8");
      assert(text.includes("case.json") && !text.includes(who.phone.slice(-9)), "persons are masked");
    },
  },
  {
    name: "copy a delivery as a `curl` command",
    given: (own) => sent(5, own, { text: "D'água & \"vista\": 50% @mar?\n2 quartos" }),
    steps: async (own, { delivery }) => {
      await own.click("Deliveries");
      await own.clickOn(own.delivery(delivery));
      const shown = await own.page.locator("#command").textContent();
      let command = shown;
      if (own.withScript) {
        await own.press("Copy as a curl command");
        await own.page.getByRole("button", { name: "Copied" }).waitFor();
        command = await own.page.evaluate(() => navigator.clipboard.readText());
        assert.equal(command, shown);
      }
      // It sends the same again: only the secret has to be put in its place.
      assert(!command.includes(world.token), "the secret is masked");
      const filled = command.replace(/(X-Form-Token: )\*+/i, `$1${world.token}`);
      assert.notEqual(filled, command, "the secret has a place");
      const status = execFileSync("bash", ["-c", `${filled} -s -o /dev/null -w '%{http_code}'`], {
        env: { ...process.env, URL: `http://${world.gateway}` },
      });
      assert.equal(String(status), "200");
      const [first, again] = await Promise.all([delivery, (await newest(world.keys.connections["site-form"])).id].map((id) => get(`/deliveries/${id}`)));
      assert.notEqual(first.id, again.id);
      const what = ({ request }) => [request.method, request.path, request.query, request.body, Object.fromEntries(request.headers)["content-type"]];
      assert.deepEqual(what(again), what(first));
    },
  },
  {
    name: "see the deal that a delivery made, and its history",
    given: async (own) => {
      const { delivery } = await sent(6, own);
      await deal(await dealOf(delivery), { status: "won", ownerEmail: "nilda@example.com" });
      return delivery;
    },
    steps: async (own, delivery) => {
      await own.click("Deliveries");
      await own.clickOn(own.delivery(delivery));
      await own.clickOn(own.page.locator("a[href^='/console/deals/']"));
      await own.shows("History");
      const change = own.card("Change 1");
      await own.shows(/by partner crm/, change);
      await own.shows("won", change);
    },
  },
];
