-- What sources answered to the fetches of a delivery, kept for as long as the
-- delivery, so that a replay needs no second call. The number is the order in
-- which the fetches were settled.

create table answers (
  number integer primary key,
  workspace_id text not null,
  delivery_id text not null,
  item integer not null,
  hop integer not null,
  external_id text,
  request text not null,
  response_head text not null,
  -- Last, so that no other column is read past it.
  response_body blob not null,
  unique (delivery_id, item, hop)
) strict;
