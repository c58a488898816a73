//! A store moves from a file into a database: completely, however often the
//! move is interrupted, and its clients continue where they were.

use std::collections::{BTreeMap, BTreeSet};
use std::net::SocketAddr;
use std::path::Path;
use std::process::{Child, Stdio};
use std::time::Duration;

use hyper::Method;
use leadhost_tests::components::component;
use leadhost_tests::graph::{GraphDouble, GraphOptions};
use leadhost_tests::load::post;
use leadhost_tests::postgres::{Database, empty_database};
use leadhost_tests::service::{Service, command, leadhost, serve};
use leadhost_tests::{Answer, Ask, Hosts, Json, On, eventually, figures, has, lacks};
use rusqlite::{Connection, OpenFlags};
use serde_json::{Value, json};
use sqlx::postgres::PgConnection;
use sqlx::{AssertSqlSafe, Executor as _, Row as _};
use uuid::Uuid;

/// Kills of a move before it may complete.
fn kills() -> u64 {
    figures::size("LEADHOST_MOVE_KILLS", 8, 32) as u64
}

const LEADS: usize = 300;

const APP_SECRET: &str = "double-app-secret";
const PAGE: &str = "700000000000001";

#[tokio::test(flavor = "multi_thread")]
async fn a_repeatedly_interrupted_move_copies_everything_and_clients_continue() {
    let database = available!(empty_database());
    let (hosts, _double) = filled().await;
    let folder = hosts.folder(0);
    let file = folder.join("leadhost.db");

    // A client that has pulled everything, and one in the middle of its pull.
    let service = hosts.start(0).await;
    let mut client = ExportClient::default();
    client.pull(&hosts, &service).await;
    let before = client.rows.clone();
    let begun_pull = page(&hosts, &service, "limit=50").await;
    let cursor = begun_pull["next_cursor"].text().to_owned();
    let mut first = external_ids(&begun_pull);
    assert!(service.stop());
    touch_up(&file);

    let from = format!("sqlite://{}", file.display());
    let arguments = ["migrate", "--from", &from, "--to", database.url()];
    let mut met_half = false;
    for kill in 0..kills() {
        cut_off(folder, &arguments, &database, kill).await;
        if !met_half && begun(&database).await {
            met_half = true;
            let output = serve(folder, &["--store-url", database.url()]);
            assert!(!output.status.success(), "half a store was served");
            has!(String::from_utf8_lossy(&output.stderr), "leadhost migrate");
        }
    }
    assert!(met_half, "no move was cut off after its beginning");
    assert!(!finished(&database).await, "the move came through too soon");
    for tables in [2, 8, 14] {
        // Also while both sides are compared.
        cut_off_when(folder, &arguments, "500", &database, |progress| {
            let of = progress["tables"].as_object().expect("tables").values();
            of.filter(|table| !table["checked"].is_null()).count() >= tables
        })
        .await;
    }
    let (code, said, report) = migrate(folder, &arguments, &["--rows", "50"]);
    assert_eq!(code, Some(0), "{said}");
    lacks!(said, database.url());
    let report = report.expect("JSON");
    everything_arrived(&file, &database, &report).await;
    let sealing_key = report["sealingKey"].text();
    assert_eq!(sealing_key.len(), 16, "{report}");

    // A repeated move is a no-op; the file is not served by mistake.
    let output = leadhost(folder, &arguments);
    assert!(output.status.success());
    has!(String::from_utf8_lossy(&output.stdout), "before");
    let output = serve(folder, &[]);
    has!(String::from_utf8_lossy(&output.stderr), "was moved to");

    // Hosts and clients continue.
    let to = ["--store-url", database.url()];
    let service = hosts.start_with(0, &to).await;
    let mut next = Some(cursor);
    while let Some(cursor) = next {
        let page = page(&hosts, &service, &format!("limit=50&cursor={cursor}")).await;
        first.extend(external_ids(&page));
        next = page["next_cursor"].as_str().map(str::to_owned);
    }
    let pulled: BTreeSet<_> = first.iter().cloned().collect();
    assert_eq!(pulled.len(), first.len(), "a row came twice");
    assert_eq!(pulled, before.keys().cloned().collect());

    let portal = hosts.ingest("portal");
    let gateway = service.address("gateway");
    let known = send(gateway, &portal, "lead-7").await;
    assert_eq!(known["status"], "duplicate", "{known}");
    let fresh = send(gateway, &portal, "lead-after").await;
    assert_eq!(fresh["status"], "converted", "{fresh}");
    // Waiting work continues: its pointer, its secret and its plugin were moved
    // too.
    service.run(&["connection", "resume", "meta"]);
    eventually("the lead that waited is fetched", async || {
        let list = service.json("delivery list --connection meta");
        let waits = list.to_string().contains("\"queued\"");
        !waits
    })
    .await;
    let again = client.pull(&hosts, &service).await;
    let mut new = client.rows;
    new.retain(|id, _| !before.contains_key(id));
    assert!(new.contains_key("lead-after"), "{new:?}");
    assert_eq!(new.len(), 2, "{new:?}");
    // A host without the key, or with another one, does not start.
    let elsewhere = tempfile::tempdir().expect("a folder");
    for made in [false, true] {
        let output = serve(elsewhere.path(), &to);
        assert!(!output.status.success());
        has!(String::from_utf8_lossy(&output.stderr), sealing_key);
        let path = elsewhere.path().join("sealing.key");
        assert_eq!(path.exists(), made, "none is made where one is needed");
        std::fs::write(path, "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=").expect("a file");
    }
    // Only the row at the remembered stamp is read again.
    assert!(again <= 3, "{again} rows were read again");
    assert!(service.stop());
    let figure = format!(
        "a move from SQLite to PostgreSQL killed at {} points: every row arrived, export clients continue, {again} rows read again",
        kills() + 3
    );
    figures::record("migration", None, None, &figure);
}

