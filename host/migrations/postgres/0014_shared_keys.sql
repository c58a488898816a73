-- Keys of a contact that another one has had before: a person is found by every
-- address and phone that is theirs, also one that two people share.
create table shared_keys (
  workspace_id uuid not null,
  key text not null,
  contact_id uuid not null,
  primary key (workspace_id, key, contact_id)
);

create index shared_keys_by_contact on shared_keys (contact_id);

insert into shared_keys (workspace_id, key, contact_id)
select c.workspace_id, k.key, c.id
from contacts as c
join contact_keys as k
  on k.workspace_id = c.workspace_id
  and k.key = 'email:' || c.email
where k.contact_id <> c.id;

alter table shared_keys enable row level security;
create policy named_workspaces on shared_keys using (
  (workspace_id = any ((select nullif(current_setting('app.ws', true), '')::uuid[])::uuid[])) is true
);
