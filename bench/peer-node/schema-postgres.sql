-- The peer's own tables on PostgreSQL: the service's tables for a lead, with the
-- same columns.

create table products (
  workspace_id uuid not null,
  id uuid not null primary key,
  external_id text not null,
  name text not null,
  description text,
  unique (workspace_id, external_id)
);

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
  edited jsonb not null default '[]',
  created_at timestamptz not null,
  updated_at timestamptz not null,
  primary key (workspace_id, id)
);

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
