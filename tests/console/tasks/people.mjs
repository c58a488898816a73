// Deals, contacts and tickets: found by what leads to them, and from one to the other.
import { strict as assert } from "node:assert";

import { apply, get, lead, person, until, world } from "../service.mjs";

/** Sends a lead with the form of the site. Returns its person, its delivery and its deal. */
async function sent(number, { withScript }) {
  const who = person(number, withScript);
  const { status, delivery } = await lead({ ticket: `person-${number}-${withScript}`, first: who.first, last: who.last, whatsapp: who.phone });
  assert.equal(status, 200);
  const { items } = await get(`/deliveries/${delivery}`);
  return { who, delivery, deal: items[0].dealId, contact: items[0].contactId };
}

/** A lead whose deal its partner hands to people, with an owner. Returns the ticket too. */
async function handedOver(number, own) {
  const found = await sent(number, own);
  await apply({ owners: [{ name: "Olga Reis", email: "olga@example.com" }] });
  const { keys } = await apply({ keys: [{ kind: "partner", partner: "crm", label: `desk ${number} ${own.withScript}` }] });
  const { key } = keys.find(({ kind }) => kind === "partner");
  const answer = await fetch(`http://${world.gateway}/deal/${found.deal}`, {
    method: "PATCH",
    body: JSON.stringify({ stageCode: "transferred", ownerEmail: "olga@example.com" }),
    headers: { "x-service-api-key": key, "content-type": "application/json" },
  });
  assert.equal(answer.status, 202, await answer.text());
  const { tickets } = await until("a ticket is open", () => get(`/tickets?deal=${found.deal}`), (list) => list.tickets.length > 0);
  return { ...found, ticket: tickets[0].id };
}

const name = ({ first, last }) => `${first} ${last}`;

export const tasks = [
  {
    name: "find the deals of a person",
    given: (own) => sent(60, own),
    steps: async (own, { who, deal }) => {
      await own.click("Deals");
      await own.page.fill("#q", who.phone);
      await own.press("Find");
      await own.page.getByRole("link", { name: deal }).waitFor();
      assert.equal(await own.page.locator("tbody tr").count(), 1, "no other's");
      await own.shows(name(who));
    },
  },
  {
    name: "find a deal by its id",
    given: (own) => sent(61, own),
    steps: async (own, { who, deal }) => {
      await own.click("Deals");
      await own.page.fill("#q", deal);
      await own.press("Find");
      await own.page.waitForURL(`**/deals/${deal}`);
      await own.shows(name(who));
    },
  },
  {
    name: "see a deal with its person, owner, tickets and history",
    given: (own) => handedOver(62, own),
    steps: async (own, { who, deal, ticket }) => {
      await own.click("Deals");
      await own.page.fill("#q", who.phone);
      await own.press("Find");
      await own.click(deal);
      await own.page.getByRole("link", { name: name(who) }).first().waitFor();
      await own.page.getByRole("link", { name: ticket }).waitFor();
      const change = own.card("Change 1");
      await own.shows("Olga Reis", change);
      await own.shows("transferred", change);
    },
  },
  {
    name: "find a contact, with its deals, conversations and tickets",
    given: (own) => sent(63, own),
    steps: async (own, { who, deal, contact }) => {
      await until("it is greeted", () => get(`/outbox?contact=${contact}`), ({ messages }) => messages.length > 0);
      await own.click("Contacts");
      await own.page.fill("#q", who.phone);
      await own.press("Find");
      await own.page.waitForURL(`**/contacts/${contact}?found=phone`);
      await own.page.getByRole("heading", { name: name(who) }).waitFor();
      await own.page.getByRole("link", { name: deal }).waitFor();
      await own.page.locator("td a[href^='/console/conversations/']").first().waitFor();
    },
  },
  {
    name: "see the contact of a delivery",
    given: (own) => sent(64, own),
    steps: async (own, { who, delivery, contact }) => {
      await own.click("Deliveries");
      await own.clickOn(own.delivery(delivery));
      await own.click(contact);
      await own.page.getByRole("heading", { name: name(who) }).waitFor();
    },
  },
  {
    name: "see the open tickets",
    given: (own) => handedOver(65, own),
    steps: async (own, { ticket }) => {
      await own.click("Tickets");
      await own.page.selectOption("#status", "open");
      await own.press("Show");
      await own.page.getByRole("link", { name: ticket }).waitFor();
      await own.page.waitForURL("**/tickets?status=open*");
    },
  },
  {
    name: "see a ticket with its last messages",
    given: (own) => handedOver(66, own),
    steps: async (own, { who, deal, ticket }) => {
      await own.click("Tickets");
      await own.click(ticket);
      await own.page.getByRole("heading", { name: `Ticket of ${name(who)}` }).waitFor();
      await own.page.getByRole("link", { name: deal }).waitFor();
      await own.shows("Last messages");
    },
  },
];
