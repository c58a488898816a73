-- Analytics: rollups that follow the feeds of conversations and tickets.

-- Of a metric set: the last successful run. It belongs to no tenant.
create table rollup_runs (
  metric_set smallint primary key,
  -- everything that was committed before is counted
  as_of timestamptz not null,
  finished_at timestamptz not null,
  changes bigint not null
);

-- A whole rollup of a metric set of a workspace.
create table rollup_builds (
  workspace_id uuid not null,
  metric_set smallint not null,
  build bigint generated always as identity primary key,
  -- `making`, `serving`, `retired`
  state text not null,
  -- the feed is counted up to this stamp
  after_us bigint not null,
  -- the feed's clock when the build began: what was removed by then was never counted
  began_us bigint not null,
  -- grows with each change of its tables
  step bigint not null,
  -- grows with each change of its counts
  version bigint not null,
  -- of a workspace that runs have failed for: what it is as of; null: nothing was counted
  held_at timestamptz,
  held boolean not null default false
) with (fillfactor = 50, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 500);

create unique index rollup_builds_serving on rollup_builds (workspace_id, metric_set)
  where state = 'serving';
create unique index rollup_builds_making on rollup_builds (workspace_id, metric_set)
  where state = 'making';
create index rollup_builds_of on rollup_builds (workspace_id, metric_set, build);

-- What counts are told apart by; '' and 0 stand for none.
create table rollup_keys (
  workspace_id uuid not null,
  key bigint generated always as identity primary key,
  agent_type text not null,
  agent_id bigint not null,
  source text not null,
  unique (workspace_id, agent_type, agent_id, source)
);

-- What was counted of a thing; `measured` has a bit for each measure. Facts, counts
-- and days change several times after they were made: with room beside them they
-- stay where they are.
create table rollup_facts (
  workspace_id uuid not null,
  build bigint not null,
  id uuid not null,
  slot integer not null,
  key bigint not null,
  measured smallint not null,
  primary key (build, id)
) with (fillfactor = 85, autovacuum_vacuum_scale_factor = 0.02);

-- The counts of a quarter of an hour, numbered from 1970-01-01.
create table rollup_slots (
  workspace_id uuid not null,
  build bigint not null,
  slot integer not null,
  key bigint not null,
  count_1 bigint not null,
  count_2 bigint not null,
  count_3 bigint not null,
  count_4 bigint not null,
  count_5 bigint not null,
  primary key (build, slot, key)
) with (fillfactor = 85, autovacuum_vacuum_scale_factor = 0.02);

-- Local days of a zone, by the zone's rules of this version, from the slots before
-- `filled_slot`.
create table rollup_cubes (
  workspace_id uuid not null,
  build bigint not null,
  zone text not null,
  tzdata text not null,
  filled_slot integer not null,
  primary key (build, zone)
);

-- The counts of a local day, numbered from 1970-01-01: JSON, [[key, counts..]..].
create table rollup_days (
  workspace_id uuid not null,
  build bigint not null,
  zone text not null,
  day integer not null,
  cells text not null,
  primary key (build, zone, day)
) with (fillfactor = 70, autovacuum_vacuum_scale_factor = 0.02);

-- Zones that are asked for.
create table rollup_zones (
  workspace_id uuid not null,
  zone text not null,
  requests bigint not null,
  used_at timestamptz not null,
  primary key (workspace_id, zone)
);

-- Who a ticket came from, as it was when it opened.
alter table tickets add column agent_type text;
alter table tickets add column source text;

update tickets
set agent_type = c.agent_type, source = c.source
from conversations as c
where c.id = tickets.conversation_id;

do $$
declare
  tenant text;
begin
  foreach tenant in array array['rollup_builds', 'rollup_keys', 'rollup_facts', 'rollup_slots',
    'rollup_cubes', 'rollup_days', 'rollup_zones'] loop
    execute format('alter table %I enable row level security', tenant);
    execute format(
      'create policy named_workspaces on %I using ((workspace_id = any ((select nullif(current_setting(''app.ws'', true), '''')::uuid[])::uuid[])) is true)',
      tenant
    );
  end loop;
end
$$;
