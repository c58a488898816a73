-- Connections take turns: what waits is found connection by connection.

create index queue_conversions on queue (connection_id, due_at)
  where item = -1 and due_at is not null;
create index queue_calls on queue (connection_id, due_at)
  where item <> -1 and due_at is not null;
