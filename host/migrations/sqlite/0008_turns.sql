-- Connections take turns: what waits is found connection by connection.

create index deliveries_turns on deliveries (connection_id, next_attempt_us)
  where next_attempt_us is not null;
drop index deliveries_due;

create index fetches_turns on fetches (connection_id, due_us);
drop index fetches_due;

-- What cannot go out is passed over without a look at its row.
create index sends_turns on sends (connection_id, due_us, state, lease_until_us, until_us)
  where due_us is not null;
drop index sends_due;
