-- The rollout of a plugin's version: one for a name, the last one.
create table rollouts (
  name text primary key,
  -- Tells the rollouts of one name apart.
  number integer not null,
  candidate text not null references plugins (digest),
  stable text not null references plugins (digest),
  stage text not null,
  paused integer not null,
  step integer not null,
  plan text not null,
  generation integer not null,
  -- Seconds that the step has lasted while a host judged it.
  spent_seconds integer not null,
  started_by text not null,
  started_at integer not null,
  stage_at integer not null,
  why text
) strict;

-- The observations of a rollout, a row for each host.
create table rollout_reports (
  name text not null,
  number integer not null,
  host_id blob not null,
  host text not null,
  generation integer not null,
  error text,
  reported_at integer not null,
  seen text not null,
  primary key (name, number, host_id)
) strict;
