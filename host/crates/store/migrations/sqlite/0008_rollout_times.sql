-- The time at which `spent_seconds` was recorded; null if a host of the former release recorded it.
alter table rollouts add column spent_at integer;

-- The id of the sealing key that replaced a lost one (`serve --new-sealing-key`); null if no key was
-- replaced.
alter table store add column sealing_key text;