#[tokio::test]
async fn a_store_moves_only_into_an_empty_database() {
    let one = available!(empty_database());
    let other = available!(empty_database());
    let folder = tempfile::tempdir().expect("a folder");
    let fails = |arguments: &[&str]| {
        let output = leadhost(folder.path(), arguments);
        assert!(!output.status.success(), "{arguments:?}");
        String::from_utf8(output.stderr).expect("UTF-8")
    };
    let from = format!("sqlite://{}", folder.path().join("leadhost.db").display());
    let refused = |from: &str, to: &str, why: &[&str]| {
        let message = fails(&["migrate", "--from", from, "--to", to]);
        for part in why {
            has!(message, part);
        }
    };
    refused(&from, one.url(), &["no store"]);
    let service = Service::start(folder.path(), &[]);
    refused(&from, one.url(), &["served by another process"]);
    assert!(service.stop());

    // A host has run here: its first key is content of the database.
    let elsewhere = tempfile::tempdir().expect("a folder");
    let service = Service::start(elsewhere.path(), &["--store-url", other.url()]);
    assert!(service.stop());
    refused(&from, other.url(), &["not empty"]);
    refused(one.url(), other.url(), &["--from"]);
    refused(&from, &from, &["--to"]);
    let other_kind = "mysql://db.example.com/leads";
    let named = format!("`--to {other_kind}` is not a PostgreSQL database");
    refused(&from, other_kind, &[&named]);
    let nowhere = "postgres://127.0.0.1:1/leads";
    let named = "the server of --to cannot be reached at 127.0.0.1:1";
    refused(&from, nowhere, &[nowhere, named]);
}

#[tokio::test]
async fn a_source_that_was_served_since_is_moved_again() {
    let database = available!(empty_database());
    let (hosts, _double) = filled().await;
    let folder = hosts.folder(0);
    let file = folder.join("leadhost.db");
    let from = format!("sqlite://{}", file.display());
    let arguments = ["migrate", "--from", &from, "--to", database.url()];
    let mut kill = 0;
    while !begun(&database).await {
        cut_off(folder, &arguments, &database, kill).await;
        kill += 1;
    }
    assert!(!finished(&database).await);
    let service = hosts.start(0).await;
    let late = send(service.address("gateway"), &hosts.ingest("portal"), "late").await;
    assert_eq!(late["status"], "converted");
    assert!(service.stop());
    let (code, said, report) = migrate(folder, &arguments, &[]);
    assert_eq!(code, Some(0), "{said}");
    let report = report.expect("JSON");
    everything_arrived(&file, &database, &report).await;
}

