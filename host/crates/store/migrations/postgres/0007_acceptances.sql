-- The concerns about a version that one admin key has accepted. A second key must accept them too.
create table acceptances (
  digest text not null,
  key_id uuid not null,
  -- the label of the key
  label text not null,
  -- the name of the plugin
  name text not null,
  concerns jsonb not null,
  accepted_at timestamptz not null,
  expires_at timestamptz not null,
  primary key (digest, key_id)
);

create index acceptances_end on acceptances (expires_at);
