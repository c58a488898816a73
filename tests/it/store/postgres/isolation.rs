//! The isolation of tenants in the database: a transaction sees only rows of the workspaces
//! that it names. Every table is filled according to its own columns, so that a table of a
//! later migration is tested too.

use super::*;

/// Tables without the policy: none contains personal data or unsealed secrets.
const EXEMPT: &[(&str, &str)] = &[
    (
        "acceptances",
        "of former releases; what versions of plugins may do",
    ),
    ("activations", "of all tenants"),
    ("audit", "of all tenants; names no person"),
    ("audit_checkpoint", "of all tenants"),
    ("commit_markers", "of all tenants"),
    (
        "connection_sketches",
        "of all tenants; names and types of fields, no values",
    ),
    (
        "connections",
        "read before the workspace is known; its secrets are sealed",
    ),
    ("feed_clock", "a stamp for each workspace"),
    (
        "holds",
        "read to find the workspaces with work; ids and times only",
    ),
    ("hosts", "of all tenants"),
    ("jobs", "of all tenants"),
    ("keys", "read before the workspace is known; digests only"),
    ("moves", "of all tenants"),
    ("partners", "read with a key; the name of a system"),
    ("plugins", "of all tenants"),
    ("proposals", "of all tenants"),
    (
        "queue",
        "read to find the workspaces with work; ids and times only",
    ),
    ("rates", "a count for each workspace"),
    ("refusals", "of all tenants"),
    ("repairs", "of all tenants; names no person"),
    (
        "rollout_reports",
        "of all tenants; differences are masked, by delivery and connection",
    ),
    ("rollouts", "of all tenants"),
    ("rollup_runs", "of all tenants"),
    ("schema_versions", "of all tenants"),
    ("store", "of all tenants"),
    (
        "template_lists",
        "read with a connection; texts of a system",
    ),
    ("workspaces", "what the policy is about"),
];

/// A migrated database with two workspaces, and a row for each of them in every table that
/// has the policy.
struct Filled {
    database: Database,
    one: Uuid,
    other: Uuid,
    tables: Vec<String>,
}

impl Filled {
    async fn new() -> Option<Self> {
        let database = database().await?;
        let store = open(database.url()).await.expect("it opens");
        let mut ids = Vec::new();
        for slug in ["one", "other"] {
            let mut plan = plan(slug);
            // The test fills the tables itself.
            plan.agents.clear();
            plan.owners.clear();
            plan.products.clear();
            for connection in &mut plan.connections {
                connection.agent = None;
            }
            let applied = store.apply(&plan, START, false).await.expect("a plan");
            ids.push(applied.workspace_id.0);
        }
        let mut owner = database.connect().await;
        run(&mut owner, "set search_path = leadhost").await;
        let tables = tables(&mut owner, true).await;
        for table in &tables {
            for (number, workspace) in ids.iter().enumerate() {
                let insert = insert(&mut owner, table, *workspace, number, 1).await;
                run(&mut owner, insert).await;
            }
        }
        Some(Self {
            database,
            one: ids[0],
            other: ids[1],
            tables,
        })
    }
}

/// Returns the tables with the policy, or those without.
async fn tables(owner: &mut PgConnection, with_policy: bool) -> Vec<String> {
    sqlx::query_scalar(
        "select c.relname::text
         from pg_class as c
         where c.relnamespace = 'leadhost'::regnamespace
         and c.relkind in ('r', 'p')
         and c.relrowsecurity = $1
         order by c.relname",
    )
    .bind(with_policy)
    .fetch_all(owner)
    .await
    .expect("the server lists its tables")
}

async fn count(connection: &mut PgConnection, table: &str) -> i64 {
    let sql = format!("select count(*) from {table}");
    sqlx::query_scalar(AssertSqlSafe(sql))
        .fetch_one(connection)
        .await
        .unwrap_or_else(|error| panic!("{table}: {error}"))
}

/// Returns how many rows the statement touched, or the server's error code. It is rolled
/// back in either case.
async fn touched(connection: &mut PgConnection, sql: &str) -> Result<u64, String> {
    run(connection, "savepoint before").await;
    let done = sqlx::query(AssertSqlSafe(sql))
        .execute(&mut *connection)
        .await;
    run(connection, "rollback to before").await;
    match done {
        Ok(done) => Ok(done.rows_affected()),
        Err(sqlx::Error::Database(error)) => Err(error.code().unwrap_or_default().into_owned()),
        Err(error) => panic!("{sql}: {error}"),
    }
}

#[tokio::test]
async fn every_table_has_the_policy_or_is_known_to_need_none() {
    let database = available!(database());
    open(database.url()).await.expect("it opens");
    let mut owner = database.connect().await;
    let exempt: Vec<&str> = EXEMPT.iter().map(|(table, _)| *table).collect();
    assert_eq!(tables(&mut owner, false).await, exempt);
    let policies = sqlx::query(
        "select c.relname::text, p.polname::text, p.polpermissive, p.polcmd::text,
           p.polroles = '{0}' as of_all_roles,
           pg_get_expr(p.polqual, p.polrelid) as visible,
           pg_get_expr(p.polwithcheck, p.polrelid) as writable
         from pg_class as c
         left join pg_policy as p on p.polrelid = c.oid
         where c.relnamespace = 'leadhost'::regnamespace
         and c.relrowsecurity
         order by c.relname",
    )
    .fetch_all(&mut owner)
    .await
    .unwrap();
    assert!(policies.len() >= 21);
    for policy in &policies {
        let table: String = policy.get(0);
        let name: Option<String> = policy.get(1);
        assert_eq!(name.as_deref(), Some("named_workspaces"), "{table}");
        let permissive: bool = policy.get(2);
        assert!(permissive && policy.get::<bool, _>(4), "{table}");
        assert_eq!(policy.get::<String, _>(3), "*", "{table}");
        let visible: String = policy.get(5);
        assert_eq!(visible, policies[0].get::<String, _>(5), "{table}");
        has!(visible, "app.ws");
        // Without a separate rule for writes, the rule for reads applies.
        assert_eq!(policy.get::<Option<String>, _>(6), None, "{table}");
    }
}