#[tokio::test]
async fn an_earlier_move_does_not_cover_later_data() {
    let database = available!(empty_database());
    let (hosts, _double) = filled().await;
    let folder = hosts.folder(0);
    let file = folder.join("leadhost.db");
    let left = folder.join("leadhost.moved");
    let from = format!("sqlite://{}", file.display());
    let arguments = ["migrate", "--from", &from, "--to", database.url()];
    let migrate = |more: &[&str]| migrate(folder, &arguments, more);
    // The key is known without the file `sealing.id`, as after a restore.
    let noted = folder.join("sealing.id");
    let id = std::fs::read_to_string(&noted).expect("the key is noted");
    std::fs::remove_file(&noted).expect("it is ours");
    let (code, said, report) = migrate(&[]);
    assert_eq!(code, Some(0), "{said}");
    assert_eq!(report.expect("JSON")["sealingKey"], id.trim());
    let rehearsed = deals(&database).await;

    // Even a setting is content, and so is a lead.
    for lead in [false, true] {
        std::fs::remove_file(&left).expect("the file was left");
        let service = hosts.start(0).await;
        if lead {
            let portal = hosts.ingest("portal");
            let late = send(service.address("gateway"), &portal, "late").await;
            assert_eq!(late["status"], "converted", "{late}");
        } else {
            service.run(&["connection", "pause", "portal", "--reason", "a rest"]);
        }
        assert!(service.stop());
        let (code, said, _) = migrate(&[]);
        assert_eq!(code, Some(1), "{said}");
        let deals = format!("{rehearsed} deals");
        has!(
            said,
            "earlier move",
            &deals,
            "Nothing was done",
            "--restart"
        );
        assert!(!left.exists(), "the file is not left: it did not move");
        if !lead {
            let service = hosts.start(0).await;
            service.run(&["connection", "resume", "portal"]);
            assert!(service.stop());
            std::fs::write(&left, "").expect("a file");
        }
    }
    assert_eq!(deals(&database).await, rehearsed);

    let (code, said, report) = migrate(&["--restart"]);
    assert_eq!(code, Some(0), "{said}");
    assert!(left.exists());
    let report = report.expect("JSON");
    assert_eq!(report["before"], false, "{report}");
    everything_arrived(&file, &database, &report).await;
    assert_eq!(deals(&database).await, rehearsed + 1);

    // Leads that a host accepted into the database are nowhere else.
    let to = ["--store-url", database.url()];
    let service = hosts.start_with(0, &to).await;
    let portal = hosts.ingest("portal");
    let new = send(service.address("gateway"), &portal, "new").await;
    assert_eq!(new["status"], "converted", "{new}");
    assert!(service.stop());
    let (code, said, _) = migrate(&["--restart"]);
    assert_eq!(code, Some(1), "{said}");
    has!(said, "a host was started on it");
    assert_eq!(deals(&database).await, rehearsed + 2);
    let (code, said, report) = migrate(&[]);
    assert_eq!(code, Some(0), "{said}");
    assert_eq!(report.expect("JSON")["before"], true);
}

/// Moves with these further arguments. Returns the exit code, the complaints and the report.
fn migrate(folder: &Path, move_it: &[&str], more: &[&str]) -> (Option<i32>, String, Option<Value>) {
    let output = leadhost(folder, &[move_it, &["--json"], more].concat());
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    let report = serde_json::from_slice(&output.stdout).ok();
    (output.status.code(), said, report)
}

