//! The import of a catalogue over HTTP: the outcome of its lines, removals, and
//! refusals.

use std::time::Duration;

use leadhost_domain::id::{HostId, WorkspaceId};
use leadhost_domain::key::PlainKey;
use leadhost_domain::limits;
use leadhost_tests::{Ask, Host, Json as _, On, eventually, fields, has};
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

leadhost_tests::on_every_store! {
    lines_make_change_and_keep_products,
    a_catalogue_is_replaced_only_when_every_line_was_taken,
    an_empty_catalogue_removes_nothing_unless_it_is_forced,
    a_wrong_line_is_reported_and_does_not_stop_the_others,
    the_first_of_two_lines_with_one_external_id_counts,
    a_file_that_is_no_catalogue_is_refused_whole,
    a_quote_that_is_never_closed_breaks_the_import_off,
    an_import_that_breaks_off_removes_nothing,
    one_import_of_a_workspace_runs_at_a_time,
    all_refused_lines_are_counted_and_the_first_are_reported,
    a_declared_workspace_and_an_import_have_the_same_products,
}

struct Catalogue {
    host: Host,
    key: PlainKey,
    workspace: WorkspaceId,
}

const NDJSON: &str = "application/x-ndjson";
const CSV: &str = "text/csv";

impl Catalogue {
    async fn new(on: On) -> Self {
        let host = Host::new(on).await;
        let seeded = host.workspace("acme").await;
        let key = host.admin_key().await;
        Self {
            host,
            key,
            workspace: seeded.workspace,
        }
    }

    fn ask(&self, kind: &str, query: &str) -> Ask {
        let path = format!("/admin/v1/workspaces/acme/products{query}");
        self.host
            .admin("PUT", &path)
            .bearer(&self.key)
            .header("content-type", kind)
    }

    async fn import(&self, kind: &str, query: &str, body: impl Into<Vec<u8>>) -> Value {
        self.host.advance(1).await;
        let body: Vec<u8> = body.into();
        let answer = self.ask(kind, query).body(body).send().await;
        answer.expect(200).json()
    }

    async fn lists(&self, query: &str, products: &[(&str, &str)]) -> Value {
        self.import(NDJSON, query, ndjson(products)).await
    }

    /// Returns the reason for refusing the whole import.
    async fn refused(&self, kind: &str, body: &[u8], status: u16) -> String {
        let answer = self.ask(kind, "").body(body.to_vec()).send().await;
        let answer = answer.expect(status).json();
        answer["error"].text().to_owned()
    }

    /// The names of the existing products, in the order of the feed.
    async fn names(&self) -> Vec<String> {
        let store = self.host.store();
        let found = store.product_changes(self.workspace, 0, 10_000).await;
        let changes = found.expect("it tells").changes;
        changes
            .into_iter()
            .filter_map(|change| change.name)
            .collect()
    }

    async fn count(&self) -> i64 {
        self.host.count("select count(*) from products").await
    }
}

fn ndjson(products: &[(&str, &str)]) -> String {
    let line =
        |(id, name): &(&str, &str)| json!({"externalId": id, "name": name}).to_string() + "\n";
    products.iter().map(line).collect()
}

#[track_caller]
fn counts(report: &Value) -> [u64; 5] {
    ["created", "changed", "kept", "removed", "refused"]
        .map(|name| report[name].as_u64().unwrap_or_else(|| panic!("{report}")))
}

