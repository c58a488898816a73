-- The peers' own tables on SQLite: the service's tables for a lead, or for an export of
-- messages, with the same columns. Ids are text, as in requests and answers.

create table feed_clock (
  workspace_id text not null,
  entity integer not null,
  last_us integer not null,
  primary key (workspace_id, entity)
) strict, without rowid;

create table products (
  workspace_id text not null,
  id text not null primary key,
  external_id text not null,
  name text not null,
  description text,
  unique (workspace_id, external_id)
) strict;

create table deliveries (
  workspace_id text not null,
  id text not null unique,
  connection_id text not null,
  received_at integer not null,
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
  next_attempt_at integer,
  lease integer not null,
  lease_until_at integer,
  presented blob,
  -- The last column, so that reads of other columns do not pass through it.
  body blob not null
) strict;

create index deliveries_by_connection on deliveries (connection_id, id);
-- Most deliveries are finished at once and are in neither of these.
create index deliveries_due on deliveries (next_attempt_at)
  where next_attempt_at is not null;
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

create table dedupe (
  connection_id text not null,
  key text not null,
  workspace_id text not null,
  delivery_id text not null,
  item integer not null,
  until_at integer,
  deal_id text,
  contact_id text,
  primary key (connection_id, key)
) strict, without rowid;

create index dedupe_ends on dedupe (until_at) where until_at is not null;

create table contacts (
  workspace_id text not null,
  cursor_us integer not null,
  id text not null unique,
  name text,
  email text,
  phone_number text,
  banned_at integer,
  props text not null,
  edited text not null default '[]',
  created_at integer not null,
  updated_at integer not null
) strict;

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
  created_at integer not null,
  updated_at integer not null,
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

create table messages (
  workspace_id text not null,
  cursor_us integer not null,
  id text not null unique,
  conversation_id text not null,
  created_at integer not null,
  actor text not null,
  kind text not null,
  content text,
  metadata text not null,
  delivered_at integer,
  read_at integer,
  contact_id text not null,
  agent_id integer,
  state text not null default ''
) strict;

create unique index messages_feed on messages (workspace_id, cursor_us);
create index messages_by_conversation on messages (conversation_id, id);
create index messages_by_agent on messages (agent_id, id);
