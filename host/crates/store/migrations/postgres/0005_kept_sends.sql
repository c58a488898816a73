-- The requests and answers of a sample of each instance's messages. Versions of its adapter are
-- compared on them.
create table kept_sends (
  workspace_id uuid not null,
  message_id uuid primary key,
  conversation_id uuid not null,
  connection_id text not null,
  sent_at timestamptz not null,
  until_at timestamptz not null,
  -- The version that made the request.
  digest text not null,
  -- `accepted`, `unknown`, or the category of the refusal.
  outcome text not null,
  recipient text not null,
  payload json not null,
  response_head json,
  response_body bytea
);

create index kept_sends_by_connection on kept_sends (connection_id, message_id);
create index kept_sends_end on kept_sends (until_at);

alter table kept_sends enable row level security;
create policy named_workspaces on kept_sends
  using ((workspace_id = any ((select nullif(current_setting('app.ws', true), '')::uuid[])::uuid[])) is true);
