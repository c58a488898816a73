//! Every statement of the store, as the server sees it: it can be prepared against
//! the schema, and never reads a growing table from end to end.

use std::collections::HashMap;

use leadhost_store::postgres::{HELLO, statements};
use sqlx::{Either, SqlSafeStr as _, Statement as _};

use super::*;

/// Tables that grow with leads. The others grow with operators' declarations.
const GROWING: &[&str] = &[
    "answers",
    "channel_refs",
    "commit_markers",
    "contact_keys",
    "contacts",
    "conversations",
    "deal_history",
    "deal_logs",
    "deals",
    "dedupe",
    "deliveries",
    "fetches",
    "holds",
    "idempotency",
    "items",
    "kept_sends",
    "message_errors",
    "messages",
    "products",
    "queue",
    "repair_changes",
    "rollup_days",
    "rollup_facts",
    "rollup_keys",
    "rollup_slots",
    "sends",
    "shared_keys",
    "tickets",
    "tombstones",
];

/// Statements that may read a growing table by the workspace alone or whole: the
/// table, a part of the text, and the reason.
const WHOLE: &[Reason] = &[
    (
        "queue",
        "count(*) filter",
        "counts all that waits, which is what the queue is",
    ),
    (
        "queue",
        "count(*) as count",
        "counts what waits by connection, now and then",
    ),
    (
        "channel_refs",
        "count(*)",
        "counts what is said of unknown messages, which is bounded",
    ),
    (
        "deals",
        "and true\n",
        "the newest deals of a workspace, in the order of the index",
    ),
];

#[tokio::test]
async fn every_statement_prepares_against_the_schema() {
    let database = available!(database());
    open(database.url()).await.expect("it opens");
    let mut service = as_service(&database).await;
    for (area, sql) in statements() {
        let prepared = service.prepare(sql.into_sql_str()).await;
        assert!(prepared.is_ok(), "{area}: {sql}\n{:?}", prepared.err());
    }
}

/// With sequential scans disabled the server uses an index if there is one that
/// fits. The plan is generic, as for a statement that runs often.
#[tokio::test]
async fn no_statement_reads_a_growing_table_from_end_to_end() {
    let database = available!(database());
    fill(&database).await;
    let mut service = as_service(&database).await;
    let (wrong, unused) = read_whole(&mut service).await;
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(unused.is_empty(), "no longer true: {unused:?}");
}

/// A plan that is made in the first minutes is kept as long as the connection.
#[tokio::test]
async fn no_statement_reads_a_young_table_from_end_to_end() {
    let database = available!(database());
    open(database.url()).await.expect("it opens");
    let mut service = as_service(&database).await;
    let (wrong, _) = read_whole(&mut service).await;
    assert!(wrong.is_empty(), "empty:\n{}", wrong.join("\n"));
    // The tables have grown, but the server has not analysed them yet.
    fill(&database).await;
    run(
        &mut database.connect_as_admin().await,
        "delete from pg_statistic",
    )
    .await;
    let (wrong, _) = read_whole(&mut service).await;
    assert!(wrong.is_empty(), "unknown:\n{}", wrong.join("\n"));
}

