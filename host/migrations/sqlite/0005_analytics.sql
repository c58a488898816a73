-- Analytics: rollups that follow the feeds of conversations and tickets.

-- Of a metric set: the last successful run.
create table rollup_runs (
  metric_set integer primary key,
  -- everything that was committed before is counted
  as_of_us integer not null,
  finished_us integer not null,
  changes integer not null
) strict;

-- A whole rollup of a metric set of a workspace.
create table rollup_builds (
  workspace_id text not null,
  metric_set integer not null,
  build integer primary key autoincrement,
  -- `making`, `serving`, `retired`
  state text not null,
  -- the feed is counted up to this stamp
  after_us integer not null,
  -- the feed's clock when the build began: what was removed by then was never counted
  began_us integer not null,
  -- grows with each change of its tables
  step integer not null,
  -- grows with each change of its counts
  version integer not null,
  -- of a workspace that runs have failed for: what it is as of; null: nothing was counted
  held_us integer,
  held integer not null default 0
) strict;

create unique index rollup_builds_serving on rollup_builds (workspace_id, metric_set)
  where state = 'serving';
create unique index rollup_builds_making on rollup_builds (workspace_id, metric_set)
  where state = 'making';

-- What counts are told apart by; '' and 0 stand for none.
create table rollup_keys (
  workspace_id text not null,
  key integer primary key autoincrement,
  agent_type text not null,
  agent_id integer not null,
  source text not null,
  unique (workspace_id, agent_type, agent_id, source)
) strict;

-- What was counted of a thing; `measured` has a bit for each measure.
create table rollup_facts (
  build integer not null,
  id text not null,
  slot integer not null,
  key integer not null,
  measured integer not null,
  primary key (build, id)
) strict, without rowid;

-- The counts of a quarter of an hour, numbered from 1970-01-01.
create table rollup_slots (
  build integer not null,
  slot integer not null,
  key integer not null,
  count_1 integer not null,
  count_2 integer not null,
  count_3 integer not null,
  count_4 integer not null,
  count_5 integer not null,
  primary key (build, slot, key)
) strict, without rowid;

-- Local days of a zone, by the zone's rules of this version, from the slots before
-- `filled_slot`.
create table rollup_cubes (
  build integer not null,
  zone text not null,
  tzdata text not null,
  filled_slot integer not null,
  primary key (build, zone)
) strict, without rowid;

-- The counts of a local day, numbered from 1970-01-01: JSON, [[key, counts..]..].
create table rollup_days (
  build integer not null,
  zone text not null,
  day integer not null,
  cells text not null,
  primary key (build, zone, day)
) strict, without rowid;

-- Zones that are asked for.
create table rollup_zones (
  workspace_id text not null,
  zone text not null,
  requests integer not null,
  used_us integer not null,
  primary key (workspace_id, zone)
) strict, without rowid;

-- Who a ticket came from, as it was when it opened.
alter table tickets add column agent_type text;
alter table tickets add column source text;

update tickets
set (agent_type, source) = (
  select c.agent_type, c.source from conversations as c where c.id = tickets.conversation_id);
