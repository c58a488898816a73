-- When each secret of a connection got its value: a JSON object of names and times. A name that is
-- missing is one whose time is not known.
alter table connections add column secret_times text;
-- The version of the configuration that these times belong to. A host of the former release leaves both
-- as they are, so that the times of a version that it made are not known.
alter table connections add column secret_times_version integer;

-- The share of the last leads that have each contact field; null until leads were looked at.
alter table connection_sketches add column lead_fields text;
