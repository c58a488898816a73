-- Ids are uuid (a connection's is text), times are timestamptz, the stamps of a feed are
-- microseconds since the epoch. JSON whose shape is ours is jsonb; JSON that others wrote is
-- json, which keeps it letter by letter: jsonb would order its keys, rewrite its numbers and
-- refuse some of its characters. Columns have the names that they have in SQLite.
--
-- The key of each tenant's table begins with workspace_id, and its rows are visible only to a
-- transaction that names the workspace: see the end of this file. The tables on a lead's way
-- carry no foreign keys: the batch that writes them has just read or made the rows they name.
--
-- A row that is looked up by a key of its own has an index that begins with that key. If all
-- indexes began with the workspace, a small table would be read by the workspace.

create table store (
  one boolean primary key default true check (one),
  id uuid not null,
  -- Agents are numbered without gaps, which a sequence cannot.
  last_agent bigint not null default 0,
  -- Which key the secrets are sealed with: hosts with another one do not start.
  sealing_key text,
  -- Which server the store was on when it was last written: a store that finds itself on
  -- another one was restored, or follows a fail-over.
  server text
);

-- A lease is a number that grows with every claim.
create sequence leases;

-- The wall clock of the feeds: one for all hosts, read after every lock is held.
create function feed_now() returns bigint
language sql volatile
return (extract(epoch from clock_timestamp()) * 1000000)::bigint;

-- A batch leaves its mark, by which a commit whose answer was lost is found out.
create table commit_markers (
  batch_id uuid primary key,
  at timestamptz not null default clock_timestamp()
);

create index commit_markers_at on commit_markers (at);

-- declarations

create table workspaces (
  id uuid primary key,
  slug text not null unique,
  name text not null,
  region text not null,
  time_zone text not null,
  rate_limit bigint not null,
  created_at timestamptz not null
);

create table partners (
  workspace_id uuid not null references workspaces (id),
  id uuid primary key,
  name text not null,
  created_at timestamptz not null,
  unique (workspace_id, name)
);

create table agents (
  workspace_id uuid not null references workspaces (id),
  id bigint primary key,
  name text not null,
  number text,
  kind text not null,
  channel text,
  adapter text,
  internal boolean not null,
  unique (workspace_id, name)
);

create table owners (
  workspace_id uuid not null references workspaces (id),
  id uuid primary key,
  name text not null,
  email text not null,
  unique (workspace_id, email)
);

create table products (
  workspace_id uuid not null references workspaces (id),
  id uuid primary key,
  external_id text not null,
  name text not null,
  description text,
  cursor_us bigint not null,
  created_at timestamptz not null,
  updated_at timestamptz not null,
  -- the import that named it last
  import_at timestamptz,
  unique (workspace_id, external_id)
);

create unique index products_feed on products (workspace_id, cursor_us);

create table connections (
  workspace_id uuid not null references workspaces (id),
  id text primary key,
  -- `source`, or `channel`
  kind text not null,
  partner_id uuid references partners (id),
  name text not null,
  plugin text not null,
  config json not null,
  config_version bigint not null,
  agent_id bigint references agents (id),
  allow jsonb not null,
  checks jsonb not null,
  routes jsonb not null,
  secrets jsonb not null,
  sealed bytea not null,
  fingerprint text not null,
  region text not null,
  time_zone text not null,
  dedupe_by_content boolean not null,
  settings jsonb not null,
  paused_at timestamptz,
  paused_reason text,
  unique (workspace_id, kind, name)
);

create table keys (
  id uuid primary key,
  digest bytea not null unique,
  kind text not null,
  workspace_id uuid references workspaces (id),
  partner_id uuid references partners (id),
  role text,
  label text not null,
  hint text not null,
  created_at timestamptz not null,
  expires_at timestamptz,
  revoked_at timestamptz,
  last_used_at timestamptz
);

-- plugins

create table plugins (
  digest text primary key,
  description json not null,
  contract text not null,
  bytes bigint not null,
  checks json not null,
  golden bigint not null,
  origin text not null,
  -- The first version of a name that serves ties the name to its publisher.
  publisher text,
  stored_at timestamptz not null,
  wasm bytea not null
);

create table activations (
  name text primary key,
  digest text not null references plugins (digest),
  previous text references plugins (digest),
  generation bigint not null,
  activated_at timestamptz not null
);

create table refusals (
  number bigint generated always as identity primary key,
  origin text not null,
  digest text,
  reason text not null,
  at timestamptz not null
);

-- Acts of operators, never changed or removed. Each row has the hash of itself and of the row before it.
create table audit (
  number bigint primary key,
  at timestamptz not null,
  key_id uuid,
  label text not null,
  role text,
  address text not null,
  act text not null,
  target text not null,
  outcome text not null,
  begun bigint,
  detail text not null,
  hash text not null
);

-- the way of a lead

create table feed_clock (
  workspace_id uuid not null,
  entity smallint not null,
  last_us bigint not null,
  -- The greatest stamp of a tombstone that was deleted: a client whose cursor is older has to
  -- read the feed from its beginning.
  forgotten_us bigint not null default 0,
  primary key (workspace_id, entity)
) with (fillfactor = 20, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 500);

-- Unfinished work: deliveries (item -1), fetches (their item's place), and messages that are
-- not sent yet (item -2, by the message's id). The usual delivery is finished at once and
-- never has a row. Leases are only here, also that of a finished delivery which is replayed.
-- The table names no person, so that a host finds work without naming workspaces.
create table queue (
  workspace_id uuid not null,
  delivery_id uuid not null,
  item integer not null,
  connection_id text not null,
  -- the delivery's state, `fetch`, or `waiting`, `sending`, `unknown`
  status text not null,
  -- the plugin version that was last tried on the delivery
  digest text,
  body_bytes bigint not null default 0,
  due_at timestamptz,
  lease bigint not null default 0,
  lease_until_at timestamptz,
  -- of a send, when it is given up: also while it may not go out
  until_at timestamptz,
  primary key (delivery_id, item)
) with (fillfactor = 70, autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 500);

create index queue_due on queue (due_at) where due_at is not null;
-- With its bytes, so that the size of a connection's quarantine is summed without the rows.
create index queue_by_connection on queue (connection_id, status) include (body_bytes);
create index queue_by_status on queue (status, delivery_id);
-- Connections take turns: the worker looks for waiting work connection by connection.
create index queue_conversions on queue (connection_id, due_at)
  where item = -1 and due_at is not null;
create index queue_calls on queue (connection_id, due_at)
  where item <> -1 and due_at is not null;

create table deliveries (
  workspace_id uuid not null,
  id uuid not null,
  connection_id text not null,
  received_at timestamptz not null,
  method text not null,
  path text not null,
  query json not null,
  headers json not null,
  body_bytes bigint not null,
  status text not null,
  error text,
  notes json not null,
  ran jsonb,
  attempts bigint not null,
  next_attempt_at timestamptz,
  presented bytea,
  -- the sender of an unproven delivery, by the owner of the network
  peer text,
  body bytea not null,
  primary key (workspace_id, id)
);

create index deliveries_by_connection on deliveries (connection_id, id);
-- Finished without a lead: too few to be met soon in the order of time.
create index deliveries_without_lead on deliveries (workspace_id, status, id)
  where status in ('rejected', 'duplicate', 'ignored');

create table items (
  workspace_id uuid not null,
  delivery_id uuid not null,
  item integer not null,
  status text not null,
  external_id text,
  deal_id uuid,
  contact_id uuid,
  message text,
  primary key (workspace_id, delivery_id, item)
);

create index items_by_contact on items (contact_id) where contact_id is not null;

create table fetches (
  workspace_id uuid not null,
  delivery_id uuid not null,
  item integer not null,
  connection_id text not null,
  dedupe_key text,
  external_id text,
  hop integer not null,
  due_at timestamptz not null,
  until_at timestamptz not null,
  attempts bigint not null,
  ran jsonb not null,
  request json not null,
  state bytea not null,
  response_head json,
  response_body bytea,
  primary key (workspace_id, delivery_id, item)
);

-- The answers of sources to the fetches of a delivery, kept for as long as the delivery, so
-- that a replay needs no second call. The number is the order in which they were settled.
create table answers (
  number bigint generated always as identity primary key,
  workspace_id uuid not null,
  delivery_id uuid not null,
  item integer not null,
  hop integer not null,
  external_id text,
  request json not null,
  response_head json not null,
  response_body bytea not null,
  unique (workspace_id, delivery_id, item, hop)
);

create table dedupe (
  workspace_id uuid not null,
  connection_id text not null,
  key text not null,
  delivery_id uuid not null,
  item integer not null,
  until_at timestamptz,
  deal_id uuid,
  contact_id uuid,
  primary key (connection_id, key)
);

create index dedupe_ends on dedupe (until_at) where until_at is not null;

create table contacts (
  workspace_id uuid not null,
  cursor_us bigint not null,
  id uuid not null,
  name text,
  email text,
  phone_number text,
  banned_at timestamptz,
  props json not null,
  -- Fields that a person edited, such as ["name"].
  edited jsonb not null default '[]',
  created_at timestamptz not null,
  updated_at timestamptz not null,
  primary key (workspace_id, id)
);

-- A stamp is unique within its workspace, so the id adds nothing to the order.
create unique index contacts_feed on contacts (workspace_id, cursor_us);

create table contact_keys (
  workspace_id uuid not null,
  key text not null,
  contact_id uuid not null,
  primary key (workspace_id, key)
);

create index contact_keys_by_contact on contact_keys (contact_id);

-- Keys of a contact that another one has had before: a person is found by every address and
-- phone that is theirs, also one that two people share.
create table shared_keys (
  workspace_id uuid not null,
  key text not null,
  contact_id uuid not null,
  primary key (workspace_id, key, contact_id)
);

create index shared_keys_by_contact on shared_keys (contact_id);

create table deals (
  workspace_id uuid not null,
  cursor_us bigint not null,
  id uuid not null,
  person_id uuid not null,
  agent_id bigint,
  owner_id uuid,
  status text not null,
  title text,
  props json not null,
  edited jsonb not null default '[]',
  created_at timestamptz not null,
  updated_at timestamptz not null,
  stage_code text not null,
  product_id uuid,
  external_id text,
  connection_id text,
  delivery_id uuid,
  -- Set if a partner made the deal; the others belong to the partner of their connection.
  partner_id uuid,
  primary key (workspace_id, id)
);

create unique index deals_feed on deals (workspace_id, cursor_us);
create index deals_by_person on deals (workspace_id, person_id, id);
create index deals_by_external_id on deals (workspace_id, external_id)
  where external_id is not null;

-- The log of changes of a deal, with their authors.
create table deal_history (
  number bigint generated always as identity primary key,
  workspace_id uuid not null,
  deal_id uuid not null,
  at timestamptz not null,
  who json not null,
  changes json not null
);

create index deal_history_by_deal on deal_history (deal_id, number);

create table deal_logs (
  workspace_id uuid not null,
  id uuid primary key,
  deal_id uuid not null,
  created_at timestamptz not null,
  partner_id uuid not null,
  key_id uuid not null,
  kind text not null,
  subject text not null,
  description text,
  metadata json not null
);

create index deal_logs_by_deal on deal_logs (deal_id, id);

-- what messaging writes

create table conversations (
  workspace_id uuid not null,
  cursor_us bigint not null,
  id uuid primary key,
  contact_id uuid not null,
  deal_id uuid,
  agent_id bigint,
  agent_type text,
  source text,
  channel text,
  status text not null,
  created_at timestamptz not null,
  updated_at timestamptz not null,
  first_message_at timestamptz,
  answered_at timestamptz,
  last_message_at timestamptz,
  no_response_at timestamptz,
  transferred_at timestamptz,
  appointment_at timestamptz,
  closed_at timestamptz,
  props json not null,
  -- when the first message of the instance was stored
  messaged_at timestamptz,
  -- transferred to people when it is not answered in time
  transfer boolean not null default true,
  -- unanswered by then it is no_response; idle until then it closes
  respond_by timestamptz,
  close_by timestamptz,
  -- the earlier of the two; a column, since row security policies prevent the use of an index
  -- on an expression
  due_at timestamptz generated always as (least(respond_by, close_by)) stored
);

create unique index conversations_feed on conversations (workspace_id, cursor_us);
create unique index conversations_open on conversations (contact_id, agent_id)
  where closed_at is null;
create index conversations_due on conversations (due_at) where due_at is not null;
create index conversations_by_contact on conversations (contact_id);
create index conversations_by_deal on conversations (deal_id) where deal_id is not null;

create table messages (
  workspace_id uuid not null,
  cursor_us bigint not null,
  id uuid primary key,
  conversation_id uuid not null,
  contact_id uuid not null,
  agent_id bigint,
  created_at timestamptz not null,
  actor text not null,
  kind text not null,
  content text,
  metadata json not null,
  state text not null default '',
  delivered_at timestamptz,
  read_at timestamptz
);

create unique index messages_feed on messages (workspace_id, cursor_us);
create index messages_by_conversation on messages (conversation_id, id);
create index messages_by_agent on messages (agent_id, id);

-- Messages that are not sent yet, or whose outcome is unknown. The queue has the time when
-- each is due, and its lease.
create table sends (
  workspace_id uuid not null,
  message_id uuid not null,
  conversation_id uuid not null,
  contact_id uuid not null,
  connection_id text not null,
  recipient text not null,
  payload json not null,
  attempts bigint not null,
  until_at timestamptz not null,
  primary key (workspace_id, message_id)
);

-- The message of each channel's id, or the status of an id whose message is not known yet.
create table channel_refs (
  workspace_id uuid not null,
  connection_id text not null,
  external_id text not null,
  message_id uuid,
  progress json,
  recipient_id text,
  until_at timestamptz,
  primary key (connection_id, external_id)
);

-- With the workspace, so that they are counted without a look at the rows.
create index channel_refs_end on channel_refs (until_at) include (workspace_id)
  where until_at is not null;
create index channel_refs_strays on channel_refs (recipient_id) where recipient_id is not null;

-- Pauses of sends: to one contact, or, with the nil id, of a whole number. It names no
-- person, so that a host finds work without naming workspaces.
create table holds (
  workspace_id uuid not null,
  connection_id text not null,
  contact_id uuid not null,
  until_at timestamptz not null,
  primary key (connection_id, contact_id)
);

create index holds_end on holds (until_at);
create index holds_of_numbers on holds (until_at)
  where contact_id = '00000000-0000-0000-0000-000000000000';

create table message_errors (
  workspace_id uuid not null,
  cursor_us bigint not null,
  id uuid primary key,
  conversation_id uuid,
  deal_id uuid,
  agent_id bigint,
  message_id uuid,
  external_id text,
  recipient_id text,
  code text not null,
  title text,
  description text,
  details text,
  template_name text,
  channel text,
  occurred_at timestamptz not null
);

create unique index message_errors_feed on message_errors (workspace_id, cursor_us);
create index message_errors_by_conversation on message_errors (conversation_id, cursor_us);
create index message_errors_by_deal on message_errors (deal_id, cursor_us);
-- An error about an unknown message has only its recipient: an erasure finds it by that.
create index message_errors_strays on message_errors (recipient_id)
  where message_id is null and recipient_id is not null;

-- An instance's templates, as its provider listed them.
create table template_lists (
  workspace_id uuid not null,
  connection_id text primary key,
  synced_at timestamptz not null,
  error text,
  unlisted boolean not null,
  templates json not null
);

create table idempotency (
  workspace_id uuid not null,
  partner_id uuid not null,
  route text not null,
  key text not null,
  fingerprint text not null,
  message_id uuid,
  -- null while the first request is running
  answer json,
  until_at timestamptz not null,
  primary key (partner_id, route, key)
);

create index idempotency_ends on idempotency (until_at);
create index idempotency_by_message on idempotency (message_id) where message_id is not null;

-- Conversations and deals that were handed over to people.
create table tickets (
  workspace_id uuid not null,
  cursor_us bigint not null,
  id uuid primary key,
  conversation_id uuid,
  deal_id uuid,
  contact_id uuid not null,
  agent_id bigint,
  -- the agent that handed it over, as it was when the ticket opened
  agent_type text,
  source text,
  owner_id uuid,
  -- `open`, `answered`, `resolved`
  status text not null,
  special_instructions text,
  opened_at timestamptz not null,
  answered_at timestamptz,
  resolved_at timestamptz,
  updated_at timestamptz not null
);

create unique index tickets_feed on tickets (workspace_id, cursor_us);
create index tickets_newest on tickets (workspace_id, id);
create index tickets_by_status on tickets (workspace_id, status, id);
create unique index tickets_live on tickets (conversation_id)
  where resolved_at is null and conversation_id is not null;
create unique index tickets_live_of_deals on tickets (deal_id)
  where resolved_at is null and conversation_id is null;
create index tickets_by_contact on tickets (contact_id);
create index tickets_by_deal on tickets (deal_id) where deal_id is not null;

-- Tombstones of removed rows: internal readers of a feed get them, the export does not.
-- They name no person.
create table tombstones (
  workspace_id uuid not null,
  entity smallint not null,
  cursor_us bigint not null,
  id uuid not null,
  primary key (workspace_id, entity, cursor_us)
);

create index tombstones_oldest on tombstones (cursor_us);

-- The record of erasures, which does not identify the erased person.
create table erasures (
  workspace_id uuid not null,
  id uuid primary key,
  contact_id uuid not null,
  -- `id`, `phone`, `email`: what the contact was found by, not its value
  found_by text not null,
  -- the operator's key
  key_id uuid not null,
  began_at timestamptz not null,
  -- null: it was interrupted, or goes on
  done_at timestamptz,
  -- the number of erased rows of each kind
  erased json not null,
  -- the rows that were found and not erased
  remaining json not null
);

create index erasures_newest on erasures (workspace_id, id);
create index erasures_by_contact on erasures (contact_id, id);

-- Analytics: rollups that follow the feeds of conversations and tickets.

-- The last successful run of each metric set. It belongs to no tenant.
create table rollup_runs (
  metric_set smallint primary key,
  -- all rows committed before this time are counted
  as_of timestamptz not null,
  finished_at timestamptz not null,
  changes bigint not null
);

-- A whole rollup of a metric set of a workspace.
create table rollup_builds (
  workspace_id uuid not null,
  metric_set smallint not null,
  build bigint generated always as identity primary key,
  -- `making`, `serving`, `retired`
  state text not null,
  -- the feed is counted up to this stamp
  after_us bigint not null,
  -- the feed's clock when the build began: rows removed by then were never counted
  began_us bigint not null,
  -- grows with each change of its tables
  step bigint not null,
  -- grows with each change of its counts
  version bigint not null,
  -- if runs have failed for the workspace: the time its counts are as of; null: nothing was
  -- counted
  held_at timestamptz,
  held boolean not null default false
) with (fillfactor = 50, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 500);

create unique index rollup_builds_serving on rollup_builds (workspace_id, metric_set)
  where state = 'serving';
create unique index rollup_builds_making on rollup_builds (workspace_id, metric_set)
  where state = 'making';
create index rollup_builds_of on rollup_builds (workspace_id, metric_set, build);

-- The dimensions of counts; '' and 0 stand for none.
create table rollup_keys (
  workspace_id uuid not null,
  key bigint generated always as identity primary key,
  agent_type text not null,
  agent_id bigint not null,
  source text not null,
  unique (workspace_id, agent_type, agent_id, source)
);

-- The measures that were counted of a conversation or a ticket; `measured` has a bit for each.
-- Facts, counts and days change several times: with free room in their page, a changed row
-- stays in it.
create table rollup_facts (
  workspace_id uuid not null,
  build bigint not null,
  id uuid not null,
  slot integer not null,
  key bigint not null,
  measured smallint not null,
  primary key (build, id)
) with (fillfactor = 85, autovacuum_vacuum_scale_factor = 0.02);

-- The counts of a quarter of an hour, numbered from 1970-01-01.
create table rollup_slots (
  workspace_id uuid not null,
  build bigint not null,
  slot integer not null,
  key bigint not null,
  count_1 bigint not null,
  count_2 bigint not null,
  count_3 bigint not null,
  count_4 bigint not null,
  count_5 bigint not null,
  primary key (build, slot, key)
) with (fillfactor = 85, autovacuum_vacuum_scale_factor = 0.02);

-- Local days of a zone, by the zone's rules of this version, from the slots before
-- `filled_slot`.
create table rollup_cubes (
  workspace_id uuid not null,
  build bigint not null,
  zone text not null,
  tzdata text not null,
  filled_slot integer not null,
  primary key (build, zone)
);

-- The counts of a local day, numbered from 1970-01-01: JSON, [[key, counts..]..].
create table rollup_days (
  workspace_id uuid not null,
  build bigint not null,
  zone text not null,
  day integer not null,
  cells text not null,
  primary key (build, zone, day)
) with (fillfactor = 70, autovacuum_vacuum_scale_factor = 0.02);

-- Zones that are asked for.
create table rollup_zones (
  workspace_id uuid not null,
  zone text not null,
  requests bigint not null,
  used_at timestamptz not null,
  primary key (workspace_id, zone)
);

-- Coordination of the hosts on one database. Nothing here belongs to a tenant or names a
-- person. All times are the database's own.

-- A row for each run of the service. The versions that it serves and has prepared are one
-- report, written whole with every heartbeat.
create table hosts (
  id uuid primary key,
  name text not null,
  version text not null,
  started_at timestamptz not null default clock_timestamp(),
  seen_at timestamptz not null default clock_timestamp(),
  report json not null
) with (fillfactor = 50);

-- A version that every host has to prepare before it becomes active on any of them: one for a
-- plugin's name at a time. The number tells proposals of one digest apart.
create table proposals (
  name text primary key,
  number bigint not null,
  digest text not null references plugins (digest),
  host_id uuid not null,
  until_at timestamptz not null
);

-- The host that holds each periodic job. The fencing token grows with every change of the
-- holder.
create table jobs (
  name text primary key,
  host_id uuid not null,
  fence bigint not null,
  until_at timestamptz not null
) with (fillfactor = 50);

-- The rate limit of each workspace: the time by which its requests so far are paid off, in
-- microseconds of feed_now(). The table is unlogged: a crash empties it, and every count
-- restarts at zero.
create unlogged table rates (
  workspace_id uuid primary key,
  due_us bigint not null,
  refused boolean not null
) with (fillfactor = 20, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 500);

-- A store that moves in from elsewhere. The row is there from the move's first transaction
-- on, and while it has no end the database is not served. How far the move is commits with
-- the rows that it copied.
create table moves (
  one boolean primary key default true check (one),
  -- The store that moves, by its id.
  source uuid not null,
  began_at timestamptz not null default clock_timestamp(),
  done_at timestamptz,
  progress json not null
);

-- The second wall between tenants: these tables show rows only of workspaces that the
-- transaction names in app.ws, and none when it names none. The sub-select makes PostgreSQL
-- read the setting once a statement. Tables that are not in this list hold nothing of a
-- person and are read before the workspace is known; a test holds that list. The owner is
-- not bound, so that a dump by the owner is whole; the service serves as a role that is no
-- owner.
--
-- The wall judges the rows that a query has found and is no way to find them (`is true`). As
-- a bare condition on workspace_id it would lead an index to all rows of a workspace, which
-- looks cheap while a table is young: such a plan is kept, and joins each key that is looked
-- for with every row of the workspace.
do $$
declare
  tenant text;
begin
  foreach tenant in array array[
    'agents', 'owners', 'products',
    'deliveries', 'items', 'fetches', 'answers', 'dedupe',
    'contacts', 'contact_keys', 'shared_keys', 'deals', 'deal_history', 'deal_logs',
    'conversations', 'messages', 'sends', 'channel_refs', 'message_errors', 'idempotency',
    'tickets', 'tombstones', 'erasures',
    'rollup_builds', 'rollup_keys', 'rollup_facts', 'rollup_slots', 'rollup_cubes',
    'rollup_days', 'rollup_zones'
  ] loop
    execute format('alter table %I enable row level security', tenant);
    execute format(
      'create policy named_workspaces on %I using ((workspace_id = any ((select nullif(current_setting(''app.ws'', true), '''')::uuid[])::uuid[])) is true)',
      tenant
    );
  end loop;
end
$$;