/// A store with every kind of content: leads, repeats, refused deliveries,
/// waiting and answered fetches, quarantined deliveries.
async fn filled() -> (Hosts, GraphDouble) {
    let double = GraphDouble::start(GraphOptions::default()).expect("a free port");
    let graph = double.address();
    let workspace = format!(
        r#"
[workspace]
slug = "mover"
name = "Mover"

[[partners]]
name = "crm"

[[instances]]
name = "assistant"

[[owners]]
name = "Nilda Prado"
email = "nilda@example.com"

[[products]]
external_id = "AP-7"
name = "Vista Mar"

[[connections]]
name = "portal"
partner = "crm"
instance = "assistant"
plugin = "grupo-olx"

[[connections]]
name = "meta"
partner = "crm"
plugin = "meta-lead-ads"
config = {{ graphUrl = "http://{graph}" }}
allow = [{{ url = "http://{graph}", private = true }}]
routes = {{ page-id = "{PAGE}" }}
secrets = {{ app-secret = "{APP_SECRET}", "page-token/{PAGE}" = "double-page-token" }}
"#
    );
    let mut hosts = Hosts::on(On::Sqlite).workspace(&workspace);
    for plugin in ["converter-grupo-olx", "converter-meta-lead-ads"] {
        hosts = hosts.component(component(&format!("plugins/{plugin}.wasm")));
    }
    let hosts = hosts.apply().await;
    let service = hosts.start(0).await;
    let gateway = service.address("gateway");
    let portal = hosts.ingest("portal");
    for lead in 0..LEADS {
        let id = format!("lead-{lead}");
        assert_eq!(post(&mut None, gateway, &portal, &id).await, Some(true));
    }
    send(gateway, &portal, "lead-1").await;
    let refused = Ask::new(gateway, Method::POST, &portal).body("no JSON");
    refused.send().await.expect(400);
    announce(gateway, &hosts, "930000000000041", APP_SECRET)
        .await
        .expect(200);
    eventually("the lead is fetched", async || {
        let list = service.run(&["delivery", "list", "--connection", "meta", "--json"]);
        list.contains("\"converted\"")
    })
    .await;
    announce(gateway, &hosts, "930000000000042", "wrong")
        .await
        .expect(401);
    service.run(&["connection", "pause", "meta", "--reason", "moving house"]);
    let waits = announce(gateway, &hosts, "930000000000043", APP_SECRET).await;
    assert_eq!(waits.expect(200).json()["status"], "queued");
    assert!(service.stop());
    (hosts, double)
}

