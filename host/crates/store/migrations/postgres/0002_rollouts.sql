-- The rollout of a plugin's version: one for a name, the last one.
create table rollouts (
  name text primary key,
  -- Tells the rollouts of one name apart.
  number bigint not null,
  candidate text not null references plugins (digest),
  stable text not null references plugins (digest),
  stage text not null,
  paused boolean not null,
  step bigint not null,
  plan jsonb not null,
  generation bigint not null,
  -- Seconds that the step has lasted while a host judged it.
  spent_seconds bigint not null,
  started_by text not null,
  started_at timestamptz not null,
  stage_at timestamptz not null,
  why text
);

-- The observations of a rollout, a row for each host.
create table rollout_reports (
  name text not null,
  number bigint not null,
  host_id uuid not null,
  host text not null,
  generation bigint not null,
  error text,
  reported_at timestamptz not null,
  seen jsonb not null,
  primary key (name, number, host_id)
);
