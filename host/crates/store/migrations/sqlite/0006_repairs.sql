-- A repair replays all deliveries that a version converted. One repair is open at a time.
create table repairs (
  id blob primary key,
  plan text not null,
  -- `running`, `done`, `cancelled`, `undoing`, `undone`
  state text not null,
  -- The fencing token: a commit with an older generation has no effect.
  generation integer not null,
  -- The last delivery that the repair has finished.
  cursor_id blob,
  counts text not null,
  started_by text not null,
  started_at integer not null,
  -- null while the repair is open
  ended_at integer,
  why text
) strict;

create index repairs_open on repairs (state);

-- The receipt: one row for each field that a repair changed. It is committed with the change.
create table repair_changes (
  number integer primary key,
  workspace_id blob not null,
  repair_id blob not null,
  delivery_id blob not null,
  item integer not null,
  -- `deal` or `contact`
  kind text not null,
  row_id blob not null,
  -- the contact to whom the values belong
  contact_id blob not null,
  field text not null,
  -- null after an erasure
  value_before text,
  value_after text,
  -- `undone`, `changed-since` or `stays`; null before an undo
  undone text
) strict;

create index repair_changes_of on repair_changes (repair_id, number);
create index repair_changes_by_row on repair_changes (row_id);
create index repair_changes_by_contact on repair_changes (contact_id);
