-- The concerns about a version that one admin key has accepted. A second key must accept them too.
create table acceptances (
  digest text not null,
  key_id blob not null,
  -- the label of the key
  label text not null,
  -- the name of the plugin
  name text not null,
  concerns text not null,
  accepted_at integer not null,
  expires_at integer not null,
  primary key (digest, key_id)
) strict;

create index acceptances_end on acceptances (expires_at);
