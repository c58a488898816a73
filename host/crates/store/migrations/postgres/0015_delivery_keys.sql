-- Hashes of what looks like a phone, an e-mail address or an id in a delivery that did not become leads.
create table delivery_keys (
  workspace_id uuid not null,
  delivery_id uuid not null,
  key bigint not null,
  primary key (workspace_id, delivery_id, key)
);

create index delivery_keys_by_key on delivery_keys (workspace_id, key, delivery_id);

alter table delivery_keys enable row level security;
create policy named_workspaces on delivery_keys using ((workspace_id = any ((select nullif(current_setting('app.ws', true), '')::uuid[])::uuid[])) is true);

-- Deliveries that came in before have none, and hosts of the former release may still store some.
alter table workspaces add column keyed_from timestamptz;
update workspaces set keyed_from = now() + interval '1 hour';
