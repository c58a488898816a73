-- The shape of a connection's deliveries: names and types of fields, never values.
create table connection_sketches (
  connection_id text primary key references connections (id),
  generation bigint not null,
  sketch jsonb not null,
  -- How its source has changed, while it has.
  change jsonb,
  updated_at timestamptz not null
);
