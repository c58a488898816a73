-- The wall between tenants judges the rows that a query has found and is no way
-- to find them. As a bare condition on workspace_id it led an index to all rows
-- of a workspace, which looks cheap while a table is young: such a plan is kept,
-- and joins each key that is looked for with every row of the workspace.
do $$
declare
  tenant record;
begin
  for tenant in
    select c.relname
    from pg_policy as p
    join pg_class as c on c.oid = p.polrelid
    where p.polname = 'named_workspaces'
    and c.relnamespace = current_schema()::regnamespace
  loop
    execute format(
      'alter policy named_workspaces on %I using ((workspace_id = any ((select nullif(current_setting(''app.ws'', true), '''')::uuid[])::uuid[])) is true)',
      tenant.relname
    );
  end loop;
end
$$;
