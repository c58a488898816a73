// Shadows and canaries: started, watched, held, and ended by an operator or by a guard.
import { strict as assert } from "node:assert";

import { active, admin, post, rollout, until } from "../service.mjs";
import { PORTAL, leads, store, versionCard } from "./plugins.mjs";

const word = ({ withScript }) => (withScript ? "c" : "d");

/** Starts a canary that gets half of the deliveries for an hour. */
async function canary(which, name) {
  const { digest } = await store(which, name);
  await post(`/plugins/${PORTAL}/rollout`, { digest, mode: "canary", steps: [50, 100], everySeconds: 3_600, accept: ["all"] });
  return digest;
}

/** Opens the plugin of a rollout by its line on the first page, and shows the rollout. */
async function watch(own) {
  await own.click(PORTAL, "link", own.page.locator(".plugins"));
  return own.card("Rollout");
}

export const tasks = [
  {
    name: "start a shadow",
    given: (own) => store("right", `${word(own)}-shadow`),
    steps: async (own, { digest }) => {
      await own.click(PORTAL);
      await own.press("Start a shadow", versionCard(own, digest));
      await own.shows("The shadow of portal has begun.");
      const { candidate, stage } = await rollout(PORTAL);
      assert.deepEqual([candidate.digest, stage], [digest, "shadow"]);
    },
  },
  {
    name: "watch a rollout",
    given: async (own) => {
      await leads(12, own.withScript, 20);
      await until("deliveries are compared", () => rollout(PORTAL), ({ compared }) => compared >= 10);
    },
    steps: async (own) => {
      await own.shows(/^shadow/, own.page.locator(".plugins .tag"));
      const card = await watch(own);
      await card.locator(".tag", { hasText: "shadow" }).waitFor();
      await own.shows(/\d\d, \d\d the same/, card);
      const { compared, same } = await rollout(PORTAL);
      assert.equal(same, compared);
    },
  },
  {
    name: "roll back a rollout",
    steps: async (own) => {
      const before = await active(PORTAL);
      const card = await watch(own);
      await own.press("Roll back", card);
      await own.shows("aborted", own.card("Rollout"));
      assert.equal((await rollout(PORTAL)).stage, "aborted");
      assert.equal(await active(PORTAL), before);
    },
  },
  {
    name: "start a canary, and accept what it needs",
    given: (own) => store("wrong", `${word(own)}-canary`),
    steps: async (own, { digest }) => {
      await own.click(PORTAL);
      await own.press("Start a canary", versionCard(own, digest));
      const needed = own.page.getByRole("alert");
      await own.shows(/lose a phone/, needed);
      await own.press(/^I accept this/, needed);
      await own.shows("The canary of portal has begun.");
      const { candidate, stage, plan } = await rollout(PORTAL);
      await versionCard(own, digest).locator(".tag.candidate").waitFor();
      assert.deepEqual([candidate.digest, stage, plan.guards], [digest, "canary", true]);
    },
  },
  {
    name: "see why a guard ended a rollout",
    given: async (own) => {
      await admin("PATCH", `/plugins/${PORTAL}/rollout`, { change: "abort" });
      await canary("wrong", `${word(own)}-guarded`);
      let from = 40;
      await until(
        "a guard trips",
        async () => {
          await leads(4, own.withScript, from);
          from += 4;
          return rollout(PORTAL);
        },
        ({ stage }) => stage === "rolled-back",
      );
    },
    steps: async (own) => {
      await own.click(/the rollout of portal was rolled back/);
      const card = own.card("Rollout");
      await card.locator(".tag", { hasText: "rolled-back" }).waitFor();
      await own.shows("Why it ended", card);
      await own.shows(/lose a phone/, card);
      await card.getByRole("row").filter({ hasText: "demo/vista-portal" }).waitFor();
      const { candidate } = await rollout(PORTAL);
      await versionCard(own, candidate.digest).locator(".tag.rolled-back").waitFor();
    },
  },
  {
    name: "pause a rollout",
    given: (own) => canary("right", `${word(own)}-good`),
    steps: async (own) => {
      const card = await watch(own);
      await own.press("Pause", card);
      await own.shows("paused", own.card("Rollout"));
      assert.equal((await rollout(PORTAL)).paused, true);
    },
  },
  {
    name: "resume a rollout",
    steps: async (own) => {
      await own.click("the rollout of portal is paused");
      await own.press("Resume", own.card("Rollout"));
      await own.page.getByRole("button", { name: "Pause" }).waitFor();
      assert.equal((await rollout(PORTAL)).paused, false);
    },
  },
  {
    name: "promote a rollout",
    steps: async (own) => {
      const { candidate } = await rollout(PORTAL);
      assert.notEqual(await active(PORTAL), candidate.digest);
      const card = await watch(own);
      await own.press("Promote now", card);
      await own.shows("The candidate of portal was promoted: it is active.");
      assert.equal(await active(PORTAL), candidate.digest);
    },
  },
];