/// Adds values that a host does not write yet, and values that a database
/// cannot store.
#[track_caller]
fn touch_up(file: &Path) {
    let connection = Connection::open(file).unwrap();
    for sql in [
        "update contacts set name = 'Rita' || char(0) || 'Moura'
         where id = (select min(id) from contacts)",
        "update deliveries set notes = '[\"odd \\u0000 note\"]'
         where id = (select min(id) from deliveries)",
        "insert into connections (workspace_id, id, kind, name, plugin, config, config_version,
           agent_id, allow, checks, routes, secrets, sealed, fingerprint, region, time_zone,
           dedupe_by_content, settings, paused_at, paused_reason)
         select workspace_id, 'channel000000000000001', 'channel', 'assistant', 'a-channel', '{}', 1,
           agent_id, '[]', '[]', '{}', '[]', sealed, fingerprint, region, time_zone,
           0, '{\"unansweredSeconds\": 60, \"channel\": \"whatsapp\"}', 1, 'moving house'
         from connections where name = 'portal'",
        "insert into conversations (workspace_id, cursor_us, id, contact_id, agent_id, status,
           created_at, updated_at, props, transfer, respond_by, close_by)
         select workspace_id, 5, x'01990000000070008000000000000001', id, 1, 'open', 1, 2, '{}',
           0, 9000000000000002, 9000000000000003
         from contacts limit 1",
        "insert into messages (workspace_id, cursor_us, id, conversation_id, contact_id, agent_id,
           created_at, actor, kind, metadata, state)
         select workspace_id, 7, x'01990000000070008000000000000002', id, contact_id, agent_id, 3,
           'agent', 'text', '{\"b\": 1, \"a\":  [1e3, 12345678901234567890]}', 'waiting'
         from conversations",
        "insert into sends (workspace_id, message_id, conversation_id, contact_id, connection_id,
           recipient, payload, attempts, until_at)
         select workspace_id, unhex('0199000000007000800000000000001' || column1), id, contact_id,
           'channel000000000000001', '+5511987654321', '{\"name\":  \"hi\"}', column1,
           9000000000000009
         from conversations, (values (1), (2), (3), (4))",
        "insert into queue (workspace_id, delivery_id, item, connection_id, status, due_at,
           until_at, lease, lease_until_at)
         select workspace_id, unhex('0199000000007000800000000000001' || column1), -2,
           'channel000000000000001', column2, column3, 9000000000000009, 40 + column1, column4
         from conversations,
           (values (1, 'waiting', 9000000000000001, null), (2, 'waiting', 9000000000000001, 5),
             (3, 'sending', 9000000000000004, 9000000000000004), (4, 'unknown', null, null))",
        "insert into channel_refs (connection_id, external_id, workspace_id, message_id, progress,
           recipient_id, until_at)
         select 'channel000000000000001', 'wamid.' || column1, workspace_id,
           iif(column1 = 1, id, null), iif(column1 = 1, null, '{\"readAt\":  12}'), 'them',
           iif(column1 = 1, null, 9000000000000007)
         from messages, (values (1), (2))",
        "insert into rollout_reports (name, number, host_id, host, generation, error, reported_at, seen)
         values ('grupo-olx', 1, zeroblob(16), 'one', 2, 'odd ' || char(0), 12, '{\"served\":  1}')",
        "insert into holds (connection_id, contact_id, workspace_id, until_at)
         select 'channel000000000000001', column1, workspace_id, 9000000000000006
         from conversations, (values (zeroblob(16)), (x'01990000000070008000000000000003'))",
        "insert into message_errors (workspace_id, cursor_us, id, conversation_id, message_id,
           agent_id, code, title, occurred_at)
         select workspace_id, 11, x'01990000000070008000000000000004', conversation_id, id,
           agent_id, '131026', 'odd ' || char(0), 8
         from messages",
        "insert into feed_clock (workspace_id, entity, last_us)
         select workspace_id, column1, column2
         from messages, (values (1, 5), (2, 7), (5, 11), (6, 13))",
        "insert into template_lists (connection_id, workspace_id, synced_at, error, unlisted,
           templates)
         select 'channel000000000000001', workspace_id, 12, 'no answer', 0,
           '[{\"name\":  \"hi\"}]'
         from messages",
        "insert into idempotency (partner_id, route, key, workspace_id, fingerprint, message_id,
           answer, until_at)
         select partners.id, 'send-notification', 'once-' || column1, workspace_id, 'ab12',
           x'01990000000070008000000000000002', column2, 9000000000000008
         from partners, (values (1, null), (2, '{\"status\":  200}'))",
        "update products set import_at = 9000000000000010, created_at = 14, updated_at = 15",
        "insert into tombstones (workspace_id, entity, cursor_us, id)
         select workspace_id, 7, -1, x'01990000000070008000000000000005' from messages",
        "update deals set partner_id = (select id from partners), owner_id = (select id from owners),
           status = 'won', stage_code = 'closed_won', edited = '[\"props.logs\"]'
         where id = (select min(id) from deals)",
        "insert into deal_history (number, workspace_id, deal_id, at, who, changes)
         select 70 + column1, workspace_id, id, 16, '{\"by\":  \"partner\"}', '[]'
         from deals, (values (1), (2)) where status = 'won'",
        "insert into deal_logs (workspace_id, id, deal_id, created_at, partner_id, key_id, kind,
           subject, description, metadata)
         select workspace_id, x'01990000000070008000000000000006', id, 17, partner_id,
           x'01990000000070008000000000000007', 'success', 'odd ' || char(0), null,
           '{\"n\":  1e3}'
         from deals where status = 'won'",
        "insert into tickets (workspace_id, cursor_us, id, conversation_id, deal_id, contact_id,
           agent_id, owner_id, status, special_instructions, opened_at, answered_at, resolved_at,
           updated_at)
         select workspace_id, 11 + column1, unhex('0199000000007000800000000000002' || column1),
           iif(column1 = 1, x'01990000000070008000000000000001', null), id, person_id, agent_id,
           owner_id, column2, 'be kind', 18, column3, column3, 19
         from deals, (values (1, 'open', null), (2, 'resolved', 20)) where status = 'won'",
        "insert into refusals (origin, digest, reason, at) values ('x.wasm', null, 'no', 12)",
    ] {
        connection
            .execute(sql, [])
            .unwrap_or_else(|error| panic!("{error}: {sql}"));
    }
    connection.close().unwrap();
}

