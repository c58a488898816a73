-- A refusal that was overtaken is no longer shown, but its digest is still known.

alter table refusals add column plugin text;

alter table refusals add column overtaken_at integer;
