-- Instances get channels, and what goes through them: messages that are to be
-- sent, the channel's ids of messages, failures, templates, answers kept for
-- repeats. A channel is a connection of its own kind.

alter table connections add column kind text not null default 'source';
alter table connections alter column kind drop default;
alter table connections alter column partner_id drop not null;
alter table connections add column settings jsonb not null default '{}';
alter table connections alter column settings drop default;
alter table connections drop constraint connections_workspace_id_name_key;
alter table connections add constraint connections_workspace_id_kind_name_key
  unique (workspace_id, kind, name);

-- A channel's configuration is its connection's.
alter table agents drop column config;

-- What these tables are looked up by is theirs alone, so an index that leads to
-- it leads with it: beside one that leads with the workspace, a table that is
-- young would be read by that.
alter table conversations drop constraint conversations_pkey;
alter table conversations add primary key (id);
alter table messages drop constraint messages_pkey;
alter table messages add primary key (id);

-- when the first message of the instance was stored
alter table conversations add column messaged_at timestamptz;
-- transferred to people when it is not answered in time
alter table conversations add column transfer boolean not null default true;
-- unanswered by then it is no_response; idle until then it closes
alter table conversations add column respond_by timestamptz;
alter table conversations add column close_by timestamptz;
-- the earlier of the two; a column, since policies keep an index on an expression
-- from what it is for
alter table conversations add column due_at timestamptz
  generated always as (least(respond_by, close_by)) stored;

create unique index conversations_open on conversations (contact_id, agent_id)
  where closed_at is null;
create index conversations_due on conversations (due_at) where due_at is not null;

alter table messages add column contact_id uuid;
update messages as m
set contact_id = c.contact_id
from conversations as c
where c.workspace_id = m.workspace_id
and c.id = m.conversation_id;
alter table messages alter column contact_id set not null;
alter table messages add column agent_id bigint;
alter table messages add column state text not null default '';

create index messages_by_agent on messages (agent_id, id);

-- Messages that are not out yet, or of which nobody knows whether they are. When
-- each is due and who holds it is in the queue, as item -2 of the message's id,
-- with `waiting`, `sending` or `unknown` as its status.
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

-- Of a send, when it is given up: also while it may not go out.
alter table queue add column until_at timestamptz;

-- Which message a channel's id is, or what was said of one that is not known.
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

-- Sends that have to wait: of a contact, or with the nil id of a whole number. It
-- names no person, so that a host finds work without naming workspaces.
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
  id uuid not null primary key,
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

do $$
declare
  tenant text;
begin
  foreach tenant in array array['sends', 'channel_refs', 'message_errors', 'idempotency'] loop
    execute format('alter table %I enable row level security', tenant);
    execute format(
      'create policy named_workspaces on %I using ((workspace_id = any ((select nullif(current_setting(''app.ws'', true), '''')::uuid[])::uuid[])) is true)',
      tenant
    );
  end loop;
end
$$;
