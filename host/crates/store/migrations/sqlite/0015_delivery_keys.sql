-- Hashes of what looks like a phone, an e-mail address or an id in a delivery that did not become leads.
create table delivery_keys (
  workspace_id blob not null,
  delivery_id blob not null,
  key integer not null,
  primary key (delivery_id, key)
) strict, without rowid;

create index delivery_keys_by_key on delivery_keys (key);

-- Deliveries that came in before have none.
alter table workspaces add column keyed_from integer;
update workspaces set keyed_from = unixepoch() * 1000000;