/// The messaging content after the move, besides the digests: a send waits in
/// the queue, without a lease.
const MESSAGING: &[(&str, i64)] = &[
    (
        "select count(*) from queue as q join sends as s on s.message_id = q.delivery_id
         where q.item = -2 and q.lease = 0 and q.lease_until_at is null
         and q.until_at = s.until_at and q.connection_id = s.connection_id
         and s.payload::text = '{\"name\":  \"hi\"}'",
        4,
    ),
    (
        "select count(*) from queue where item = -2 and status = 'waiting' and due_at is not null",
        2,
    ),
    (
        "select count(*) from queue
         where item = -2 and status = 'sending' and due_at = to_timestamp(9000000000.000004)",
        1,
    ),
    (
        "select count(*) from queue where item = -2 and status = 'unknown' and due_at is null",
        1,
    ),
    (
        "select count(*) from holds where contact_id = '00000000-0000-0000-0000-000000000000'",
        1,
    ),
    (
        "select count(*) from conversations where not transfer and due_at = respond_by",
        1,
    ),
    (
        "select count(*) from message_errors as e join feed_clock as c using (workspace_id)
         where c.entity = 5 and c.last_us = e.cursor_us and e.title = 'odd ' || U&'\\FFFD'",
        1,
    ),
    (
        "select count(*) from channel_refs where progress::text = '{\"readAt\":  12}'",
        1,
    ),
    (
        "select count(*) from connections
         where kind = 'channel' and partner_id is null
         and settings ->> 'unansweredSeconds' = '60'",
        1,
    ),
    ("select count(*) from idempotency where answer is null", 1),
    (
        "select count(*) from products
         where import_at = to_timestamp(9000000000.00001) and updated_at > created_at",
        1,
    ),
    (
        "select count(*) from deals as d join owners as o on o.id = d.owner_id
         join partners as p on p.id = d.partner_id
         where d.status = 'won' and d.stage_code = 'closed_won' and d.edited ->> 0 = 'props.logs'",
        1,
    ),
    (
        "select count(*) from deal_history where number > 70 and who::text = '{\"by\":  \"partner\"}'",
        2,
    ),
    (
        "select count(*) from deal_logs
         where subject = 'odd ' || U&'\\FFFD' and metadata::text = '{\"n\":  1e3}'",
        1,
    ),
    (
        "select count(*) from tickets as t join conversations as c on c.id = t.conversation_id
         where t.status = 'open' and t.resolved_at is null",
        1,
    ),
    (
        "select count(*) from tickets as t join feed_clock as c using (workspace_id)
         where c.entity = 6 and c.last_us = t.cursor_us and t.resolved_at > t.opened_at",
        1,
    ),
    ("select count(*) from tombstones where entity = 7", 1),
];

