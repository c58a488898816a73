-- The time at which `spent_seconds` was recorded; null if a host of the former release recorded it.
alter table rollouts add column spent_at timestamptz;
