// The peer of Leadhost's export: fastify and better-sqlite3 on the same
// messages in a file of its own with the tables of schema.sql, one process, written
// with care. A keyset page reads by the same index, in the same order, and answers the
// same body, letter by letter.
//
// It checks one key and does nothing else: no rate limit, no metrics, no cursor that is
// bound to a workspace or a checksum.
//
//   node export.mjs --database FILE --workspace ID --key KEY --port NUMBER

import { parseArgs } from "node:util";

import Database from "better-sqlite3";
import Fastify from "fastify";

const { values: options } = parseArgs({
  options: {
    database: { type: "string" },
    workspace: { type: "string" },
    key: { type: "string" },
    port: { type: "string" },
    connection: { type: "string" },
  },
});

const db = new Database(options.database, { readonly: true });
db.pragma("cache_size = -16000");
const clockOf = db
  .prepare("select last_us from feed_clock where workspace_id = ? and entity = 2")
  .pluck();
// Arrays cost less than objects with a key for each column.
const page = db
  .prepare(
    `select id, workspace_id, cursor_us, conversation_id, created_at, actor, kind, content, metadata,
       delivered_at, read_at
     from messages
     where workspace_id = ? and cursor_us > ? and cursor_us <= ?
     order by cursor_us
     limit ?`,
  )
  .raw();

const app = Fastify({ logger: false });
app.get("/v1/export/messages", (request, reply) => {
  if (request.headers.authorization !== `Bearer ${options.key}`) {
    reply.code(401).send({ error: "The key is not known." });
    return;
  }
  const { limit: wanted, updated_since: since, cursor } = request.query;
  const limit = Math.min(Math.max(Number(wanted ?? 100), 1), 1000);
  let after = since === undefined ? -1 : micros(since) - 1;
  let upper;
  if (cursor === undefined) {
    upper = clockOf.get(options.workspace) ?? 0;
  } else {
    [after, upper] = Buffer.from(cursor, "base64url").toString().split(".").map(Number);
  }
  const rows = page.all(options.workspace, after, upper, limit + 1);
  const more = rows.length > limit;
  if (more) rows.pop();
  let body = '{"data":[';
  for (let at = 0; at < rows.length; at += 1) {
    if (at > 0) body += ",";
    body += message(rows[at]);
  }
  const next = more
    ? `"${Buffer.from(`${rows[rows.length - 1][2]}.${upper}`).toString("base64url")}"`
    : "null";
  body += `],"next_cursor":${next},"count":${rows.length}}`;
  reply.header("content-type", "application/json; charset=utf-8").send(body);
});
app.get("/health/ready", (_request, reply) => reply.send({ ready: true }));

/** What is JSON already, and what needs no escape, is put in as it is. */
function message(row) {
  const content = row[7] === null ? "null" : JSON.stringify(row[7]);
  return (
    `{"id":"${row[0]}","workspace_id":"${row[1]}","cursor_at":${time(row[2])},` +
    `"conversation_id":"${row[3]}","created_at":${time(row[4])},"actor":"${row[5]}","type":"${row[6]}",` +
    `"content":${content},"metadata":${row[8]},"delivered_at":${time(row[9])},"read_at":${time(row[10])}}`
  );
}

/** Six digits, always. */
function time(micros) {
  if (micros === null) return "null";
  const millis = Math.floor(micros / 1000);
  const text = new Date(millis).toISOString();
  return `"${text.slice(0, -1)}${String(micros - millis * 1000).padStart(3, "0")}Z"`;
}

function micros(text) {
  const digits = /\.(\d+)Z$/.exec(text)?.[1] ?? "";
  const seconds = Math.floor(Date.parse(text) / 1000);
  return seconds * 1_000_000 + Number(digits.padEnd(6, "0").slice(0, 6));
}

await app.listen({ host: "127.0.0.1", port: Number(options.port) });
process.on("SIGTERM", async () => {
  await app.close();
  db.close();
  process.exit(0);
});