/// Compares the counts of both sides, by queries to the databases themselves.
async fn everything_arrived(file: &Path, database: &Database, report: &Value) {
    let source = Connection::open_with_flags(file, OpenFlags::SQLITE_OPEN_READ_ONLY).unwrap();
    let there = |sql: &str| -> i64 { source.query_row(sql, [], |row| row.get(0)).unwrap() };
    let mut arrived = database.connect().await;
    arrived.execute("set search_path = leadhost").await.unwrap();
    let mut count = async |sql: &str| -> i64 {
        let row = arrived.fetch_one(AssertSqlSafe(sql.to_owned())).await;
        row.unwrap().get(0)
    };
    let mut rows = 0;
    for table in report["tables"].as_array().expect("tables") {
        let name = table["table"].as_str().expect("a name");
        let moved = table["rows"].as_i64().expect("a number");
        assert_eq!(table["digest"].as_str().map(str::len), Some(32), "{name}");
        rows += moved;
        let sql = format!("select count(*) from {name}");
        assert_eq!((there(&sql), count(&sql).await), (moved, moved), "{name}");
        // No column was forgotten: each has as many values on both sides.
        for column in columns(&source, name) {
            if (name, column.as_str()) == ("queue", "lease_until_at") {
                continue;
            }
            let sql = format!("select count({column}) from {name}");
            assert_eq!(there(&sql), count(&sql).await, "{name}.{column}");
        }
    }
    assert!(rows > 5 * i64::try_from(LEADS).unwrap());
    has!(report["tables"].to_string(), "rollout_reports");
    for (sql, expect) in MESSAGING {
        // A store without messaging content has none of it afterwards.
        let has_some = count("select count(*) from messages").await > 0;
        let wanted = if has_some { *expect } else { 0 };
        assert_eq!(count(sql).await, wanted, "{sql}");
    }
    // Waiting work has no lease.
    let held = "select count(*) from queue where lease <> 0 or lease_until_at is not null";
    assert_eq!(count(held).await, 0);
    let waiting = "select count(*) from queue where item >= 0 and due_at is not null";
    assert_eq!(count(waiting).await, there("select count(*) from fetches"));
    // Sequences continue after the greatest number.
    for table in ["answers", "deal_history", "refusals"] {
        let greatest = there(&format!("select coalesce(max(number), 0) from {table}"));
        let next = format!("select nextval(pg_get_serial_sequence('{table}', 'number'))");
        assert_eq!(count(&next).await, greatest + 1, "{table}");
    }
    let lease = there("select last_lease from store");
    assert!(count("select nextval('leases')").await > lease);
    let id: [u8; 16] = source
        .query_row("select id from store", [], |row| row.get(0))
        .unwrap();
    let id = Uuid::from_bytes(id);
    let sql = format!(
        "select count(*) from store
         where id = '{id}' and last_agent = {} and sealing_key is not null",
        there("select last_agent from store"),
    );
    assert_eq!(count(&sql).await, 1);
    source.close().unwrap();
}

/// The columns that a row is written with.
fn columns(source: &Connection, table: &str) -> Vec<String> {
    let sql = format!("select name from pragma_table_xinfo('{table}') where hidden = 0");
    let mut statement = source.prepare(&sql).unwrap();
    let names = statement.query_map([], |row| row.get(0)).unwrap();
    names.map(|name| name.unwrap()).collect()
}