async fn lines_make_change_and_keep_products(on: On) {
    let catalogue = Catalogue::new(on).await;
    let lines = "{\"externalId\":\"1\",\"name\":\"Casa à beira-mar\",\"description\":\"Three\\nrooms\"}\r\n\
        \n\
        {\"externalId\":\"2\",\"name\":\"Flat\",\"price\":100}";
    let report = catalogue.import(NDJSON, "", lines).await;
    assert_eq!(
        report,
        json!({
            "created": 2, "changed": 0, "kept": 0, "removed": 0, "refused": 0,
            "problems": [], "ignored": ["price"], "replaced": false, "note": null,
        })
    );
    let again = catalogue.import(NDJSON, "", lines).await;
    assert_eq!(counts(&again), [0, 0, 2, 0, 0]);
    let changed = catalogue.lists("", &[("2", "Flat"), ("1", "House"), ("3", "New")]);
    assert_eq!(counts(&changed.await), [1, 1, 1, 0, 0]);
    assert_eq!(catalogue.names().await, ["Flat", "House", "New"]);
    // By its id as well as by its slug; keys of other kinds are refused.
    let put = |workspace: &str| {
        let path = format!("/admin/v1/workspaces/{workspace}/products");
        let ask = catalogue.host.admin("PUT", &path);
        ask.header("content-type", NDJSON)
    };
    let ask = put(&catalogue.workspace.to_string());
    ask.clone().body("").send().await.expect(401);
    ask.bearer(&catalogue.key).body("").send().await.expect(200);
    let ask = put("nope").bearer(&catalogue.key);
    has!(ask.body("").send().await.expect(404), "workspace list");
}

async fn a_catalogue_is_replaced_only_when_every_line_was_taken(on: On) {
    let catalogue = Catalogue::new(on).await;
    catalogue
        .lists("", &[("1", "One"), ("2", "Two"), ("3", "Three")])
        .await;
    let wrong = ndjson(&[("1", "One"), ("", "Nameless")]);
    let report = catalogue.import(NDJSON, "?replace=true", wrong.clone());
    let report = report.await;
    assert_eq!(counts(&report), [0, 0, 1, 0, 1]);
    assert_eq!(report["replaced"], false);
    has!(report["note"].text(), "nothing was removed");
    assert_eq!(catalogue.count().await, 3);
    let report = catalogue
        .lists("?replace=true", &[("1", "One"), ("4", "Four")])
        .await;
    assert_eq!(counts(&report), [1, 0, 1, 2, 0]);
    fields!(report, {"replaced": true, "note": null});
    assert_eq!(catalogue.names().await, ["One", "Four"]);
    let report = catalogue.import(NDJSON, "?replace=force", wrong).await;
    assert_eq!(counts(&report), [0, 0, 1, 1, 1]);
    assert_eq!(catalogue.names().await, ["One"]);
    let ask = catalogue.ask(NDJSON, "?replace=maybe").body("");
    let odd = ask.send().await;
    has!(odd.expect(400), "true, false or force");
}

async fn an_empty_catalogue_removes_nothing_unless_it_is_forced(on: On) {
    let catalogue = Catalogue::new(on).await;
    catalogue.lists("", &[("1", "One")]).await;
    for (kind, empty) in [
        (NDJSON, ""),
        (NDJSON, "\n\n"),
        (CSV, ""),
        (CSV, "externalId,name\n"),
    ] {
        let report = catalogue.import(kind, "?replace=true", empty).await;
        assert_eq!(counts(&report), [0; 5]);
        has!(report["note"].text(), "names no product");
        assert_eq!(catalogue.count().await, 1, "{empty:?}");
    }
    let report = catalogue.import(NDJSON, "?replace=force", "").await;
    assert_eq!(counts(&report), [0, 0, 0, 1, 0]);
    assert_eq!(catalogue.count().await, 0);
}

async fn a_wrong_line_is_reported_and_does_not_stop_the_others(on: On) {
    let catalogue = Catalogue::new(on).await;
    let mut body = b"{\"externalId\":\"1\",\"name\":\"One\"}\nno json\n{\"name\":\"x\"}\n".to_vec();
    body.extend(b"{\"externalId\":\"4\"}\n{\"externalId\":5,\"name\":\"x\"}\n");
    body.extend(b"{\"externalId\":\"6\",\"name\":\"S\xe3o\"}\n");
    body.extend(b"{\"externalId\":\"7\",\"name\":\"a\\u0000b\"}\n");
    body.extend(b"{\"externalId\":\"8\",\"name\":\"");
    body.resize(body.len() + (10 << 20), b'x');
    body.extend(b"\"}\n");
    let long = "é".repeat(limits::NAME_CHARACTERS + 1);
    body.extend(ndjson(&[("9", &long), ("10", "Ten")]).into_bytes());
    let report = catalogue.import(NDJSON, "", body).await;
    assert_eq!(counts(&report), [2, 0, 0, 0, 8]);
    let problems = report["problems"].list();
    for (problem, (line, part)) in problems.iter().zip([
        (2, "not a JSON object"),
        (3, "externalId is missing"),
        (4, "name is missing"),
        (5, "externalId is a number"),
        (6, "Latin-1"),
        (7, "U+0000"),
        (8, "longer than"),
        (9, "256 characters"),
    ]) {
        assert_eq!(problem["line"], line, "{problem}");
        has!(problem["message"].text(), part);
    }
    assert_eq!(catalogue.names().await, ["One", "Ten"]);
}

