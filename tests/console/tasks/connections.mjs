// The connections of sources: paused and resumed, tried, made, and watched.
import { strict as assert } from "node:assert";

import { SITE, apply, connection, get, newest, person, post, send, until } from "../service.mjs";

/** Deliveries of the usual form before deliveries of another form: past what the service needs to know it. */
const USUAL = 235;

/** The most deliveries of another form until it is noticed. */
const MOST_OTHERS = 120;

/** Has a source send another form than it did. */
async function changes(name) {
  const fields = { externalId: "id", name: "nome", phones: "telefone", emails: "email" };
  const { connections } = await apply({ connections: [{ name, partner: "crm", plugin: "mapping", config: { fields } }] });
  const lead = (number) => ({
    id: `${name}-${number}`,
    nome: person(number, true).first,
    telefone: `(11) 95555-${String(number % 40).padStart(4, "0")}`,
    campanha: "verão",
  });
  for (let number = 0; number < USUAL; number += 1) {
    await send(connections[name], { ...lead(number), email: `lead.${number % 40}@example.com` });
  }
  for (let number = USUAL; number < USUAL + MOST_OTHERS; number += 1) {
    await send(connections[name], { ...lead(number), mail: `lead.${number % 40}@example.com` });
    if (number % 5 === 0 && (await connection(name)).sourceChange) return;
  }
  await until("the change is noticed", () => connection(name), (one) => one.sourceChange);
}

/** Makes a connection with a sender check. Returns its name. */
async function guarded(withScript) {
  const name = `guarded-${withScript ? "a" : "b"}`;
  const check = { secret: "key", scheme: "equals", proof: { place: "header", name: "x-key" } };
  await apply({ connections: [{ name, partner: "crm", plugin: "mapping", config: {}, secrets: { key: "the-first-key" }, checks: [check] }] });
  return name;
}

