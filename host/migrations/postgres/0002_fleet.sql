-- What hosts on one database tell each other. Nothing here belongs to a tenant
-- or names a person, so these tables are exempt from row-level security. All
-- times are the database's own.

-- A row for each run of the service. What it serves and what it prepared is one
-- report, written whole with every sign of life.
create table hosts (
  id uuid primary key,
  name text not null,
  version text not null,
  started_at timestamptz not null default clock_timestamp(),
  seen_at timestamptz not null default clock_timestamp(),
  report json not null
) with (fillfactor = 50);

-- A version that every host shall prepare, before it serves on any: one for a
-- plugin's name at a time. The number tells proposals of one digest apart.
create table proposals (
  name text primary key,
  number bigint not null,
  digest text not null references plugins (digest),
  host_id uuid not null,
  until_at timestamptz not null
);

-- Who does a periodic job. The fence grows whenever it changes hands.
create table jobs (
  name text primary key,
  host_id uuid not null,
  fence bigint not null,
  until_at timestamptz not null
) with (fillfactor = 50);

-- When what a workspace asked for so far is paid off, in microseconds of
-- feed_now(). It is not logged: a crash empties it, and every count starts anew.
create unlogged table rates (
  workspace_id uuid primary key,
  due_us bigint not null,
  refused boolean not null
) with (fillfactor = 20, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 500);
