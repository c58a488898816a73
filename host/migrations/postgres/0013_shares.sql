-- Addresses have shares of a quarantine: whom an unproven delivery came from, by
-- the owner of the network. Null: its sender is proven, or it was stored before
-- this was noted.

alter table deliveries add column peer text;
