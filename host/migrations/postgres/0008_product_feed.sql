-- The products that are there get the first stamps of their feed. Apart from the
-- migration that makes the columns: what locks out readers of a table, as every lead
-- is one of products, ends before what takes its time begins.

lock table products in share row exclusive mode;

update products as p
set cursor_us = numbered.number
from (
  select id, row_number() over (partition by workspace_id order by id) as number
  from products
) as numbered
where numbered.id = p.id;

insert into feed_clock (workspace_id, entity, last_us)
select workspace_id, 7, count(*)
from products
group by workspace_id;

create unique index products_feed on products (workspace_id, cursor_us);

alter table products
  alter column cursor_us drop default,
  alter column created_at drop default,
  alter column updated_at drop default;
