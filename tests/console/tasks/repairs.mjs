// The repair of what a wrong version did to leads, and its receipt.
import { strict as assert } from "node:assert";

import { active, apply, contactOf, person, post, send, variant, world } from "../service.mjs";
import { versionCard } from "./plugins.mjs";

const word = ({ withScript }) => (withScript ? "e" : "f");

/** Has a lead converted wrongly by a version before the active one. Returns that version and the lead. */
async function wronged({ withScript }) {
  const activate = (name) => post("/plugins?activate=true&accept=all", variant(world.components.mapping, name));
  const reads = (name) => apply({ connections: [{ name: "showroom", partner: "crm", plugin: "mapping", config: { fields: { name } } }] });
  const former = await activate(`${word({ withScript })}-before`);
  const { connections } = await reads("visita");
  const who = person(30, withScript);
  const name = `${who.first} ${who.last}`;
  const { delivery } = await send(connections.showroom, { id: `show-${withScript}`, nome: name, visita: "sábado", telefone: who.phone });
  assert.equal((await contactOf(delivery)).name, "sábado");
  await reads("nome");
  await activate(`${word({ withScript })}-after`);
  assert.notEqual(await active("mapping"), former.digest);
  return { former: former.digest, delivery, name };
}

/** Waits until the page shows that its repair has ended: with script, the page does so by itself. */
async function ends(own, state) {
  const tag = own.page.locator(`dd .tag.${state}`);
  await (own.withScript ? tag.waitFor() : own.comesToShow(tag));
}

// The lead that the tasks of one run share.
let last;

export const tasks = [
  {
    name: "see what a version did to the leads that it converted, then repair them",
    given: async (own) => {
      last = await wronged(own);
    },
    steps: async (own) => {
      await own.click("mapping");
      await own.press("Impact on the leads that it converted", versionCard(own, last.former));
      await own.shows("1 of 1 chosen delivery", own.card("Impact"));
      await own.press("Repair", own.card("Impact"));
      await own.shows("The repair has begun");
      await own.page.waitForURL(/\/repairs\/[0-9a-f-]+$/);
      await ends(own, "done");
      assert.equal((await contactOf(last.delivery)).name, last.name);
    },
  },
  {
    name: "see a repair, how far it is and what it changed",
    steps: async (own) => {
      await own.click("Repairs");
      await own.clickOn(own.page.locator("td a.mono"));
      await own.shows("1 converted again of 1");
      const change = own.page.getByRole("row").filter({ hasText: "contact.name" });
      await own.shows(last.name, change);
      await own.shows("sábado", change);
    },
  },
  {
    name: "undo a repair by its receipt",
    steps: async (own) => {
      await own.click("Repairs");
      await own.press(/^Undo/);
      await own.shows("The changes of this receipt are undone");
      await own.press("Undo the changes");
      await own.page.waitForURL(/\/repairs\/[0-9a-f-]+$/);
      await ends(own, "undone");
      assert.equal((await contactOf(last.delivery)).name, "sábado");
    },
  },
];
