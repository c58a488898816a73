-- While a table has no statistics, PostgreSQL rates all indexes that begin with the workspace alike, and
-- takes the newest. So only the feed does, and the others that do are newer.
alter table contacts drop constraint contacts_pkey;                       -- postgres
alter table contacts add primary key (id, workspace_id);                  -- postgres
alter table deals drop constraint deals_pkey;                             -- postgres
alter table deals add primary key (id, workspace_id);                     -- postgres
drop index deals_by_person;                                               -- postgres
create index deals_by_person on deals (person_id, id);                    -- postgres
alter table products drop constraint products_workspace_id_external_id_key; -- postgres
alter table products add unique (workspace_id, external_id);              -- postgres
