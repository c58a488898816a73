-- The last row that was removed from the audit after its retention: the row after it follows its hash. There is
-- one at most.
create table audit_checkpoint (
  -- always 1
  id bigint primary key,
  number bigint not null,
  hash text not null
);