type Reason = (&'static str, &'static str, &'static str);

/// Returns the reads of growing tables without a condition of their own, with the
/// settings of the service's connections; and the allowed ones that no longer
/// exist.
async fn read_whole(service: &mut PgConnection) -> (Vec<String>, Vec<&'static Reason>) {
    run(service, HELLO).await;
    let indexes = indexes(service).await;
    let mut used = vec![false; WHOLE.len()];
    let mut wrong = Vec::new();
    // A lock has no plan.
    let planned = statements()
        .into_iter()
        .filter(|(_, sql)| !sql.starts_with("lock table"));
    for (area, sql) in planned {
        let plan = explain(service, sql).await;
        let mut read = Vec::new();
        walk(&plan, None, &indexes, &mut read);
        for (table, how) in read {
            let known = WHOLE
                .iter()
                .position(|(of, part, _)| *of == table && sql.contains(part));
            match known {
                Some(at) => used[at] = true,
                None => wrong.push(format!("{area}: {table} by {how}\n{sql}\n")),
            }
        }
    }
    let unused = WHOLE.iter().zip(used).filter(|(_, used)| !used);
    (wrong, unused.map(|(known, _)| known).collect())
}

/// Inserts enough rows for the server to prefer one index to another.
async fn fill(database: &Database) {
    const ROWS: usize = 2_000;
    let store = open(database.url()).await.expect("it opens");
    let mut owner = database.connect().await;
    run(&mut owner, "set search_path = leadhost").await;
    for (slug, first) in [("one", 1), ("other", 1 + ROWS), ("third", 1 + 2 * ROWS)] {
        let mut plan = plan(slug);
        plan.products.clear();
        let applied = store.apply(&plan, START, false).await.expect("a plan");
        for table in GROWING {
            let of_one = applied.workspace_id.0;
            let insert = insert(&mut owner, table, of_one, first, ROWS).await;
            run(&mut owner, insert).await;
        }
    }
    run(
        &mut owner,
        "update deals set external_id = id::text;
         update queue set due_at = now(),
           status = (array['queued', 'failed', 'fetch'])[1 + abs(hashtext(delivery_id::text)) % 3];
         analyze",
    )
    .await;
}

async fn explain(service: &mut PgConnection, sql: &'static str) -> Value {
    let parameters = {
        let prepared = service
            .prepare(sql.into_sql_str())
            .await
            .expect("it prepares");
        match prepared.parameters() {
            Some(Either::Left(types)) => types.len(),
            Some(Either::Right(number)) => number,
            None => 0,
        }
    };
    run(service, format!("prepare one as {sql}")).await;
    let nulls = vec!["null"; parameters].join(", ");
    let nulls = if parameters == 0 {
        String::new()
    } else {
        format!("({nulls})")
    };
    let explain = format!("explain (format json) execute one{nulls}");
    let plan: Value = sqlx::query_scalar(AssertSqlSafe(explain))
        .persistent(false)
        .fetch_one(&mut *service)
        .await
        .unwrap_or_else(|error| panic!("{sql}\n{error}"));
    run(service, "deallocate one").await;
    plan[0]["Plan"].clone()
}

/// Returns the first column of each index, but for the workspace.
async fn indexes(service: &mut PgConnection) -> HashMap<String, String> {
    let rows: Vec<(String, String)> = sqlx::query_as(
        "select distinct on (name) name, of
         from (select c.relname::text as name, k, pg_get_indexdef(c.oid, k, true) as of
           from pg_index as i
           join pg_class as c on c.oid = i.indexrelid
           cross join generate_series(1, i.indnkeyatts) as k) as columns
         where of <> 'workspace_id'
         order by name, k",
    )
    .fetch_all(service)
    .await
    .expect("the indexes are read");
    rows.into_iter().collect()
}

/// Collects the reads of growing tables without a condition of their own.
fn walk(
    node: &Value,
    table: Option<&str>,
    indexes: &HashMap<String, String>,
    read: &mut Vec<(String, String)>,
) {
    let kind = node["Node Type"].as_str().unwrap_or_default();
    let table = node["Relation Name"].as_str().or(table);
    if let Some(table) = table.filter(|table| GROWING.contains(table)) {
        let condition = node["Index Cond"].as_str();
        let index = node["Index Name"]
            .as_str()
            .and_then(|name| indexes.get(name));
        let reads = match kind {
            "Seq Scan" | "Bitmap Heap Scan" => true,
            "Index Scan" | "Index Only Scan" | "Bitmap Index Scan" => {
                !condition.is_some_and(|condition| leads(condition, index))
            }
            _ => false,
        };
        if reads {
            let index = node["Index Name"].as_str().unwrap_or("no index");
            let how = format!("{kind} on {:?} of {index}", condition.unwrap_or_default());
            read.push((table.to_owned(), how));
        }
    }
    for below in node["Plans"].as_array().into_iter().flatten() {
        // A bitmap scan names its table above the index.
        let of_same = table.filter(|_| kind.starts_with("Bitmap"));
        walk(below, of_same, indexes, read);
    }
}

/// Whether an index condition narrows the first column of the index that is not the workspace. One
/// on a later column alone still reads all entries of the workspace.
fn leads(condition: &str, first: Option<&String>) -> bool {
    condition
        .split(" AND ")
        // The column is on the left: `((workspace_id = $1) AND (id < $2))`.
        .filter_map(|part| part.trim_start_matches('(').split(' ').next())
        .any(|column| first.is_some_and(|first| first == column))
}

#[test]
fn a_condition_that_skips_a_column_of_the_index_does_not_count_as_selective() {
    let id = "id".to_owned();
    for (condition, expected) in [
        ("(workspace_id = ANY ($0))", false),
        ("((workspace_id = ANY ($0)) AND (workspace_id = $1))", false),
        ("(workspace_id = w.id)", false),
        ("((workspace_id = ANY ($0)) AND (id = $1))", true),
        ("((workspace_id = $1) AND (person_id = $2))", false),
    ] {
        assert_eq!(leads(condition, Some(&id)), expected, "{condition}");
    }
}
