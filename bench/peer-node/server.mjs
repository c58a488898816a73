// The peer of Leadhost's ingest: fastify and better-sqlite3, one
// process, written with care. It answers when the lead is durable: WAL with
// synchronous=FULL, and one commit for all requests of an event-loop turn.
//
// Its tables, in schema.sql, have the service's columns, and it writes the same
// rows: delivery, item, dedupe key, contact and its keys, deal, and the stamps of
// the feed clock. It does what the service does with one portal's leads and
// nothing else: no plugins, no sender checks, no limits, no metrics.
//
//   node server.mjs --data FOLDER --schema FILE --port NUMBER --connection ID

import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { parseArgs } from "node:util";

import Database from "better-sqlite3";
import Fastify from "fastify";

import { convert } from "./convert.mjs";
import { now, uuid } from "./ids.mjs";

const { values: options } = parseArgs({
  options: {
    data: { type: "string" },
    schema: { type: "string" },
    port: { type: "string" },
    connection: { type: "string" },
  },
});

const workspace = uuid();
const connection = { id: options.connection, name: "portal", region: "BR", agent: 1 };
const digest = createHash("sha256").update(readFileSync(new URL("convert.mjs", import.meta.url))).digest("hex");
const ran = JSON.stringify({
  plugin: "grupo-olx",
  version: "1.0.0",
  digest,
  contract: "leadhost:converter@1.0.0",
  configVersion: 1,
});

const db = new Database(join(options.data, "peer.db"));
db.pragma("journal_mode = wal");
db.pragma("synchronous = full");
db.pragma("temp_store = memory");
db.pragma("cache_size = -16000");
// The default of 1000 pages would checkpoint in every few commits.
db.pragma("wal_autocheckpoint = 8000");
db.exec(readFileSync(options.schema, "utf8"));

const begin = db.prepare("begin immediate");
const commit = db.prepare("commit");
const rollback = db.prepare("rollback");
const clockOf = db.prepare("select last_us from feed_clock where workspace_id = ? and entity = ?").pluck();
const setClock = db.prepare(
  "insert into feed_clock (workspace_id, entity, last_us) values (?, ?, ?) on conflict do update set last_us = excluded.last_us",
);
const claimOf = db.prepare("select deal_id, contact_id, until_at from dedupe where connection_id = ? and key = ?");
const contactOf = db.prepare("select contact_id from contact_keys where workspace_id = ? and key = ?").pluck();
const productOf = db.prepare("select id from products where workspace_id = ? and external_id = ?").pluck();
const insertDelivery = db.prepare(
  `insert into deliveries (workspace_id, id, connection_id, received_at, method, path, query, headers, body_bytes,
     status, error, notes, ran, attempts, next_attempt_at, lease, lease_until_at, presented, body)
   values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, null, '[]', ?, 0, null, 0, null, null, ?)`,
);
const insertItem = db.prepare(
  `insert into items (workspace_id, delivery_id, item, status, external_id, deal_id, contact_id, message)
   values (?, ?, ?, ?, ?, ?, ?, ?)`,
);
const insertDedupe = db.prepare(
  `insert into dedupe (connection_id, key, workspace_id, delivery_id, item, until_at, deal_id, contact_id)
   values (?, ?, ?, ?, ?, null, ?, ?)`,
);
const insertContact = db.prepare(
  `insert into contacts (workspace_id, cursor_us, id, name, email, phone_number, banned_at, props, created_at, updated_at)
   values (?, ?, ?, ?, ?, ?, null, '{}', ?, ?)`,
);
const insertContactKey = db.prepare(
  "insert into contact_keys (workspace_id, key, contact_id) values (?, ?, ?) on conflict do nothing",
);
const insertDeal = db.prepare(
  `insert into deals (workspace_id, cursor_us, id, person_id, agent_id, owner_id, status, title, props, created_at,
     updated_at, stage_code, product_id, external_id, connection_id, delivery_id)
   values (?, ?, ?, ?, ?, null, 'open', ?, ?, ?, ?, 'new', ?, ?, ?, ?)`,
);

const CONTACTS = 3;
const DEALS = 4;

// ---- requests

const app = Fastify({ logger: false, bodyLimit: 4 << 20 });
app.removeAllContentTypeParsers();
app.addContentTypeParser("*", { parseAs: "buffer" }, (_request, body, done) => done(null, body));
app.post("/ingest-lead/:connection", (request, reply) => {
  if (request.params.connection !== connection.id) {
    reply.code(404).send({ statusCode: 404, message: "There is no such connection." });
    return;
  }
  const at = request.url.indexOf("?");
  const delivery = {
    id: uuid(),
    received: now(),
    method: request.method,
    path: at < 0 ? request.url : request.url.slice(0, at),
    query: JSON.stringify(Object.entries(request.query)),
    headers: JSON.stringify(Object.entries(request.headers)),
    body: request.body,
  };
  const { items, problem } = convert(connection, request.body);
  accept({ delivery, items, problem, reply });
});
app.get("/health/ready", (_request, reply) => reply.send({ ready: true }));

