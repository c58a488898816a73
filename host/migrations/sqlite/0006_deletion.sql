-- People are erased, deals and products removed: what belongs to a person or a
-- deal is found by it, and what was erased is remembered without saying who it was.

create index contact_keys_by_contact on contact_keys (contact_id);
create index conversations_by_contact on conversations (contact_id);
create index tickets_by_contact on tickets (contact_id);
create index items_by_contact on items (contact_id) where contact_id is not null;

-- Also those that are closed.
drop index conversations_by_deal;
create index conversations_by_deal on conversations (deal_id) where deal_id is not null;
create index tickets_by_deal on tickets (deal_id) where deal_id is not null;

create index idempotency_by_message on idempotency (message_id) where message_id is not null;

-- What channels say of messages that nobody knows names only who it is about.
create index message_errors_strays on message_errors (workspace_id, recipient_id)
  where message_id is null and recipient_id is not null;
create index channel_refs_strays on channel_refs (workspace_id, recipient_id)
  where recipient_id is not null;

create table erasures (
  workspace_id text not null,
  id text not null primary key,
  contact_id text not null,
  -- `id`, `phone`, `email`: what the contact was found by, not its value
  found_by text not null,
  -- the operator's key
  key_id text not null,
  began_us integer not null,
  -- null: it was interrupted, or goes on
  done_us integer,
  -- JSON: how many of what
  erased text not null,
  -- JSON: what was found and left
  remaining text not null
) strict;

create index erasures_newest on erasures (workspace_id, id);
create index erasures_by_contact on erasures (contact_id, id);
