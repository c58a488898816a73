// Instances and their messages: held, resolved, found and read.
import { strict as assert } from "node:assert";

import { apply, get, instance, lead, person, send, until } from "../service.mjs";

const ASSISTANT = "assistant";

/** The line whose provider sometimes does not say whether it took a message. */
const LINE = "fair-line";

const WELCOME = { name: "welcome", language: "pt_BR", text: "Olá {{1}}, até a feira!" };

/** Declares the line, and a source whose leads it greets. Returns the id of that source. */
async function line(outcomes) {
  const { connections } = await apply({
    instances: [{ name: LINE, number: "+5521922220000", adapter: "sandbox", config: { templates: [WELCOME], outcomes } }],
    connections: [{
      name: "fair-visitors", partner: "crm", instance: LINE, plugin: "mapping",
      greeting: { instance: LINE, template: "welcome", parameters: ["{firstName}"] },
    }],
  });
  return connections["fair-visitors"];
}

/** The newest message that was sent to a phone. */
async function sentTo({ e164 }) {
  const { messages } = await get(`/outbox?contact=${encodeURIComponent(e164)}`);
  return messages.find(({ actor }) => actor !== "contact");
}

const state = (message) => message?.metadata.status;

/** Has a greeting sent without an answer of the provider. Returns its person. */
async function unanswered(number, { withScript }) {
  const source = await line([{ category: "unknown" }]);
  const who = person(number, withScript);
  await send(source, { id: `visitor-${number}-${withScript}`, nome: `${who.first} ${who.last}`, telefone: who.phone });
  await until("the outcome is unknown", () => sentTo(who), (message) => state(message) === "unknown");
  await line([]);
  return who;
}

/** The row of a message to a person. */
const rowOf = (own, { e164 }) => own.page.getByRole("row").filter({ hasText: e164 });

/** Declares an instance with a check of its provider. Returns its name. */
async function guarded(withScript) {
  const name = `guarded-line-${withScript ? "a" : "b"}`;
  const check = { secret: "hook", scheme: "equals", proof: { place: "header", name: "x-hook" } };
  await apply({ instances: [{ name, adapter: "sandbox", config: {}, secrets: { hook: "the-first" }, checks: [check] }] });
  return name;
}

