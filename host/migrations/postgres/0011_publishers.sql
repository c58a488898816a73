-- Who a component comes from: the first version of a name that serves ties the
-- name to its publisher. Null: it was stored before this was noted.

alter table plugins add column publisher text;