/// Reads one value of the database.
async fn read<T>(database: &Database, sql: &'static str) -> T
where
    T: for<'r> sqlx::Decode<'r, sqlx::Postgres> + sqlx::Type<sqlx::Postgres>,
{
    database
        .connect()
        .await
        .fetch_one(sql)
        .await
        .unwrap()
        .get(0)
}

async fn deals(database: &Database) -> i64 {
    read(database, "select count(*) from leadhost.deals").await
}

async fn begun(database: &Database) -> bool {
    let progress = progress(database).await;
    progress.is_some_and(|progress| copied(&progress) > 0)
}

async fn finished(database: &Database) -> bool {
    read(database, "select done_at is not null from leadhost.moves").await
}

async fn progress(database: &Database) -> Option<Value> {
    progress_by(&mut database.connect().await).await
}

async fn progress_by(connection: &mut PgConnection) -> Option<Value> {
    // The table does not exist before the first run has come that far.
    let row = connection
        .fetch_optional("select progress::text from leadhost.moves")
        .await
        .ok()??;
    serde_json::from_str(row.get(0)).ok()
}

fn copied(progress: &Value) -> u64 {
    let tables = progress["tables"].as_object().into_iter().flatten();
    tables
        .map(|(_, table)| table["rows"].as_u64().unwrap_or(0))
        .sum()
}

/// Starts a move in the smallest steps and kills it like a power cut: some rows
/// later, or before the first row.
async fn cut_off(folder: &Path, arguments: &[&str], database: &Database, kill: u64) {
    if kill % 4 == 3 {
        let mut child = moves(folder, arguments, "1");
        // However many kills there are, they all come before the end of the
        // move.
        let longest = (3_840 / kills()).max(1);
        tokio::time::sleep(Duration::from_millis((kill * 13) % longest)).await;
        child.kill().expect("it runs or has run");
        child.wait().expect("it ends");
        return;
    }
    let before = progress(database).await;
    let apart = (1_280 / kills()).max(1);
    let enough = before.as_ref().map_or(0, copied) + 1 + (kill * 7) % apart;
    cut_off_when(folder, arguments, "1", database, |now| {
        copied(now) >= enough
    })
    .await;
}

async fn cut_off_when(
    folder: &Path,
    arguments: &[&str],
    rows: &str,
    database: &Database,
    enough: impl Fn(&Value) -> bool,
) {
    let mut child = moves(folder, arguments, rows);
    let mut connection = database.connect().await;
    eventually("the move is far enough", async || {
        let ended = child.try_wait().expect("it is ours").is_some();
        let far = progress_by(&mut connection)
            .await
            .is_some_and(|now| enough(&now));
        ended || far
    })
    .await;
    child.kill().expect("it runs or has run");
    child.wait().expect("it ends");
}

fn moves(folder: &Path, arguments: &[&str], rows: &str) -> Child {
    command(folder, &[arguments, &["--rows", rows]].concat())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .expect("the program starts")
}

async fn send(to: SocketAddr, path: &str, id: &str) -> Value {
    let lead = json!({
        "leadOrigin": "Portal", "timestamp": "2030-01-15T12:00:00.000Z", "originLeadId": id,
        "clientListingId": "AP-7", "name": "Rita Moura", "email": format!("{id}@example.com"),
        "ddd": "11", "phone": "987654321", "message": "Posso visitar?",
    });
    let answer = Ask::new(to, Method::POST, path).json(&lead).send().await;
    answer.expect(200).json()
}

async fn announce(to: SocketAddr, hosts: &Hosts, lead: &str, secret: &str) -> Answer {
    let body = json!({"object": "page", "entry": [{"id": PAGE, "time": 1_893_456_000, "changes": [
        {"field": "leadgen", "value": {
            "leadgen_id": lead, "page_id": PAGE, "form_id": "920000000000001",
            "created_time": 1_893_456_000,
        }},
    ]}]})
    .to_string();
    Ask::new(to, Method::POST, &hosts.ingest("meta"))
        .signed("x-hub-signature-256", "sha256=", secret, body.as_bytes())
        .send()
        .await
}

fn external_ids(page: &Value) -> Vec<String> {
    let rows = page["data"].list().iter();
    rows.map(|row| row["external_id"].text().to_owned())
        .collect()
}

async fn page(hosts: &Hosts, service: &Service, query: &str) -> Value {
    let ask = hosts.client(service, &format!("/v1/export/deals?{query}"));
    ask.send().await.expect(200).json()
}

/// A client of the export that keeps the rows it has seen and the greatest
/// stamp.
#[derive(Default)]
struct ExportClient {
    since: Option<String>,
    /// Stamps by external id.
    rows: BTreeMap<String, String>,
}

impl ExportClient {
    /// Pulls the changes since the last time. Returns the number of rows.
    async fn pull(&mut self, hosts: &Hosts, service: &Service) -> usize {
        let mut came = 0;
        let mut query = match &self.since {
            Some(since) => format!("limit=100&updated_since={since}"),
            None => "limit=100".to_owned(),
        };
        loop {
            let page = page(hosts, service, &query).await;
            for row in page["data"].list() {
                let stamp = row["cursor_at"].text().to_owned();
                self.since = self.since.take().max(Some(stamp.clone()));
                self.rows
                    .insert(row["external_id"].text().to_owned(), stamp);
                came += 1;
            }
            match page["next_cursor"].as_str() {
                Some(next) => query = format!("limit=100&cursor={next}"),
                None => return came,
            }
        }
    }
}
