// Versions of plugins: read, uploaded, compared, activated and rolled back.
import { strict as assert } from "node:assert";

import { active, apply, get, person, post, send, variant, world } from "../service.mjs";

/** The plugin of a made-up portal. The suite has a right and a wrong version. */
export const PORTAL = "portal";

/** Sends leads of the portal. */
export async function leads(count, withScript, from = 0) {
  const { connections } = await apply({ connections: [{ name: "vista-portal", partner: "crm", plugin: PORTAL }] });
  for (let number = from; number < from + count; number += 1) {
    const { first, last, phone } = person(100 + number, withScript);
    const lead = { id: `p-${number}-${withScript}`, nome: `${first} ${last}`, telefone: phone, email: `${first}.${number}@example.com`.toLowerCase(), imovel: "AP-0042" };
    assert.equal((await send(connections["vista-portal"], lead)).status, 200);
  }
}

/** Stores a version of the portal's converter: the right one, or the wrong one that loses phones. */
export function store(which, word) {
  return post("/plugins", variant(world.components[which], word));
}

/** Has a version of the portal's converter serve, and another one before it. */
export async function serving(word) {
  for (const before of [`${word}-0`, word]) {
    const { digest } = await store("right", before);
    await post(`/plugins/${PORTAL}/activate`, { digest, accept: ["all"] });
  }
}

/** The card of a version. */
export function versionCard(own, digest) {
  return own.page.getByRole("region", { name: /^Version/ }).filter({ hasText: digest });
}

const word = ({ withScript }) => (withScript ? "a" : "b");

export const tasks = [
  {
    name: "see the versions of a plugin, and who did what with it",
    given: async (own) => {
      await serving(word(own));
      await leads(12, own.withScript);
    },
    steps: async (own) => {
      await own.click(PORTAL);
      await versionCard(own, await active(PORTAL)).locator(".tag.active").waitFor();
      await own.page.locator(".acts li", { hasText: `activated the plugin ${PORTAL}` }).first().waitFor();
    },
  },
  {
    name: "see the outcomes, times and memory of the calls of each version, beside the limits",
    steps: async (own) => {
      await own.click(PORTAL);
      await own.click("Last hour");
      await own.page.getByRole("img", { name: /^Calls by outcome/ }).first().waitFor();
      await own.shows("Numbers of Processor time");
      await own.shows("Numbers of Most memory");
      await own.shows("within a request");
    },
  },
  {
    name: "read the golden cases that a version carries",
    steps: async (own) => {
      await own.click("grupo-olx");
      await own.click(/golden cases/);
      await own.shows("A version is activated only if it answers its golden cases");
      // What one of them has to give is a click further.
      await own.page.locator("td a").first().click();
      await own.shows("Expected answer");
    },
  },
  {
    name: "upload a component, which is not active yet",
    steps: async (own) => {
      const before = await active("mapping");
      await own.click("Plugins");
      await own.page.getByLabel("The file of the component").setInputFiles({
        name: "mapping.wasm", mimeType: "application/wasm", buffer: variant(world.components.mapping, `upload-${word(own)}`),
      });
      await own.press("Upload");
      await own.shows(/is stored and not active/);
      assert.equal(await active("mapping"), before);
      const { plugins } = await get("/plugins");
      const { versions } = plugins.find(({ name }) => name === "mapping");
      assert(versions.some(({ state }) => state === "stored"), JSON.stringify(versions));
    },
  },
  {
    name: "compare a stored version with the active one",
    given: (own) => store("wrong", word(own)),
    steps: async (own, { digest }) => {
      await own.click(PORTAL);
      await own.press("Compare with the active version", versionCard(own, digest));
      const comparison = own.card("Comparison");
      await own.shows(/lose a phone/, comparison);
      // By field, with examples: a phone before and none after, and the delivery where.
      await comparison.getByRole("heading", { name: /^phone lost: \d+/ }).waitFor();
      const example = comparison.locator("h3:has-text('phone lost') + .scroll tbody tr").first();
      assert.match(await example.locator("td").nth(0).textContent(), /\d/);
      assert.equal((await example.locator("td").nth(1).textContent()).trim(), "-");
      await example.locator("a[href^='/console/deliveries/']").waitFor();
    },
  },
  {
    name: "activate a version, and accept what it needs",
    given: (own) => store("wrong", `${word(own)}-1`),
    steps: async (own, { digest }) => {
      const before = await active(PORTAL);
      await own.click(PORTAL);
      await own.press("Activate", versionCard(own, digest));
      const needed = own.page.getByRole("alert");
      await own.shows(/lose a phone/, needed);
      assert.equal(await active(PORTAL), before, "nothing is activated yet");
      await own.press(/^I accept this/, needed);
      await own.shows(/is active\./);
      assert.equal(await active(PORTAL), digest);
    },
  },
  {
    name: "roll back",
    steps: async (own) => {
      const before = await active(PORTAL);
      await own.click(PORTAL);
      await own.press("Roll back to this version");
      await own.shows(/is rolled back to/);
      assert.notEqual(await active(PORTAL), before);
      const { plugins } = await get("/plugins");
      const { versions } = plugins.find(({ name }) => name === PORTAL);
      assert(versions.some(({ digest, state }) => digest === before && state === "previous"));
    },
  },
];
