-- The version of the adapter that sent a message last, or that read it, with its contract and the version
-- of its configuration; null if none was called.
alter table messages add column ran jsonb;
