// What an operator sees first: what is wrong, how much came in, and what the workspace measures.
import { strict as assert } from "node:assert";

import { FAIR_FEED, apply, connection, get, lead, misbehaving, person, post, send, until } from "../service.mjs";

/** Has a delivery fail, with a converter that traps. Returns its id. */
export async function fail(suffix) {
  const { plugins } = await get("/plugins");
  if (!plugins.some((plugin) => plugin.name === FAIR_FEED)) await post("/plugins?activate=true&accept=all", misbehaving());
  await apply({ connections: [{ name: FAIR_FEED, partner: "crm", plugin: FAIR_FEED, config: { do: "trap" } }] });
  const { id } = await connection(FAIR_FEED);
  await send(id, { id: `failing-${suffix}` });
  const failed = () => get(`/deliveries?connection=${id}&status=failed`);
  const { deliveries } = await until("the delivery fails", failed, (list) => list.deliveries.length > 0);
  return deliveries[0].id;
}

export const tasks = [
  {
    name: "see what is wrong",
    given: async ({ withScript }) => {
      const { first, last, phone } = person(0, withScript);
      assert.equal((await lead({ ticket: `good-${withScript}`, first, last, whatsapp: phone })).status, 200);
      assert.equal((await lead({ ticket: `bad-${withScript}`, first, last, whatsapp: phone }, "wrong")).status, 401);
    },
    steps: async (own) => {
      await own.shows("in quarantine, because the sender check failed");
      // Healthy ones are named too.
      await own.page.locator(".plugins").getByRole("link", { name: "mapping" }).waitFor();
    },
  },
  {
    name: "find the deliveries in quarantine",
    steps: async (own) => {
      await own.click(/in quarantine/);
      await own.page.locator("td .tag.quarantined").first().waitFor();
      assert.equal(await own.page.locator("td .tag:not(.quarantined)").count(), 0, "only those");
    },
  },
  {
    name: "find the deliveries that failed",
    given: ({ withScript }) => fail(`found-${withScript}`),
    steps: async (own, failed) => {
      await own.click(/failed and will be retried/);
      await own.delivery(failed).waitFor();
      await own.page.locator("td .tag.failed").first().waitFor();
    },
  },
  {
    name: "see leads, messages and failures of the last hour, day or week, by connection",
    given: async () => {
      const counted = async () => {
        const { series } = await get("/activity?period=hour");
        return series.find(({ name }) => name === "site-form")?.leads.reduce((sum, count) => sum + count, 0);
      };
      return until("leads are counted", counted);
    },
    steps: async (own, leads) => {
      await own.click("Last hour");
      await own.page.getByRole("img", { name: /^Leads/ }).waitFor();
      await own.shows("Numbers of Leads");
      await own.page.getByRole("img", { name: /^Failures/ }).waitFor();
      await own.page.locator(".legend li", { hasText: `site-form ${leads}` }).first().waitFor();
    },
  },
  {
    name: "see a measure by agent, source or type of agent, in any zone, by day, week or month",
    given: () => post("/etl/runs"),
    steps: async (own) => {
      await own.click("Analytics");
      await own.page.selectOption("#measure", "conversations_started");
      await own.page.selectOption("#by", "agent_id");
      await own.page.selectOption("#interval", "week");
      await own.page.fill("#tz", "Europe/Lisbon");
      await own.press("Show");
      await own.page.getByRole("img", { name: /^Conversations started/ }).waitFor();
      await own.shows("Numbers of Conversations started");
      await own.shows("Counted until");
      assert.match(own.page.url(), /measure=conversations_started&by=agent_id&interval=week&tz=Europe%2FLisbon/);
    },
  },
];
