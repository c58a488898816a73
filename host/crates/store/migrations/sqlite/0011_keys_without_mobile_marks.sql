-- Match keys of Mexican and Argentine numbers leave out the mark of mobiles. The former keys stay: hosts
-- of the former release look them up. A key that is another contact's already is shared.
insert into contact_keys (workspace_id, key, contact_id)
select workspace_id, substr(key, 1, 9) || substr(key, 11), contact_id
from contact_keys
where key like 'phone:+521__________' or key like 'phone:+549__________'
on conflict do nothing;

insert into shared_keys (workspace_id, key, contact_id)
select former.workspace_id, own.key, former.contact_id
from (
  select workspace_id, key, contact_id from contact_keys
  union all
  select workspace_id, key, contact_id from shared_keys
) as former
join contact_keys as own
  on own.workspace_id = former.workspace_id
  and own.key = substr(former.key, 1, 9) || substr(former.key, 11)
  and own.contact_id <> former.contact_id
where former.key like 'phone:+521__________' or former.key like 'phone:+549__________'
on conflict do nothing;