export const tasks = [
  {
    name: "set a secret of an instance",
    given: ({ withScript }) => guarded(withScript),
    steps: async (own, name) => {
      const before = await instance(name);
      await own.click("Instances");
      await own.click(`demo/${name}`);
      await own.page.getByLabel("Its name").fill("hook");
      await own.page.getByLabel("Its new value").fill("another");
      await own.press("Set the secret");
      await own.shows("env:HOOK");
      const after = await instance(name);
      assert.equal(after.configVersion, before.configVersion + 1);
      assert.deepEqual(after.config, before.config);
    },
  },
  {
    name: "change the configuration of an instance",
    given: ({ withScript }) => guarded(withScript),
    steps: async (own, name) => {
      await own.click("Instances");
      await own.click(`demo/${name}`);
      await own.page.getByLabel("Configuration, a JSON object").fill(JSON.stringify({ templates: [WELCOME] }));
      await own.press("Save the configuration");
      await own.shows("[[instances]]");
      assert.equal((await instance(name)).config.templates[0].name, WELCOME.name);
    },
  },
  {
    name: "pause an instance",
    steps: async (own) => {
      await own.click("Instances");
      const card = own.card(ASSISTANT);
      await own.clickOn(card.getByText("Pause", { exact: true }));
      await card.getByLabel("Reason").fill("the number is being moved");
      await own.press("Pause its messages", card);
      await own.shows("the number is being moved");
      assert.equal((await instance(ASSISTANT)).paused.reason, "the number is being moved");
      const who = person(40, own.withScript);
      await lead({ ticket: `held-${own.withScript}`, first: who.first, last: who.last, whatsapp: who.phone });
      await until("its greeting waits", () => sentTo(who), (message) => state(message) === "waiting");
    },
  },
  {
    name: "resume an instance",
    steps: async (own) => {
      await own.click(/the sending of .*assistant is paused/);
      await own.press("Resume", own.card(ASSISTANT));
      await own.shows("The instance is resumed.");
      assert.equal((await instance(ASSISTANT)).paused, null);
      await until("the greeting is sent", () => sentTo(person(40, own.withScript)), (message) => state(message) === "delivered");
    },
  },
  {
    name: "read the templates of an instance again",
    steps: async (own) => {
      const before = (await instance(ASSISTANT)).templates.syncedAt;
      await own.click("Instances");
      await own.press("Read the templates now", own.card(ASSISTANT));
      await own.shows("The templates were read from the provider.");
      assert((await instance(ASSISTANT)).templates.syncedAt > before);
    },
  },
  {
    name: "see the templates of an instance, with language and status",
    steps: async (own) => {
      await own.click("Instances");
      await own.click(/assistant$/);
      const row = own.page.getByRole("row").filter({ hasText: "visit_reminder" });
      await own.shows("pt_BR", row);
      await own.shows(/approved/i, row);
    },
  },
  {
    name: "send a message with an unknown outcome again",
    given: (own) => unanswered(41, own),
    steps: async (own, who) => {
      await own.click(/with an unknown outcome/);
      await own.press("Send again", rowOf(own, who));
      await own.shows("The message is resolved");
      await until("it is sent", () => sentTo(who), (message) => state(message) === "delivered");
    },
  },
  {
    name: "give up a message with an unknown outcome",
    given: (own) => unanswered(42, own),
    steps: async (own, who) => {
      await own.click(/with an unknown outcome/);
      await own.press("Give up", rowOf(own, who));
      await own.shows("The message is resolved: failed.");
      assert.equal(state(await sentTo(who)), "failed");
    },
  },
  {
    name: "give up all messages with an unknown outcome",
    given: async (own) => {
      const first = await unanswered(44, own);
      return [first, await unanswered(45, own)];
    },
    steps: async (own, people) => {
      await own.click(/with an unknown outcome/);
      await own.press("Give all up");
      await own.shows("Each counts as failed");
      await own.press(/^Give up \d+ messages$/);
      await own.shows("messages are resolved");
      for (const who of people) {
        assert.equal(state(await sentTo(who)), "failed");
      }
    },
  },
  {
    name: "find the messages of a person",
    given: async ({ withScript }) => {
      const who = person(43, withScript);
      await lead({ ticket: `found-${withScript}`, first: who.first, last: who.last, whatsapp: who.phone });
      await until("it is greeted", () => sentTo(who));
      return who;
    },
    steps: async (own, who) => {
      await own.click("Messages");
      await own.page.fill("#contact", who.phone);
      await own.press("Show");
      await own.shows(`Olá ${who.first}`);
      assert.equal(await own.page.locator("tbody tr").count(), 1, "no other's");
    },
  },
  {
    name: "write as the contact of a sandbox",
    steps: async (own) => {
      const { phone } = person(43, own.withScript);
      await own.click("Messages");
      await own.page.getByLabel("Their phone, or the id of a message").fill(phone);
      await own.page.getByLabel("Text", { exact: true }).fill("Pode ser no sábado?");
      await own.press("Write");
      await own.shows("The contact has written");
      await own.shows("Pode ser no sábado?");
    },
  },
  {
    name: "read a conversation",
    steps: async (own) => {
      const who = person(43, own.withScript);
      await own.click("Messages");
      await own.clickOn(rowOf(own, who).locator("a[href^='/console/conversations/']:visible"));
      const said = await own.page.locator(".talk .said").allTextContents();
      assert.deepEqual(said.map((text) => text.split(" ")[0]), ["Olá", "Pode"], "in its order");
      await own.shows("Conversation with");
    },
  },
  {
    name: "answer in a conversation as the contact of a sandbox",
    steps: async (own) => {
      const who = person(43, own.withScript);
      await own.click("Messages");
      await own.clickOn(rowOf(own, who).locator("a[href^='/console/conversations/']:visible"));
      await own.page.getByLabel("Answer as the contact of the sandbox").fill("Até sábado!");
      await own.press("Write");
      await own.shows("Até sábado!");
      await own.shows("Conversation with");
    },
  },
];