async fn the_first_of_two_lines_with_one_external_id_counts(on: On) {
    let catalogue = Catalogue::new(on).await;
    let mut body = String::new();
    for number in 0..3_000 {
        body += &ndjson(&[(&number.to_string(), &format!("House {number}"))]);
    }
    // Near and far from the first line.
    body += &ndjson(&[("2999", "Near"), ("0", "Far")]);
    let report = catalogue.import(NDJSON, "?replace=true", body).await;
    assert_eq!(counts(&report), [3_000, 0, 0, 0, 2]);
    fields!(report, {"problems.0.line": 3_001, "problems.1.line": 3_002, "problems.2": null});
    let names = catalogue.names().await;
    assert!(!names.iter().any(|name| name == "Near" || name == "Far"));
}

async fn a_file_that_is_no_catalogue_is_refused_whole(on: On) {
    let catalogue = Catalogue::new(on).await;
    let check = async |kind: &str, body: &[u8], status, part: &str| {
        has!(catalogue.refused(kind, body, status).await, part);
    };
    check(CSV, b"externalId;name\n1;House\n", 400, "semicolons").await;
    check(CSV, b"1,House\n", 400, "columns externalId and name").await;
    check(CSV, b"\xff\xfee\0x\0t\0", 400, "UTF-16").await;
    check(NDJSON, br#"[{"externalId":"1","name":"x"}]"#, 400, "NDJSON").await;
    check("application/json", b"{}", 415, "text/csv").await;
    check("text/csv; charset=iso-8859-1", b"", 415, "UTF-8").await;
    let ask = catalogue.ask(NDJSON, "").header("content-encoding", "gzip");
    ask.body("x").send().await.expect(415);
    // A refused import does not block the next one.
    catalogue.lists("", &[("1", "One")]).await;
    assert_eq!(catalogue.count().await, 1);
}

async fn a_quote_that_is_never_closed_breaks_the_import_off(on: On) {
    let catalogue = Catalogue::new(on).await;
    let rows = ndjson(&[("1", "One"), ("2", "Two"), ("3", "Three")]);
    catalogue.import(NDJSON, "", rows).await;
    let short = b"externalId,name\n1,One\n2,\"Two\n3,Three\n".to_vec();
    let mut long = short.clone();
    long.resize(limits::IMPORT_LINE_BYTES + (1 << 20), b'\n');
    for body in [short, long] {
        for query in ["?replace=true", "?replace=force"] {
            catalogue.host.advance(1).await;
            let ask = catalogue.ask(CSV, query).body(body.clone());
            let answer = ask.send().await.expect(400).json();
            has!(answer["error"], "opens on line 3 is");
            assert_eq!(catalogue.names().await, ["One", "Two", "Three"]);
        }
    }
    // It does not block the next one.
    let body = "externalId,name\n1,One\n2,\"Two\"\n";
    let report = catalogue.import(CSV, "?replace=true", body).await;
    assert_eq!(counts(&report), [0, 0, 2, 1, 0]);
}

async fn an_import_that_breaks_off_removes_nothing(on: On) {
    let catalogue = Catalogue::new(on).await;
    catalogue.lists("", &[("1", "One"), ("2", "Two")]).await;
    catalogue.host.advance(1).await;
    let address = catalogue.host.addresses.admin;
    let mut stream = tokio::net::TcpStream::connect(address).await.unwrap();
    let head = format!(
        "PUT /admin/v1/workspaces/acme/products?replace=force HTTP/1.1\r\nHost: {address}\r\n\
         Authorization: Bearer {}\r\nContent-Type: {NDJSON}\r\nContent-Length: 1000\r\nExpect: 100-continue\r\n\r\n",
        catalogue.key.reveal()
    );
    stream.write_all(head.as_bytes()).await.unwrap();
    let mut word = [0; 25];
    stream.read_exact(&mut word).await.unwrap();
    assert_eq!(&word, b"HTTP/1.1 100 Continue\r\n\r\n", "it has begun");
    let line = ndjson(&[("3", "Three")]);
    stream.write_all(line.as_bytes()).await.unwrap();
    catalogue.refused(NDJSON, b"", 409).await;
    drop(stream);
    eventually("its end is noticed", async || {
        let answer = catalogue.ask(NDJSON, "").body("").send().await;
        answer.status == 200
    })
    .await;
    assert_eq!(catalogue.names().await, ["One", "Two"]);
}

async fn one_import_of_a_workspace_runs_at_a_time(on: On) {
    let catalogue = Catalogue::new(on).await;
    let store = catalogue.host.store();
    let job = format!("import-products:{}", catalogue.workspace);
    let other = HostId::new(catalogue.host.now());
    store
        .hold_job(&job, other, Duration::from_secs(60))
        .await
        .unwrap()
        .expect("it is free");
    has!(catalogue.refused(NDJSON, b"", 409).await, "under way");
    // An import of another workspace is independent.
    catalogue.host.workspace("beta").await;
    let ask = catalogue
        .host
        .admin("PUT", "/admin/v1/workspaces/beta/products");
    let ask = ask.bearer(&catalogue.key).header("content-type", NDJSON);
    ask.body("").send().await.expect(200);
    store.leave_job(&job, other).await.unwrap();
    catalogue.import(NDJSON, "", "").await;
    catalogue.import(NDJSON, "", "").await;
}

async fn all_refused_lines_are_counted_and_the_first_are_reported(on: On) {
    let catalogue = Catalogue::new(on).await;
    let body = "{}\n".repeat(limits::IMPORT_PROBLEMS_SHOWN + 500) + &ndjson(&[("1", "One")]);
    let report = catalogue.import(NDJSON, "", body).await;
    assert_eq!(report["refused"], limits::IMPORT_PROBLEMS_SHOWN + 500);
    let problems = report["problems"].list();
    assert_eq!(problems.len(), limits::IMPORT_PROBLEMS_SHOWN);
    let expect = limits::IMPORT_PROBLEMS_SHOWN;
    assert_eq!(problems.last().unwrap()["line"], expect);
    assert_eq!(report["created"], 1);
}

async fn a_declared_workspace_and_an_import_have_the_same_products(on: On) {
    let catalogue = Catalogue::new(on).await;
    catalogue.lists("", &[("1", "One"), ("2", "Two")]).await;
    let file = json!({
        "workspace": {"slug": "acme", "name": "Acme"},
        "products": [{"external_id": "1", "name": "Declared"}],
    });
    catalogue.host.advance(1).await;
    let ask = catalogue.host.admin("POST", "/admin/v1/apply");
    let ask = ask.bearer(&catalogue.key);
    let report = ask.json(&file).send().await;
    assert_eq!(report.status, 200, "{}", report.text());
    assert_eq!(catalogue.names().await, ["Two", "Declared"]);
    let report = catalogue.lists("?replace=true", &[("2", "Two")]).await;
    assert_eq!(counts(&report), [0, 0, 1, 1, 0]);
}

/// The server answers before it has read the body.
#[tokio::test]
async fn a_large_body_for_an_unknown_workspace_gets_404() {
    let catalogue = Catalogue::new(On::Sqlite).await;
    let address = catalogue.host.addresses.admin;
    let mut stream = tokio::net::TcpStream::connect(address).await.unwrap();
    let head = format!(
        "PUT /admin/v1/workspaces/nope/products HTTP/1.1\r\nHost: {address}\r\n\
         Authorization: Bearer {}\r\nContent-Type: {CSV}\r\nContent-Length: 1000000\r\n\r\n",
        catalogue.key.reveal()
    );
    stream.write_all(head.as_bytes()).await.unwrap();
    stream.write_all(&[b'x'; 10_000]).await.unwrap();
    let mut answer = vec![0; 1_000];
    let count = stream.read(&mut answer).await.unwrap();
    assert!(answer[..count].starts_with(b"HTTP/1.1 404"));
}
