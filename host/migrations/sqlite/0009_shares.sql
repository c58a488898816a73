-- Addresses have shares of a quarantine: whom an unproven delivery came from, by
-- the owner of the network. Null: its sender is proven, or it was stored before
-- this was noted.

alter table deliveries add column peer text;

-- The column is past the body, so what is in quarantine is read from here.
create index deliveries_quarantined on deliveries (status, connection_id, received_us, id, body_bytes,
  peer, lease_until_us)
  where status = 'quarantined';
