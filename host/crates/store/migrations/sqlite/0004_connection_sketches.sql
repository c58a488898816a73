-- The shape of a connection's deliveries: names and types of fields, never values.
create table connection_sketches (
  connection_id text primary key references connections (id),
  generation integer not null,
  sketch text not null,
  -- How its source has changed, while it has.
  change text,
  updated_at integer not null
) strict;
