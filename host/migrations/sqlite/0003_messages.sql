-- Instances get channels, and what goes through them: messages that are to be
-- sent, the channel's ids of messages, failures, templates, answers kept for
-- repeats. A channel is a connection of its own kind, so the table is made anew
-- with room for it.

create table new_connections (
  workspace_id text not null references workspaces (id),
  id text not null primary key,
  -- `source`, or `channel`.
  kind text not null,
  partner_id text references partners (id),
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
  settings text not null,
  paused_us integer,
  paused_reason text,
  unique (workspace_id, kind, name)
) strict;

insert into new_connections (workspace_id, id, kind, partner_id, name, plugin, config,
  config_version, agent_id, allow, checks, routes, secrets, sealed, fingerprint, region, time_zone,
  dedupe_by_content, settings, paused_us, paused_reason)
select workspace_id, id, 'source', partner_id, name, plugin, config, config_version, agent_id,
  allow, checks, routes, secrets, sealed, fingerprint, region, time_zone, dedupe_by_content, '{}',
  paused_us, paused_reason
from connections;

drop table connections;
alter table new_connections rename to connections;

-- A channel's configuration is its connection's.
alter table agents drop column config;

-- when the first message of the instance was stored
alter table conversations add column messaged_us integer;
-- transferred to people when it is not answered in time
alter table conversations add column transfer integer not null default 1;
-- unanswered by then it is no_response; idle until then it closes; the earlier of the two
alter table conversations add column respond_by_us integer;
alter table conversations add column close_by_us integer;
alter table conversations add column due_us integer;

create unique index conversations_open on conversations (contact_id, agent_id)
  where closed_us is null;
create index conversations_due on conversations (due_us) where due_us is not null;

alter table messages add column contact_id text not null default '';
alter table messages add column agent_id integer;
alter table messages add column state text not null default '';

create index messages_by_conversation on messages (conversation_id, id);
create index messages_by_agent on messages (agent_id, id);

-- Messages that are not out yet, or of which nobody knows whether they are.
create table sends (
  workspace_id text not null,
  message_id text not null primary key,
  conversation_id text not null,
  contact_id text not null,
  connection_id text not null,
  recipient text not null,
  payload text not null,
  -- `waiting`, `sending`, `unknown`.
  state text not null,
  attempts integer not null,
  -- Of a waiting one; of one that is being sent, when its lease ends.
  due_us integer,
  until_us integer not null,
  lease integer not null,
  lease_until_us integer
) strict, without rowid;

-- What cannot go out is passed over without a look at its row.
create index sends_due on sends (due_us, state, connection_id, lease_until_us, until_us)
  where due_us is not null;
create index sends_by_state on sends (state);

-- Which message a channel's id is, or what was said of one that is not known.
create table channel_refs (
  connection_id text not null,
  external_id text not null,
  workspace_id text not null,
  message_id text,
  progress text,
  recipient_id text,
  until_us integer,
  primary key (connection_id, external_id)
) strict, without rowid;

create index channel_refs_end on channel_refs (until_us) where until_us is not null;

-- Sends that have to wait: of a contact, or with an empty one of a whole number.
create table holds (
  connection_id text not null,
  contact_id text not null,
  workspace_id text not null,
  until_us integer not null,
  primary key (connection_id, contact_id)
) strict, without rowid;

create index holds_end on holds (until_us);

create table message_errors (
  workspace_id text not null,
  cursor_us integer not null,
  id text not null unique,
  conversation_id text,
  deal_id text,
  agent_id integer,
  message_id text,
  external_id text,
  recipient_id text,
  code text not null,
  title text,
  description text,
  details text,
  template_name text,
  channel text,
  occurred_us integer not null
) strict;

create unique index message_errors_feed on message_errors (workspace_id, cursor_us);
create index message_errors_by_conversation on message_errors (conversation_id, cursor_us);
create index message_errors_by_deal on message_errors (deal_id, cursor_us);

-- An instance's templates, as its provider listed them: JSON.
create table template_lists (
  connection_id text not null primary key,
  workspace_id text not null,
  synced_us integer not null,
  error text,
  unlisted integer not null,
  templates text not null
) strict;

create table idempotency (
  partner_id text not null,
  route text not null,
  key text not null,
  workspace_id text not null,
  fingerprint text not null,
  message_id text,
  -- JSON; null while the first request is running.
  answer text,
  until_us integer not null,
  primary key (partner_id, route, key)
) strict, without rowid;

create index idempotency_ends on idempotency (until_us);
