-- Deals that partners change and make, the desk, and products that are searched.

-- Of a deal that a partner made; others are their connection's.
alter table deals add column partner_id text;

create index conversations_by_deal on conversations (deal_id)
  where closed_us is null and deal_id is not null;

-- Who changed what of a deal; `who` and `changes` are JSON.
create table deal_history (
  number integer primary key,
  workspace_id text not null,
  deal_id text not null,
  at_us integer not null,
  who text not null,
  changes text not null
) strict;

create index deal_history_by_deal on deal_history (deal_id, number);

create table deal_logs (
  workspace_id text not null,
  id text not null primary key,
  deal_id text not null,
  created_us integer not null,
  partner_id text not null,
  key_id text not null,
  kind text not null,
  subject text not null,
  description text,
  metadata text not null
) strict;

create index deal_logs_by_deal on deal_logs (deal_id, id);

-- What is in people's hands.
create table tickets (
  workspace_id text not null,
  cursor_us integer not null,
  id text not null unique,
  conversation_id text,
  deal_id text,
  contact_id text not null,
  agent_id integer,
  owner_id text,
  -- `open`, `answered`, `resolved`.
  status text not null,
  special_instructions text,
  opened_us integer not null,
  answered_us integer,
  resolved_us integer,
  updated_us integer not null
) strict;

create unique index tickets_feed on tickets (workspace_id, cursor_us);
create index tickets_newest on tickets (workspace_id, id);
create index tickets_by_status on tickets (workspace_id, status, id);
create unique index tickets_live on tickets (conversation_id)
  where resolved_us is null and conversation_id is not null;
create unique index tickets_live_of_deals on tickets (deal_id)
  where resolved_us is null and conversation_id is null;

-- Products have a feed, which the index of names follows. Those that are there
-- get its first stamps.
alter table products add column cursor_us integer not null default 0;
alter table products add column created_us integer not null default 0;
alter table products add column updated_us integer not null default 0;
-- the import that named it last
alter table products add column import_us integer not null default 0;

update products
set cursor_us = numbered.number
from (
  select id, row_number() over (partition by workspace_id order by id) as number
  from products
) as numbered
where numbered.id = products.id;

insert into feed_clock (workspace_id, entity, last_us)
select workspace_id, 7, count(*)
from products
group by workspace_id;

create unique index products_feed on products (workspace_id, cursor_us);

-- What is gone: told to who follows a feed within, never exported.
create table tombstones (
  workspace_id text not null,
  entity integer not null,
  cursor_us integer not null,
  id text not null,
  primary key (workspace_id, entity, cursor_us)
) strict, without rowid;

create index tombstones_oldest on tombstones (cursor_us);

-- The greatest stamp of a tombstone that is no more: who follows from before it
-- begins anew.
alter table feed_clock add column forgotten_us integer not null default 0;
