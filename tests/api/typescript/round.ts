/**
 * A typed client, which a public generator makes from the document, works on a deal:
 * it makes the deal, looks it up, changes it, notes a sale, and reads the result.
 * If it compiles, the types are what a partner needs; if it runs, they are what the
 * service answers.
 *
 *     node round.js WORLD
 */

import { readFileSync } from "node:fs";

import createClient from "openapi-fetch";

import type { components, paths } from "./leadhost.js";

interface World {
  gateway: string;
  own: { partnerKey: string; accessToken: string; workspaceKey: string; instances: Record<string, number> };
}

const place = process.argv[2];
if (place === undefined) {
  throw new Error("say which file tells of the service");
}
const world = JSON.parse(readFileSync(place, "utf8")) as World;

const at = (headers: Record<string, string>) => createClient<paths>({ baseUrl: world.gateway, headers });
const partner = at({ "x-service-api-key": world.own.partnerKey });
const desk = at({ authorization: `Bearer ${world.own.accessToken}` });
const data = at({ authorization: `Bearer ${world.own.workspaceKey}` });

function check<T>(found: T, wanted: T, what: string): void {
  if (JSON.stringify(found) !== JSON.stringify(wanted)) {
    throw new Error(`${what}: ${JSON.stringify(found)} instead of ${JSON.stringify(wanted)}`);
  }
}

/** The answer of a call that must succeed. */
function well<T>(answer: { data?: T; error?: unknown }, what: string): T {
  if (answer.data === undefined) {
    throw new Error(`${what}: ${JSON.stringify(answer.error)}`);
  }
  return answer.data;
}

// Optional fields may be left out.
const order: components["schemas"]["NewDeal"] = {
  name: "Noemi Sales",
  phoneNumber: "+5511966660104",
  externalId: "F-typed",
};
const made = well(await partner.POST("/deal", { body: order }), "the new deal");
check(made.success, true, "the new deal");

const query = { phoneNumber: "(11) 96666-0104" };
const found = well(await partner.GET("/deal", { params: { query } }), "the lookup");
check(found.map((view) => view.deal.id), [made.dealId], "the lookup by phone");
check(found[0]?.person.name, "Noemi Sales", "the person");

const path = { dealId: made.dealId };
const body = { stageCode: "visit_scheduled", ownerEmail: "rita.salgado@example.com" } as const;
const changed = await partner.PATCH("/deal/{dealId}", { params: { path }, body });
check(changed.response.status, 202, "the change");

const metadata = { salesPrice: "415000.00", nested: { any: [1, null] } };
const note = await desk.POST("/api/v1/deals/{dealId}/log", {
  params: { path },
  body: { type: "success", subject: "Sold", metadata },
});
check(well(note, "the note").dealId, made.dealId, "the note");

const shown = well(await partner.GET("/deal/{dealId}", { params: { path } }), "the deal");
check(shown.deal.ownerName, "Rita Salgado", "the owner");
const logs = shown.deal.props["logs"] as { subject: string }[];
check(logs[0]?.subject, "Sold", "the deal's note");

const notice: components["schemas"]["LegacyNotification"] = {
  name: "Noemi Sales",
  phoneNumber: "+5511966660104",
  instanceId: world.own.instances["front-desk"] ?? 0,
  source: "typed round",
  messageTemplate: "visit_confirmation",
  replacements: ["Noemi", "Saturday"],
};
check(well(await partner.POST("/send-notification", { body: notice }), "the message").success, true, "the message");

const page = well(
  await data.GET("/v1/export/{entity}", { params: { path: { entity: "deals" } } }),
  "the export",
);
check(page.data.some((row) => row.id === made.dealId), true, "the export");

// Each export has rows of one type, their words are enums, and every error of an operation has one
// type: if this needed a cast, the document would be wrong.
const deals = well(await data.GET("/v1/export/deals"), "the deals");
const exported = deals.data.find((row) => row.id === made.dealId);
check(exported?.stage_code, "visit_scheduled", "the exported stage");
const messages = well(await data.GET("/v1/export/messages"), "the messages");
const actors: ("contact" | "agent" | "human" | "system")[] = messages.data.map((row) => row.actor);
check(actors.includes("agent"), true, "the authors of messages");
const contacts = well(await data.GET("/v1/export/contacts"), "the contacts");
check(contacts.data.some((row) => row.phone_number === "+5511966660104"), true, "the contacts");
const conversations = well(await data.GET("/v1/export/conversations"), "the conversations");
check(conversations.data.length > 0, true, "the conversations");

const nothing = await partner.GET("/deal", { params: { query: {} } });
check(nothing.error?.code, "invalid_parameter", "the code of an error");
check(nothing.error?.message.startsWith("Give at least one"), true, "the message of an error");
const broken = await data.GET("/v1/export/deals", { params: { query: { cursor: "x" } } });
check(broken.error?.code, "invalid_cursor", "the code of an error of the data API");
check(broken.error?.error.startsWith("The cursor"), true, "the message of an error of the data API");
const counts = well(
  await data.GET("/v1/analytics/conversations/{granularity}", {
    params: { path: { granularity: "week" }, query: { tz: "Europe/Lisbon" } },
  }),
  "the counts",
);
check(counts.count, counts.data.length, "the number of rows");

console.log("A typed client went the round.");
