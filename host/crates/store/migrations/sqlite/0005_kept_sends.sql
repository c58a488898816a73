-- The requests and answers of a sample of each instance's messages. Versions of its adapter are
-- compared on them.
create table kept_sends (
  workspace_id blob not null,
  message_id blob primary key,
  conversation_id blob not null,
  connection_id text not null,
  sent_at integer not null,
  until_at integer not null,
  -- The version that made the request.
  digest text not null,
  -- `accepted`, `unknown`, or the category of the refusal.
  outcome text not null,
  recipient text not null,
  payload text not null,
  response_head text,
  -- Last, so that no other column is read past it.
  response_body blob
) strict;

create index kept_sends_by_connection on kept_sends (connection_id, message_id);
create index kept_sends_end on kept_sends (until_at);
