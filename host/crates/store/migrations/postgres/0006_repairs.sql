-- A repair replays all deliveries that a version converted. One repair is open at a time.
create table repairs (
  id uuid primary key,
  plan jsonb not null,
  -- `running`, `done`, `cancelled`, `undoing`, `undone`
  state text not null,
  -- The fencing token: a commit with an older generation has no effect.
  generation bigint not null,
  -- The last delivery that the repair has finished.
  cursor_id uuid,
  counts jsonb not null,
  started_by text not null,
  started_at timestamptz not null,
  -- null while the repair is open
  ended_at timestamptz,
  why text
);

create index repairs_open on repairs (state);

-- The receipt: one row for each field that a repair changed. It is committed with the change.
create table repair_changes (
  number bigint generated always as identity primary key,
  workspace_id uuid not null,
  repair_id uuid not null,
  delivery_id uuid not null,
  item integer not null,
  -- `deal` or `contact`
  kind text not null,
  row_id uuid not null,
  -- the contact to whom the values belong
  contact_id uuid not null,
  field text not null,
  -- null after an erasure
  value_before json,
  value_after json,
  -- `undone`, `changed-since` or `stays`; null before an undo
  undone text
);

create index repair_changes_of on repair_changes (repair_id, number);
create index repair_changes_by_row on repair_changes (row_id);
create index repair_changes_by_contact on repair_changes (contact_id);

alter table repair_changes enable row level security;
create policy named_workspaces on repair_changes using ((workspace_id = any ((select nullif(current_setting('app.ws', true), '')::uuid[])::uuid[])) is true);