export const tasks = [
  {
    name: "pause a connection",
    steps: async (own) => {
      await own.click("Connections");
      const card = own.card(SITE);
      await own.clickOn(card.getByText("Pause", { exact: true }));
      await card.getByLabel("Reason").fill("the site moves");
      await own.press("Pause its fetches", card);
      await own.shows("the site moves");
      assert.equal((await connection(SITE)).paused.reason, "the site moves");
    },
  },
  {
    name: "resume a connection",
    steps: async (own) => {
      await own.click(/the fetches of .* are paused/);
      await own.press("Resume", own.card(SITE));
      await own.shows("The connection is resumed.");
      assert.equal((await connection(SITE)).paused, null);
    },
  },
  {
    name: "send a test delivery in place of a source",
    steps: async (own) => {
      const { first, last, phone } = person(20, own.withScript);
      await own.click("Connections");
      const card = own.card(SITE);
      await own.clickOn(card.getByText("Test delivery", { exact: true }));
      await card.getByLabel("The body").fill(`ticket=test-${own.withScript}&first=${first}&last=${last}&whatsapp=${phone}&unit=CA-0007&text=Um teste.`);
      await own.press("Deliver it", card);
      const outcome = own.card("Outcome of the test delivery");
      await outcome.locator(".tag.converted").first().waitFor();
      assert.equal((await newest((await connection(SITE)).id)).status, "converted");
    },
  },
  {
    name: "try a new connection on a body",
    steps: async (own) => {
      const { first, last, phone } = person(21, own.withScript);
      const before = (await get("/connections")).connections.length;
      await own.click("Connections");
      await own.click("New connection");
      await own.page.selectOption("#plugin", "mapping");
      await own.page.getByLabel("A body as the source sends it").fill(JSON.stringify({ nome: `${first} ${last}`, telefone: phone, outro: "x" }));
      await own.press(/^Try it/);
      const read = own.card("What it reads");
      await own.shows("guessed", read);
      await own.shows(`${first} ${last}`, read);
      assert.equal((await get("/connections")).connections.length, before, "nothing is stored");
    },
  },
  {
    name: "save a new connection",
    steps: async (own) => {
      const { first, last, phone } = person(22, own.withScript);
      const name = `landing-${own.withScript ? "a" : "b"}`;
      await own.click("Connections");
      await own.click("New connection");
      await own.page.selectOption("#plugin", "mapping");
      await own.page.getByLabel("Name", { exact: true }).first().fill(name);
      await own.page.getByLabel("Partner").fill("crm");
      await own.press("Save the connection");
      await own.shows("For the workspace file");
      await own.shows("[[connections]]");
      // It takes leads at once.
      const made = await connection(name);
      assert.equal((await send(made.id, { nome: `${first} ${last}`, telefone: phone })).status, 200);
    },
  },
  {
    name: "set a secret of a connection",
    given: ({ withScript }) => guarded(withScript),
    steps: async (own, name) => {
      const before = await connection(name);
      await own.click("Connections");
      await own.click(`demo/${name}`);
      await own.page.getByLabel("Its name").fill("key");
      await own.page.getByLabel("Its new value").fill("another-key");
      await own.press("Set the secret");
      await own.shows("For the workspace file");
      await own.shows("env:KEY");
      const after = await connection(name);
      assert.equal(after.configVersion, before.configVersion + 1);
      assert.deepEqual(after.config, before.config);
    },
  },
  {
    name: "try another configuration of a connection on a body",
    given: ({ withScript }) => guarded(withScript),
    steps: async (own, name) => {
      const { first, last, phone } = person(24, own.withScript);
      const before = await connection(name);
      await own.click("Connections");
      await own.click(`demo/${name}`);
      await own.page.getByLabel("Configuration, a JSON object").fill('{"fields": {"name": "pessoa"}}');
      await own.page.getByLabel("A body as the source sends it").fill(JSON.stringify({ pessoa: `${first} ${last}`, telefone: phone }));
      await own.press(/^Try it/);
      const read = own.card("What it reads");
      await own.shows("configured", read);
      await own.shows(`${first} ${last}`, read);
      assert.deepEqual(await connection(name), before, "nothing is changed");
    },
  },
  {
    name: "change the configuration of a connection",
    given: ({ withScript }) => guarded(withScript),
    steps: async (own, name) => {
      await own.click("Connections");
      await own.click(`demo/${name}`);
      await own.page.getByLabel("Configuration, a JSON object").fill('{"fields": {"name": "pessoa"}}');
      await own.press("Save the configuration");
      await own.shows("[[connections]]");
      assert.deepEqual((await connection(name)).config, { fields: { name: "pessoa" } });
    },
  },
  {
    name: "change anything else of a connection, such as its converter, partner or sender checks",
    given: ({ withScript }) => guarded(withScript),
    steps: async (own, name) => {
      const before = await connection(name);
      await own.click("Connections");
      await own.click(`Change this connection: ${name}`, "link", own.card(name));
      await own.page.getByLabel("Origins of pages").fill("https://www.example.com");
      await own.press(`Save ${name}`);
      await own.shows("For the workspace file");
      const after = await connection(name);
      assert.deepEqual(after.origins, ["https://www.example.com"]);
      for (const same of ["id", "config", "checks", "secrets", "secretsSetAt", "allow", "partner"]) assert.deepEqual(after[same], before[same], same);
    },
  },
  {
    name: "retire a connection",
    given: ({ withScript }) => guarded(withScript),
    steps: async (own, name) => {
      await own.click("Connections");
      await own.click(`Retire ${name}`, "link", own.card(name));
      await own.press("Retire it");
      await own.shows(`demo/${name} is retired`);
      const { id, retired } = await connection(name);
      assert(retired);
      assert.equal((await send(id, { nome: "Ana" }, { "x-key": "the-first-key" })).status, 404);
    },
  },
  {
    name: "bring a retired connection back",
    steps: async (own) => {
      const name = `guarded-${own.withScript ? "a" : "b"}`;
      assert((await connection(name)).retired, "the task before has retired it");
      await own.click("Connections");
      await own.click(`Bring it back: ${name}`, "link", own.card(name));
      await own.press("Bring it back");
      await own.shows(`demo/${name} is in use again`);
      assert(!(await connection(name)).retired);
    },
  },
  {
    name: "correct a wrong sender secret, and release what it refused",
    given: async ({ withScript }) => {
      const name = await guarded(withScript);
      const { id } = await connection(name);
      const { first, last, phone } = person(25, withScript);
      const sent = await send(id, { id: `mended-${withScript}`, nome: `${first} ${last}`, telefone: phone }, { "x-key": "the-second-key" });
      assert.equal(sent.status, 401);
      return { name, id };
    },
    steps: async (own, { name, id }) => {
      await own.click(`set a secret of demo/${name}`);
      await own.page.getByLabel("Its name").fill("key");
      await own.page.getByLabel("Its new value").fill("the-second-key");
      await own.press("Set the secret");
      await own.press(/^Release/);
      await own.shows("The delivery was released: converted");
      assert.equal((await newest(id)).status, "converted");
    },
  },
  {
    name: "correct a bad token of a source or a provider",
    given: async ({ withScript }) => {
      const name = await guarded(withScript);
      await post(`/connections/${name}/pause`, { reason: "the token has expired" });
      return name;
    },
    steps: async (own, name) => {
      await own.click(new RegExp(`the fetches of demo/${name} are paused`));
      await own.page.getByLabel("Its name").fill("key");
      await own.page.getByLabel("Its new value").fill("the-third-key");
      await own.press("Set the secret and resume");
      await own.shows("env:KEY");
      assert.equal((await connection(name)).paused, null);
    },
  },
  {
    name: "see the last delivery of a source, its leads by field, and the age of its secrets",
    steps: async (own) => {
      await own.click("Connections");
      const card = own.card(SITE);
      await own.shows(/^set/, card);
      await own.shows("Last delivery", card);
      assert((await connection(SITE)).lastDeliveryAt);
    },
  },
  {
    name: "see how the deliveries of a source have changed",
    given: ({ withScript }) => changes(withScript ? "campaign" : "campaign-2"),
    steps: async (own) => {
      const name = own.withScript ? "campaign" : "campaign-2";
      await own.click(new RegExp(`the deliveries of demo/${name} changed`));
      const card = own.card(name);
      await own.shows(/mail/, card.locator(".tag.warn"));
      await own.shows(/since about/, card);
    },
  },
  {
    name: "convert the deliveries of a changed source again, after its configuration is corrected",
    given: async ({ withScript }) => {
      const name = withScript ? "campaign" : "campaign-2";
      assert((await connection(name)).sourceChange, "the task before has found the change");
      const fields = { externalId: "id", name: "nome", phones: "telefone", emails: "mail" };
      await apply({ connections: [{ name, partner: "crm", plugin: "mapping", config: { fields } }] });
      return name;
    },
    steps: async (own, name) => {
      const line = own.page.locator(".problems li", { hasText: `the deliveries of demo/${name} changed` });
      await own.clickOn(line.getByRole("link", { name: "its deliveries since then" }));
      await own.press("Convert these again");
      await own.shows(/What would change: \d+ deliveries of demo/);
      await own.press("Apply these changes");
      await own.shows(/were changed/);
    },
  },
];