let waiting = [];

/** What one turn of the event loop brings is committed together at its end. */
function accept(write) {
  if (waiting.push(write) === 1) setImmediate(flush);
}

function flush() {
  const batch = waiting;
  waiting = [];
  try {
    begin.run();
    const stamps = new Stamps(batch);
    for (const write of batch) store(write, stamps);
    stamps.save();
    commit.run();
  } catch (error) {
    if (db.inTransaction) rollback.run();
    for (const { reply } of batch) {
      reply.code(503).send({ statusCode: 503, message: String(error) });
    }
    return;
  }
  for (const { reply, answer, problem } of batch) {
    reply
      .code(problem ? 400 : 200)
      .header("content-type", "application/json; charset=utf-8")
      .send(problem ? JSON.stringify({ statusCode: 400, message: problem }) : answer);
  }
}

// ---- rows

/** The feed clock's stamps of one commit: the clock rows are read and written once. */
class Stamps {
  constructor(batch) {
    const most = batch.reduce((sum, write) => sum + write.items.length, 0);
    this.last = new Map();
    for (const entity of [CONTACTS, DEALS]) {
      const last = clockOf.get(workspace, entity) ?? 0;
      // Unique and never behind the wall clock, however many a commit needs.
      this.last.set(entity, Math.max(last, now() - most));
    }
    this.now = now();
  }

  next(entity) {
    const stamp = this.last.get(entity) + 1;
    this.last.set(entity, stamp);
    return stamp;
  }

  save() {
    for (const [entity, last] of this.last) setClock.run(workspace, entity, last);
  }
}

function store(write, stamps) {
  const { delivery, items, problem } = write;
  const leads = [];
  const problems = [];
  let status = problem ? "rejected" : "ignored";
  const rows = [];
  for (const [index, item] of items.entries()) {
    if (item.invalid) {
      problems.push({ item: index, status: "invalid", message: item.invalid });
      rows.push([index, "invalid", null, null, null, item.invalid]);
      if (status === "ignored") status = "rejected";
      continue;
    }
    const made = lead(delivery, index, item.lead, stamps);
    status = made.duplicate && status !== "converted" ? "duplicate" : "converted";
    rows.push([index, made.status, made.externalId, made.dealId, made.contactId, null]);
    leads.push(made);
  }
  insertDelivery.run(
    workspace,
    delivery.id,
    connection.id,
    delivery.received,
    delivery.method,
    delivery.path,
    delivery.query,
    delivery.headers,
    delivery.body.length,
    status,
    ran,
    delivery.body,
  );
  for (const row of rows) insertItem.run(workspace, delivery.id, ...row);
  write.answer = JSON.stringify({ success: true, deliveryId: delivery.id, status, leads, problems });
}

function lead(delivery, index, lead, stamps) {
  const claim = lead.dedupe && claimOf.get(connection.id, lead.dedupe);
  if (claim) {
    return {
      item: index,
      status: "duplicate",
      externalId: lead.externalId,
      dealId: claim.deal_id,
      contactId: claim.contact_id,
      duplicate: true,
    };
  }
  let contact = null;
  for (const key of lead.contactKeys) {
    contact ??= contactOf.get(workspace, key) ?? null;
  }
  if (!contact) {
    contact = uuid();
    insertContact.run(
      workspace,
      stamps.next(CONTACTS),
      contact,
      lead.name,
      lead.emails[0] ?? null,
      lead.phones[0] ?? null,
      stamps.now,
      stamps.now,
    );
  }
  for (const key of lead.contactKeys) insertContactKey.run(workspace, key, contact);
  let product = null;
  for (const reference of lead.products) {
    product ??= productOf.get(workspace, reference) ?? null;
  }
  const deal = uuid();
  insertDeal.run(
    workspace,
    stamps.next(DEALS),
    deal,
    contact,
    connection.agent,
    lead.title,
    lead.props,
    stamps.now,
    stamps.now,
    product,
    lead.externalId,
    connection.id,
    delivery.id,
  );
  if (lead.dedupe) insertDedupe.run(connection.id, lead.dedupe, workspace, delivery.id, index, deal, contact);
  return {
    item: index,
    status: "converted",
    externalId: lead.externalId,
    dealId: deal,
    contactId: contact,
    duplicate: false,
  };
}

await app.listen({ host: "127.0.0.1", port: Number(options.port) });
process.on("SIGTERM", async () => {
  await app.close();
  db.close();
  process.exit(0);
});