#[tokio::test]
async fn a_transaction_sees_and_writes_rows_of_the_workspaces_that_it_names_alone() {
    let filled = available!(Filled::new());
    sees_nothing_without_a_workspace(&filled).await;
    sees_the_named_ones(&filled).await;
    writes_for_the_named_ones(&filled).await;
    operations_name_theirs(&filled).await;
}

async fn sees_nothing_without_a_workspace(filled: &Filled) {
    let mut service = as_service(&filled.database).await;
    let stranger = format!("set app.ws = '{{{}}}'", Uuid::new_v4());
    for setting in [
        // On a new connection, and on one that named a workspace before.
        "",
        "begin; set local app.ws = '{00000000-0000-0000-0000-000000000000}'; commit",
        "set app.ws = ''",
        "set app.ws = '{}'",
        &stranger,
    ] {
        run(&mut service, setting).await;
        for table in &filled.tables {
            assert_eq!(count(&mut service, table).await, 0, "{table} {setting:?}");
        }
    }
}

async fn sees_the_named_ones(filled: &Filled) {
    let (one, other) = (filled.one, filled.other);
    let mut service = as_service(&filled.database).await;
    for (named, expect) in [
        (format!("{one}"), 1),
        (format!("{one},{other}"), 2),
        (format!("{one},{}", Uuid::new_v4()), 1),
    ] {
        run(&mut service, "begin").await;
        run(&mut service, format!("set local app.ws = '{{{named}}}'")).await;
        for table in &filled.tables {
            assert_eq!(count(&mut service, table).await, expect, "{table} {named}");
        }
        run(&mut service, "commit").await;
        assert_eq!(count(&mut service, "deals").await, 0, "after its end");
    }
    // The owner is not restricted, so that a dump is complete.
    let mut owner = filled.database.connect().await;
    assert_eq!(count(&mut owner, "leadhost.deals").await, 2);
}

async fn writes_for_the_named_ones(filled: &Filled) {
    let (one, other) = (filled.one, filled.other);
    let mut owner = filled.database.connect().await;
    let mut service = as_service(&filled.database).await;
    const NOT_ALLOWED: &str = "42501";
    for table in &filled.tables {
        let own = insert(&mut owner, table, one, 7, 1).await;
        let foreign = insert(&mut owner, table, other, 8, 1).await;
        run(&mut service, "begin").await;
        let unnamed = touched(&mut service, &own).await;
        assert_eq!(unnamed, Err(NOT_ALLOWED.to_owned()), "{table}");
        run(&mut service, format!("set local app.ws = '{{{one}}}'")).await;
        assert_eq!(touched(&mut service, &own).await, Ok(1), "{table}");
        let refused = touched(&mut service, &foreign).await;
        assert_eq!(refused, Err(NOT_ALLOWED.to_owned()), "{table}");
        let stolen = format!("update {table} set workspace_id = '{other}'");
        let refused = touched(&mut service, &stolen).await;
        assert_eq!(refused, Err(NOT_ALLOWED.to_owned()), "{table}");
        let foreign = format!(
            "update {table} set workspace_id = workspace_id where workspace_id = '{other}'"
        );
        assert_eq!(touched(&mut service, &foreign).await, Ok(0), "{table}");
        let all = format!("delete from {table}");
        assert_eq!(touched(&mut service, &all).await, Ok(1), "{table}");
        run(&mut service, "rollback").await;
    }
}

#[tokio::test]
async fn the_service_runs_as_an_ordinary_role_with_any_login() {
    let database = available!(database());
    let mut owner = database.connect().await;
    for url in [database.url(), database.admin_url()] {
        let store = open(url).await.expect("it opens");
        store.workspaces().await.expect("it reads");
        // A revoked right of the role is missing, even if the login owns the table.
        let revoke = "revoke select on leadhost.workspaces from leadhost_service";
        run(&mut owner, revoke).await;
        let refused = store.workspaces().await.unwrap_err();
        assert!(matches!(refused, StoreError::Query(_)), "{refused}");
        has!(refused.to_string(), "permission denied");
        let grant = "grant select on leadhost.workspaces to leadhost_service";
        run(&mut owner, grant).await;
        store.workspaces().await.expect("it reads again");
    }
    let role = sqlx::query(
        "select rolsuper or rolbypassrls or rolcreaterole or rolcreatedb or rolcanlogin,
           (select count(*) from pg_class where relowner = r.oid)
         from pg_roles as r
         where rolname = 'leadhost_service'",
    )
    .fetch_one(&mut owner)
    .await
    .unwrap();
    assert_eq!((role.get::<bool, _>(0), role.get::<i64, _>(1)), (false, 0));
}

async fn operations_name_theirs(filled: &Filled) {
    let store = open(filled.database.url()).await.expect("it opens");
    for workspace in [filled.one, filled.other] {
        let agents = store.agents(WorkspaceId(workspace)).await;
        // The row that the test made has an invalid kind: the error shows that it was read.
        let Err(StoreError::Inconsistent { what }) = agents else {
            panic!("{agents:?}");
        };
        has!(what, "agents.kind");
    }
    let unknown = WorkspaceId(Uuid::new_v4());
    assert_eq!(store.agents(unknown).await.expect("it reads"), []);
}
