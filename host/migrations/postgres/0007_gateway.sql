-- Deals that partners change and make, the desk, and products that are searched.

-- Of a deal that a partner made; others are their connection's.
alter table deals add column partner_id uuid;

create index conversations_by_deal on conversations (deal_id)
  where closed_at is null and deal_id is not null;

-- Who changed what of a deal.
create table deal_history (
  workspace_id uuid not null,
  number bigint generated always as identity primary key,
  deal_id uuid not null,
  at timestamptz not null,
  who json not null,
  changes json not null
);

create index deal_history_by_deal on deal_history (deal_id, number);

create table deal_logs (
  workspace_id uuid not null,
  id uuid not null primary key,
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

-- What is in people's hands.
create table tickets (
  workspace_id uuid not null,
  cursor_us bigint not null,
  id uuid not null primary key,
  conversation_id uuid,
  deal_id uuid,
  contact_id uuid not null,
  agent_id bigint,
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

-- Products have a feed, which the index of names follows.
alter table products add column cursor_us bigint not null default 0;
alter table products add column created_at timestamptz not null default now();
alter table products add column updated_at timestamptz not null default now();
-- the import that named it last
alter table products add column import_at timestamptz;

-- What is gone: told to who follows a feed within, never exported. It names no
-- person.
create table tombstones (
  workspace_id uuid not null,
  entity smallint not null,
  cursor_us bigint not null,
  id uuid not null,
  primary key (workspace_id, entity, cursor_us)
);

create index tombstones_oldest on tombstones (cursor_us);

-- The greatest stamp of a tombstone that is no more: who follows from before it
-- begins anew.
alter table feed_clock add column forgotten_us bigint not null default 0;

do $$
declare
  tenant text;
begin
  foreach tenant in array array['deal_history', 'deal_logs', 'tickets', 'tombstones'] loop
    execute format('alter table %I enable row level security', tenant);
    execute format(
      'create policy named_workspaces on %I using ((workspace_id = any ((select nullif(current_setting(''app.ws'', true), '''')::uuid[])::uuid[])) is true)',
      tenant
    );
  end loop;
end
$$;
