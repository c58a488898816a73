-- Times are microseconds since the epoch, ids are text, JSON is text.
-- What belongs to a tenant leads with workspace_id. The tables on a lead's way
-- carry no foreign keys: the batch that writes them has just read or made what
-- they name, and each check would be a lookup for every lead.

create table store (
  one integer primary key check (one = 1),
  id text not null,
  last_lease integer not null
) strict;

-- declarations

create table workspaces (
  id text primary key,
  slug text not null unique,
  name text not null,
  region text not null,
  time_zone text not null,
  rate_limit integer not null,
  created_us integer not null
) strict;

create table partners (
  workspace_id text not null references workspaces (id),
  id text not null primary key,
  name text not null,
  created_us integer not null,
  unique (workspace_id, name)
) strict;

create table agents (
  workspace_id text not null references workspaces (id),
  id integer primary key autoincrement,
  name text not null,
  number text,
  kind text not null,
  channel text,
  adapter text,
  config text not null,
  internal integer not null,
  unique (workspace_id, name)
) strict;

create table owners (
  workspace_id text not null references workspaces (id),
  id text not null primary key,
  name text not null,
  email text not null,
  unique (workspace_id, email)
) strict;

create table products (
  workspace_id text not null references workspaces (id),
  id text not null primary key,
  external_id text not null,
  name text not null,
  description text,
  unique (workspace_id, external_id)
) strict;

create table connections (
  workspace_id text not null references workspaces (id),
  id text not null primary key,
  partner_id text not null references partners (id),
  name text not null,
  plugin text not null,
  config text not null,
  config_version integer not null,
  agent_id integer references agents (id),
  allow text not null,
  checks text not null,
  routes text not null,
  secrets text not null,
  sealed blob not null,
  fingerprint text not null,
  region text not null,
  time_zone text not null,
  dedupe_by_content integer not null,
  paused_us integer,
  paused_reason text,
  unique (workspace_id, name)
) strict;

create table keys (
  id text primary key,
  digest blob not null unique,
  kind text not null,
  workspace_id text references workspaces (id),
  partner_id text references partners (id),
  label text not null,
  hint text not null,
  created_us integer not null,
  expires_us integer,
  revoked_us integer,
  last_used_us integer
) strict;

-- plugins

create table plugins (
  digest text primary key,
  description text not null,
  contract text not null,
  bytes integer not null,
  checks text not null,
  golden integer not null,
  origin text not null,
  stored_us integer not null,
  wasm blob not null
) strict;

create table activations (
  name text primary key,
  digest text not null references plugins (digest),
  previous text references plugins (digest),
  generation integer not null,
  activated_us integer not null
) strict;

create table refusals (
  number integer primary key autoincrement,
  origin text not null,
  digest text,
  reason text not null,
  at_us integer not null
) strict;

-- the way of a lead

create table feed_clock (
  workspace_id text not null,
  entity integer not null,
  last_us integer not null,
  primary key (workspace_id, entity)
) strict, without rowid;

create table deliveries (
  workspace_id text not null,
  id text not null unique,
  connection_id text not null,
  received_us integer not null,
  method text not null,
  path text not null,
  query text not null,
  headers text not null,
  body_bytes integer not null,
  status text not null,
  error text,
  notes text not null,
  ran text,
  attempts integer not null,
  next_attempt_us integer,
  lease integer not null,
  lease_until_us integer,
  presented blob,
  -- Last, so that no other column is read past it.
  body blob not null
) strict;

create index deliveries_by_connection on deliveries (connection_id, id);
-- The usual delivery is finished at once and is in neither of these. A query
-- uses the second only when it names one of its states as a literal.
create index deliveries_due on deliveries (next_attempt_us)
  where next_attempt_us is not null;
create index deliveries_unfinished on deliveries (status, connection_id, id, body_bytes)
  where status = 'queued' or status = 'failed' or status = 'parked'
  or status = 'quarantined' or status = 'unrouted';

create table items (
  workspace_id text not null,
  delivery_id text not null,
  item integer not null,
  status text not null,
  external_id text,
  deal_id text,
  contact_id text,
  message text,
  primary key (delivery_id, item)
) strict, without rowid;

create table fetches (
  workspace_id text not null,
  delivery_id text not null,
  item integer not null,
  connection_id text not null,
  dedupe_key text,
  external_id text,
  hop integer not null,
  due_us integer not null,
  until_us integer not null,
  attempts integer not null,
  ran text not null,
  lease integer not null,
  lease_until_us integer,
  request text not null,
  state blob not null,
  response_head text,
  response_body blob,
  primary key (delivery_id, item)
) strict;

create index fetches_due on fetches (due_us, connection_id);

create table dedupe (
  connection_id text not null,
  key text not null,
  workspace_id text not null,
  delivery_id text not null,
  item integer not null,
  until_us integer,
  deal_id text,
  contact_id text,
  primary key (connection_id, key)
) strict, without rowid;

create index dedupe_ends on dedupe (until_us) where until_us is not null;

create table contacts (
  workspace_id text not null,
  cursor_us integer not null,
  id text not null unique,
  name text,
  email text,
  phone_number text,
  banned_us integer,
  props text not null,
  -- Fields that a person edited: a JSON array of names, such as ["name"].
  edited text not null default '[]',
  created_us integer not null,
  updated_us integer not null
) strict;

-- A stamp is unique within its workspace, so the id adds nothing to the order.
create unique index contacts_feed on contacts (workspace_id, cursor_us);

create table contact_keys (
  workspace_id text not null,
  key text not null,
  contact_id text not null,
  primary key (workspace_id, key)
) strict, without rowid;

create table deals (
  workspace_id text not null,
  cursor_us integer not null,
  id text not null unique,
  person_id text not null,
  agent_id integer,
  owner_id text,
  status text not null,
  title text,
  props text not null,
  edited text not null default '[]',
  created_us integer not null,
  updated_us integer not null,
  stage_code text not null,
  product_id text,
  external_id text,
  connection_id text,
  delivery_id text
) strict;

create unique index deals_feed on deals (workspace_id, cursor_us);
create index deals_by_person on deals (person_id, id);
create index deals_by_external_id on deals (workspace_id, external_id)
  where external_id is not null;

-- what messaging writes

create table conversations (
  workspace_id text not null,
  cursor_us integer not null,
  id text not null unique,
  contact_id text not null,
  deal_id text,
  agent_id integer,
  agent_type text,
  source text,
  channel text,
  status text not null,
  created_us integer not null,
  updated_us integer not null,
  first_message_us integer,
  answered_us integer,
  last_message_us integer,
  no_response_us integer,
  transferred_us integer,
  appointment_us integer,
  closed_us integer,
  props text not null
) strict;

create unique index conversations_feed on conversations (workspace_id, cursor_us);

create table messages (
  workspace_id text not null,
  cursor_us integer not null,
  id text not null unique,
  conversation_id text not null,
  created_us integer not null,
  actor text not null,
  kind text not null,
  content text,
  metadata text not null,
  delivered_us integer,
  read_us integer
) strict;

create unique index messages_feed on messages (workspace_id, cursor_us);
