// The peer of Leadhost's ingest on PostgreSQL: fastify and pg with
// a pool of 16 connections, one process, written with care. It answers when the
// lead is committed; every request is a transaction of its own.
//
// Its tables, in schema-postgres.sql, have the service's columns, and it writes the
// same rows: delivery, item, dedupe key, contact and its keys, deal. It does what
// the service does with one portal's leads and nothing else: no plugins, no sender
// checks, no limits, no metrics, no policies. Its stamps come from a sequence,
// which costs no lock; the service's feed clock, which lets no reader of the feed miss
// a row, does.
//
// How a request's rows are written (--write):
//   transaction   begin, one prepared statement per table, commit
//   statement     one prepared statement for all rows of a new lead
//
//   node server-postgres.mjs --url URL --write HOW --schema FILE --port NUMBER --connection ID

import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { parseArgs } from "node:util";

import Fastify from "fastify";
import pg from "pg";

import { convert } from "./convert.mjs";
import { now, uuid } from "./ids.mjs";

const { values: options } = parseArgs({
  options: {
    url: { type: "string" },
    write: { type: "string" },
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

const pool = new pg.Pool({ connectionString: options.url, max: 16, options: "-c search_path=leadhost" });
await pool.query(`create schema leadhost; ${readFileSync(options.schema, "utf8")}; create sequence stamps`);

// Named: parsed and planned once for each connection.
const CONTACT_OF = {
  name: "contact_of",
  text: `select contact_id from contact_keys where workspace_id = $1 and key = any ($2)
    order by array_position($2, key) limit 1`,
};
const PRODUCT_OF = {
  name: "product_of",
  text: `select id from products where workspace_id = $1 and external_id = any ($2)
    order by array_position($2, external_id) limit 1`,
};
const CLAIM = {
  name: "claim",
  text: `insert into dedupe (workspace_id, connection_id, key, delivery_id, item, until_at, deal_id, contact_id)
    values ($1, $2, $3, $4, $5, null, $6, $7) on conflict do nothing`,
};
const CLAIM_OF = {
  name: "claim_of",
  text: "select deal_id, contact_id from dedupe where connection_id = $1 and key = $2",
};
const CONTACT = {
  name: "contact",
  text: `insert into contacts (workspace_id, cursor_us, id, name, email, phone_number, props, created_at, updated_at)
    values ($1, nextval('stamps'), $2, $3, $4, $5, '{}', $6, $6)`,
};
const CONTACT_KEYS = {
  name: "contact_keys",
  text: `insert into contact_keys (workspace_id, key, contact_id) select $1, key, $3 from unnest($2::text[]) as key
    on conflict do nothing`,
};
const DEAL = {
  name: "deal",
  text: `insert into deals (workspace_id, cursor_us, id, person_id, agent_id, status, title, props, created_at,
      updated_at, stage_code, product_id, external_id, connection_id, delivery_id)
    values ($1, nextval('stamps'), $2, $3, $4, 'open', $5, $6, $7, $7, 'new', $8, $9, $10, $11)`,
};
const DELIVERY = {
  name: "delivery",
  text: `insert into deliveries (workspace_id, id, connection_id, received_at, method, path, query, headers,
      body_bytes, status, error, notes, ran, attempts, next_attempt_at, presented, body)
    values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, null, '[]', $11, 0, null, null, $12)`,
};
const ITEM = {
  name: "item",
  text: `insert into items (workspace_id, delivery_id, item, status, external_id, deal_id, contact_id, message)
    values ($1, $2, $3, $4, $5, $6, $7, $8)`,
};
// If the key exists, nothing is written and no row is returned.
const WHOLE = {
  name: "whole",
  text: `with known as (
      select contact_id from contact_keys where workspace_id = $1 and key = any ($2::text[])
      order by array_position($2::text[], key) limit 1
    ), product as (
      select id from products where workspace_id = $1 and external_id = any ($3::text[])
      order by array_position($3::text[], external_id) limit 1
    ), claimed as (
      insert into dedupe (workspace_id, connection_id, key, delivery_id, item, until_at, deal_id, contact_id)
      values ($1, $4, $5, $6, 0, null, $7, coalesce((select contact_id from known), $8))
      on conflict do nothing
      returning contact_id
    ), person as (
      insert into contacts (workspace_id, cursor_us, id, name, email, phone_number, props, created_at, updated_at)
      select $1, nextval('stamps'), contact_id, $9, $10, $11, '{}', $12::timestamptz, $12::timestamptz
      from claimed where not exists (select from known)
    ), named as (
      insert into contact_keys (workspace_id, key, contact_id)
      select $1, key, contact_id from claimed, unnest($2::text[]) as key
      on conflict do nothing
    ), sold as (
      insert into deals (workspace_id, cursor_us, id, person_id, agent_id, status, title, props, created_at,
        updated_at, stage_code, product_id, external_id, connection_id, delivery_id)
      select $1, nextval('stamps'), $7, contact_id, $13, 'open', $14, $15, $12::timestamptz, $12::timestamptz, 'new',
        (select id from product), $16, $4, $6
      from claimed
    ), arrived as (
      insert into deliveries (workspace_id, id, connection_id, received_at, method, path, query, headers,
        body_bytes, status, error, notes, ran, attempts, next_attempt_at, presented, body)
      select $1, $6, $4, $12::timestamptz, $17, $18, $19, $20, $21, 'converted', null, '[]', $22, 0, null, null, $23
      from claimed
    )
    insert into items (workspace_id, delivery_id, item, status, external_id, deal_id, contact_id, message)
    select $1, $6, 0, 'converted', $16, $7, contact_id, null from claimed
    returning contact_id`,
};

// ---- requests

const app = Fastify({ logger: false, bodyLimit: 4 << 20 });
app.removeAllContentTypeParsers();
app.addContentTypeParser("*", { parseAs: "buffer" }, (_request, body, done) => done(null, body));
app.post("/ingest-lead/:connection", async (request, reply) => {
  if (request.params.connection !== connection.id) {
    return reply.code(404).send({ statusCode: 404, message: "There is no such connection." });
  }
  const at = request.url.indexOf("?");
  const delivery = {
    id: uuid(),
    received: timestamp(now()),
    method: request.method,
    path: at < 0 ? request.url : request.url.slice(0, at),
    query: JSON.stringify(Object.entries(request.query)),
    headers: JSON.stringify(Object.entries(request.headers)),
    body: request.body,
  };
  const { items, problem } = convert(connection, request.body);
  let stored;
  try {
    stored = await store(delivery, items, problem);
  } catch (error) {
    return reply.code(503).send({ statusCode: 503, message: String(error) });
  }
  return reply
    .code(problem ? 400 : 200)
    .header("content-type", "application/json; charset=utf-8")
    .send(
      problem
        ? JSON.stringify({ statusCode: 400, message: problem })
        : JSON.stringify({ success: true, deliveryId: delivery.id, ...stored }),
    );
});
app.get("/health/ready", (_request, reply) => reply.send({ ready: true }));

// ---- rows

async function store(delivery, items, problem) {
  if (items.length === 0) {
    // One row: a transaction by itself.
    const status = problem ? "rejected" : "ignored";
    await pool.query(deliveryRow(delivery, status));
    return { status, leads: [], problems: [] };
  }
  if (options.write === "statement" && items.length === 1 && items[0].lead?.dedupe) {
    const stored = await atOnce(delivery, items[0].lead);
    if (stored) return stored;
  }
  const client = await pool.connect();
  try {
    for (;;) {
      await client.query("begin");
      const stored = await inTransaction(client, delivery, items);
      await client.query(stored ? "commit" : "rollback");
      if (stored) {
        client.release();
        return stored;
      }
    }
  } catch (error) {
    // Its state is unknown, so it is not used again.
    client.release(true);
    throw error;
  }
}

/** Undefined: the key is taken. */
async function atOnce(delivery, lead) {
  const deal = uuid();
  const { rows } = await pool.query({
    ...WHOLE,
    values: [
      workspace,
      lead.contactKeys,
      lead.products,
      connection.id,
      lead.dedupe,
      delivery.id,
      deal,
      uuid(),
      lead.name,
      lead.emails[0] ?? null,
      lead.phones[0] ?? null,
      delivery.received,
      connection.agent,
      lead.title,
      lead.props,
      lead.externalId,
      delivery.method,
      delivery.path,
      delivery.query,
      delivery.headers,
      delivery.body.length,
      ran,
      delivery.body,
    ],
  });
  if (rows.length === 0) return undefined;
  return { status: "converted", leads: [entry(0, lead, deal, rows[0].contact_id, false)], problems: [] };
}

/** Undefined: another request has just made this contact, so all of it is tried again. */
async function inTransaction(client, delivery, items) {
  const leads = [];
  const problems = [];
  const rows = [];
  let status = "ignored";
  for (const [index, item] of items.entries()) {
    if (item.invalid) {
      problems.push({ item: index, status: "invalid", message: item.invalid });
      rows.push([index, "invalid", null, null, null, item.invalid]);
      if (status === "ignored") status = "rejected";
      continue;
    }
    const made = await leadRows(client, delivery, index, item.lead);
    if (!made) return undefined;
    status = made.duplicate && status !== "converted" ? "duplicate" : "converted";
    rows.push([index, made.status, made.externalId, made.dealId, made.contactId, null]);
    leads.push(made);
  }
  await client.query(deliveryRow(delivery, status));
  for (const row of rows) await client.query({ ...ITEM, values: [workspace, delivery.id, ...row] });
  return { status, leads, problems };
}

async function leadRows(client, delivery, index, lead) {
  const known = await client.query({ ...CONTACT_OF, values: [workspace, lead.contactKeys] });
  const contact = known.rows[0]?.contact_id ?? uuid();
  const deal = uuid();
  if (lead.dedupe) {
    const claimed = await client.query({
      ...CLAIM,
      values: [workspace, connection.id, lead.dedupe, delivery.id, index, deal, contact],
    });
    if (claimed.rowCount === 0) {
      const { rows } = await client.query({ ...CLAIM_OF, values: [connection.id, lead.dedupe] });
      return entry(index, lead, rows[0].deal_id, rows[0].contact_id, true);
    }
  }
  if (known.rowCount === 0) {
    await client.query({
      ...CONTACT,
      values: [workspace, contact, lead.name, lead.emails[0] ?? null, lead.phones[0] ?? null, delivery.received],
    });
    const named = await client.query({ ...CONTACT_KEYS, values: [workspace, lead.contactKeys, contact] });
    if (named.rowCount < lead.contactKeys.length) return undefined;
  }
  let product = null;
  if (lead.products.length) {
    const found = await client.query({ ...PRODUCT_OF, values: [workspace, lead.products] });
    product = found.rows[0]?.id ?? null;
  }
  await client.query({
    ...DEAL,
    values: [
      workspace,
      deal,
      contact,
      connection.agent,
      lead.title,
      lead.props,
      delivery.received,
      product,
      lead.externalId,
      connection.id,
      delivery.id,
    ],
  });
  return entry(index, lead, deal, contact, false);
}

function deliveryRow(delivery, status) {
  return {
    ...DELIVERY,
    values: [
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
    ],
  };
}

function entry(item, lead, dealId, contactId, duplicate) {
  const status = duplicate ? "duplicate" : "converted";
  return { item, status, externalId: lead.externalId, dealId, contactId, duplicate };
}

/** Microseconds as the database reads them. */
function timestamp(micros) {
  const text = new Date(Math.floor(micros / 1000)).toISOString();
  return `${text.slice(0, -1)}${String(micros % 1000).padStart(3, "0")}Z`;
}

await app.listen({ host: "127.0.0.1", port: Number(options.port) });
process.on("SIGTERM", async () => {
  await app.close();
  await pool.end();
  process.exit(0);
});
