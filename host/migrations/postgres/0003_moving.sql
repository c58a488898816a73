-- A store that moves in from elsewhere. The row is there from the move's first
-- transaction on, and while it has no end the database is not served. How far
-- the move is commits with the rows that it copied.
create table moves (
  one boolean primary key default true check (one),
  -- The store that moves, by its id.
  source uuid not null,
  began_at timestamptz not null default clock_timestamp(),
  done_at timestamptz,
  progress json not null
);

-- Which key the secrets are sealed with: hosts with another one do not start.
alter table store add column sealing_key text;
