-- Times are timestamptz, stamps of a feed are microseconds since the epoch, ids
-- are uuid (a connection's is text). JSON whose shape is ours is jsonb; JSON
-- that others wrote is json, which keeps it letter by letter: jsonb would order
-- its keys, rewrite its numbers and refuse some of its characters.
--
-- What belongs to a tenant leads with workspace_id, and shows itself only to a
-- transaction that names the workspace: see the end of this file. The tables on
-- a lead's way carry no foreign keys: the batch that writes them has just read
-- or made what they name.

create table store (
  one boolean primary key default true check (one),
  id uuid not null,
  -- Agents are numbered without gaps, which a sequence cannot.
  last_agent bigint not null default 0
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
  id uuid not null primary key,
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
  config json not null,
  internal boolean not null,
  unique (workspace_id, name)
);

create table owners (
  workspace_id uuid not null references workspaces (id),
  id uuid not null primary key,
  name text not null,
  email text not null,
  unique (workspace_id, email)
);

create table products (
  workspace_id uuid not null references workspaces (id),
  id uuid not null primary key,
  external_id text not null,
  name text not null,
  description text,
  unique (workspace_id, external_id)
);

create table connections (
  workspace_id uuid not null references workspaces (id),
  id text not null primary key,
  partner_id uuid not null references partners (id),
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
  paused_at timestamptz,
  paused_reason text,
  unique (workspace_id, name)
);

create table keys (
  id uuid primary key,
  digest bytea not null unique,
  kind text not null,
  workspace_id uuid references workspaces (id),
  partner_id uuid references partners (id),
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

-- the way of a lead

create table feed_clock (
  workspace_id uuid not null,
  entity smallint not null,
  last_us bigint not null,
  primary key (workspace_id, entity)
) with (fillfactor = 20, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 500);

-- What is not finished: deliveries (item -1) and fetches (their item's place).
-- The usual delivery is finished at once and was never in it. Who holds a piece
-- of work is written here alone, also for a finished delivery that is replayed.
-- It names no person, so that a host finds work without naming workspaces.
create table queue (
  workspace_id uuid not null,
  delivery_id uuid not null,
  item integer not null,
  connection_id text not null,
  -- The delivery's state, or `fetch`.
  status text not null,
  -- What the delivery was last tried with.
  digest text,
  body_bytes bigint not null default 0,
  due_at timestamptz,
  lease bigint not null default 0,
  lease_until timestamptz,
  primary key (delivery_id, item)
) with (fillfactor = 70, autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 500);

create index queue_due on queue (due_at) where due_at is not null;
create index queue_by_connection on queue (connection_id, status);
create index queue_by_status on queue (status, delivery_id);

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
  body bytea not null,
  primary key (workspace_id, id)
);

create index deliveries_by_connection on deliveries (connection_id, id);

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

-- What sources answered to the fetches of a delivery, kept for as long as the
-- delivery, so that a replay needs no second call. The number is the order in
-- which the fetches were settled.
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
  primary key (workspace_id, id)
);

create unique index deals_feed on deals (workspace_id, cursor_us);
create index deals_by_person on deals (workspace_id, person_id, id);
create index deals_by_external_id on deals (workspace_id, external_id)
  where external_id is not null;

-- what messaging writes

create table conversations (
  workspace_id uuid not null,
  cursor_us bigint not null,
  id uuid not null,
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
  primary key (workspace_id, id)
);

create unique index conversations_feed on conversations (workspace_id, cursor_us);

create table messages (
  workspace_id uuid not null,
  cursor_us bigint not null,
  id uuid not null,
  conversation_id uuid not null,
  created_at timestamptz not null,
  actor text not null,
  kind text not null,
  content text,
  metadata json not null,
  delivered_at timestamptz,
  read_at timestamptz,
  primary key (workspace_id, id)
);

create unique index messages_feed on messages (workspace_id, cursor_us);

-- The second wall between tenants: these tables show rows only of workspaces
-- that the transaction names in app.ws, and none when it names none. The
-- sub-select makes PostgreSQL read the setting once a statement. Tables that are
-- not in this list hold nothing of a person and are read before the workspace is
-- known; a test holds that list. The owner is not bound, so that a dump by the
-- owner is whole; the service serves as a role that is no owner.
do $$
declare
  tenant text;
begin
  foreach tenant in array array[
    'agents', 'owners', 'products', 'deliveries', 'items', 'fetches', 'answers', 'dedupe',
    'contacts', 'contact_keys', 'deals', 'conversations', 'messages'
  ] loop
    execute format('alter table %I enable row level security', tenant);
    execute format(
      'create policy named_workspaces on %I using (workspace_id = any ((select nullif(current_setting(''app.ws'', true), '''')::uuid[])::uuid[]))',
      tenant
    );
  end loop;
end
$$;
