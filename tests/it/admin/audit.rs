//! The audit: what operators did, and what became of it.

use leadhost_domain::audit::{Act, ActOutcome, AuditActor, OperatorAct, SERVICE};
use leadhost_domain::key::{KeyKind, PlainKey};
use leadhost_domain::limits;
use leadhost_domain::plugin::Digest;
use leadhost_tests::service::{leadhost, refused};
use leadhost_tests::{Json, On, Service, fields, has, lacks, until};
use serde_json::{Value, json};

use super::Operator;
use super::roles::with_role;

leadhost_tests::on_every_store! {
    each_act_is_a_row_before_and_after_it_and_reading_is_none,
    a_folded_list_has_each_act_once,
    an_apply_is_recorded_with_the_values_before_and_after_it,
    a_replay_of_a_list_is_recorded_with_its_filters_and_no_other_parameter,
    a_pause_is_recorded_with_the_state_before_and_after_it,
    a_refused_act_is_recorded_with_its_reason,
    a_refused_component_is_recorded_with_its_digest_and_the_accepted_words,
    an_activation_of_the_active_version_names_it_as_the_one_before,
    a_key_without_a_label_is_named_by_its_id,
    the_audit_holds_no_secret_and_no_person,
    an_export_begins_after_the_removed_rows_and_shows_any_other_removal,
    refusals_of_a_viewer_are_one_row_a_minute_with_their_count,
    counted_refusals_are_stored_before_a_stop_ends,
    unreadable_parameters_are_refused,
    an_import_is_recorded_with_its_file_and_its_counts,
    an_import_that_stops_on_the_way_is_partly_done_with_its_counts,
    a_decision_about_a_message_names_it_and_the_verdict,
    changes_of_owners_and_agents_are_counted_without_names,
}

async fn rows(operator: &Operator, query: &str) -> Vec<Value> {
    let audit = operator.get(&format!("/audit{query}")).await;
    audit["rows"].list().clone()
}

async fn each_act_is_a_row_before_and_after_it_and_reading_is_none(on: On) {
    let (operator, _) = Operator::with_workspace(on).await;
    let before = rows(&operator, "").await.len();
    operator.get("/connections").await;
    operator.get("/audit").await;
    operator.pause("form", "the token ran out").await;
    let found = rows(&operator, "").await;
    assert_eq!(found.len(), before + 2, "{found:#?}");
    let (end, begun) = (&found[0], &found[1]);
    fields!(begun, {
        "act": "pause-connection", "target": "form", "outcome": "begun", "begun": null,
    });
    assert_eq!(end["outcome"], "done");
    assert_eq!(end["begun"], begun["number"]);
    assert_eq!(end["label"], begun["label"]);
    assert_eq!(end["address"], "127.0.0.1");
    assert_eq!(rows(&operator, "?actor=nobody").await, [Value::Null; 0]);
    let paused = rows(&operator, "?act=pause-connection").await;
    assert_eq!(paused.len(), 2);
}

/// Adds the row of an act that has begun and has no outcome. Returns its number.
pub(super) async fn begin(operator: &Operator, target: &str) -> i64 {
    let host = &operator.host;
    let act = (OperatorAct::Apply, target);
    let begun = Act {
        act: "pause-connection".to_owned(),
        outcome: ActOutcome::Begun,
        ..Act::done(AuditActor::service(SERVICE), host.now(), act, &json!({}))
    };
    let row = host.store().add_audit(begun).await;
    row.expect("stored").number
}

async fn a_folded_list_has_each_act_once(on: On) {
    let (operator, _) = Operator::with_workspace(on).await;
    let open = begin(&operator, "elsewhere").await;
    operator.pause("form", "the token ran out").await;
    let numbers = async |query: &str| -> Vec<i64> {
        let found = rows(&operator, query).await;
        let numbers = found.iter().map(|row| row["number"].as_i64());
        numbers.map(|number| number.expect("a number")).collect()
    };
    let expect = [open + 2, open, open - 1, open - 3];
    assert_eq!(numbers("?folded=true").await, expect);
    let expect = [open + 2, open];
    assert_eq!(numbers("?folded=true&act=pause-connection").await, expect);
    // The outcome is on the page before.
    let page = format!("?folded=true&limit=1&before={}", open + 2);
    assert_eq!(numbers(&page).await, [open]);
    assert_eq!(numbers("?limit=3").await, [open + 2, open + 1, open]);
}

async fn an_apply_is_recorded_with_the_values_before_and_after_it(on: On) {
    let (operator, _) = Operator::with_workspace(on).await;
    let mut file = super::workspace();
    let connection = &mut file["connections"][0];
    connection["secrets"]["token"] = json!("another-sesame");
    connection["config"] = json!({"fields": {"name": "nome"}});
    connection["dedupe_by_content"] = json!(false);
    operator.apply(&file).await.expect(200);
    let (detail, _) = newest(&operator, "apply").await;
    let changed = &detail["changedConnections"][0];
    assert_eq!(changed["name"], "form", "{detail:#}");
    let versions = json!({"before": 1, "after": 2});
    assert_eq!(changed["configVersion"], versions, "{detail:#}");
    let values = json!([
        {"path": "config.fields.name", "before": null, "after": "nome"},
        {"path": "dedupe_by_content", "before": true, "after": false},
    ]);
    assert_eq!(changed["values"], values, "{detail:#}");
    let fields = json!(["config", "secrets", "dedupe_by_content"]);
    assert_eq!(changed["fields"], fields, "{detail:#}");
    lacks!(detail.to_string(), "sesame");
    // The version that an apply would make is not known.
    file["connections"][0]["config"]["fields"]["name"] = json!("nome_completo");
    operator.posted("/apply?dryRun=true", &file, 200).await;
    let (detail, _) = newest(&operator, "apply").await;
    let changed = &detail["changedConnections"][0];
    let versions = json!({"before": 2, "after": null});
    assert_eq!(changed["configVersion"], versions, "{detail:#}");
    let values = json!([
        {"path": "config.fields.name", "before": "nome", "after": "nome_completo"},
    ]);
    assert_eq!(changed["values"], values, "{detail:#}");
}

async fn a_replay_of_a_list_is_recorded_with_its_filters_and_no_other_parameter(on: On) {
    let (operator, _) = Operator::with_workspace(on).await;
    let query = "connection=form&connection=ana%40example.com&phone=%2B5511900000001&name=Ana&version=ana.prado&since=24h&limit=10";
    let body = json!({"apply": true});
    operator
        .posted(&format!("/deliveries/replay?{query}"), &body, 200)
        .await;
    let (detail, _) = newest(&operator, "replay-deliveries").await;
    let filters = json!({"connection": "form", "since": "24h"});
    assert_eq!(detail["filters"], filters, "{detail:#}");
}

async fn a_pause_is_recorded_with_the_state_before_and_after_it(on: On) {
    let (operator, _) = Operator::with_workspace(on).await;
    operator.pause("form", "Rita Prado asked for it").await;
    let (detail, _) = newest(&operator, "pause-connection").await;
    let connections = operator.get("/connections").await;
    let id = &connections["connections"][0]["id"];
    fields!(detail, {"connection": *id, "before": {"pausedSince": null}});
    let since = detail["after"]["pausedSince"].clone();
    assert!(since.is_string(), "{detail:#}");
    lacks!(detail.to_string(), "Prado");
    operator
        .posted("/connections/form/resume", &json!({}), 200)
        .await;
    let (detail, _) = newest(&operator, "resume-connection").await;
    fields!(detail, {"before": {"pausedSince": since}, "after": {"pausedSince": null}});
}

async fn a_refused_component_is_recorded_with_its_digest_and_the_accepted_words(on: On) {
    let operator = Operator::new(on).await;
    let component = b"no component";
    let ask = operator.ask("POST", "/plugins?activate=true&accept=drift");
    ask.body(component.to_vec()).send().await.expect(422);
    let (detail, outcome) = newest(&operator, "activate-plugin").await;
    assert_eq!(outcome, "refused");
    assert_eq!(detail["accept"], json!(["drift"]), "{detail:#}");
    let digest = Digest::compute(component).0;
    assert_eq!(detail["digest"], digest, "{detail:#}");
}

async fn a_refused_act_is_recorded_with_its_reason(on: On) {
    let (operator, _) = Operator::with_workspace(on).await;
    operator
        .posted("/plugins/mapping/rollback", &json!({}), 409)
        .await;
    let found = rows(&operator, "?act=roll-back-plugin&limit=1").await;
    assert_eq!(found[0]["outcome"], "refused");
    let detail = found[0]["detail"].text();
    let detail: Value = serde_json::from_str(detail).expect("JSON");
    assert_eq!(detail["status"], 409);
    let reason = "no version of `mapping` was active before the current one";
    assert_eq!(detail["reason"], reason);
    // A message about a person may repeat what the operator typed.
    let person = json!({"workspace": "acme", "phone": "Rita Prado"});
    let refused = operator.post("/contacts/erase", &person).await;
    assert!(refused.status >= 400, "{}", refused.text());
    let found = rows(&operator, "?act=erase-contact&limit=1").await;
    lacks!(found[0]["detail"], "reason", "Prado");
}

async fn an_activation_of_the_active_version_names_it_as_the_one_before(on: On) {
    let (operator, _) = Operator::with_workspace(on).await;
    let plugins = operator.get("/plugins").await;
    let digest = plugins["plugins"][0]["digest"].clone();
    let body = json!({"digest": digest});
    let again = operator.posted("/plugins/mapping/activate", &body, 200);
    let again = again.await;
    assert_eq!(again["previous"], digest, "{again:#}");
    let (detail, outcome) = newest(&operator, "activate-plugin").await;
    assert_eq!(outcome, "done");
    assert_eq!(detail["previous"], digest, "{detail:#}");
    // The target of a rollback is unchanged.
    let after = operator.get("/plugins").await;
    fields!(after, {"plugins.0.previous": plugins["plugins"][0]["previous"]});
}

async fn a_key_without_a_label_is_named_by_its_id(on: On) {
    let (operator, _) = Operator::with_workspace(on).await;
    let key = json!({"kind": "admin", "label": ""});
    let made = operator.posted("/keys", &key, 201).await;
    let text = made["key"].text();
    let key = PlainKey::parse_as(KeyKind::Admin, text).expect("an admin key");
    let ask = operator
        .host
        .admin("POST", "/admin/v1/plugins/mapping/rollback");
    ask.bearer(&key).json(&json!({})).send().await.expect(409);
    let found = rows(&operator, "?act=roll-back-plugin&limit=1").await;
    assert_eq!(found[0]["label"], made["id"], "{found:#?}");
}

async fn the_audit_holds_no_secret_and_no_person(on: On) {
    let (operator, report) = Operator::with_workspace(on).await;
    let lead = operator.lead(&report, super::TOKEN, "1").await;
    lead.expect(200);
    let person = json!({"workspace": "acme", "phone": "+55 11 98765-4321"});
    operator.posted("/contacts/erase", &person, 200).await;
    let key = json!({"kind": "admin", "label": "second"});
    let made = operator.posted("/keys", &key, 201).await;
    let text = json!(rows(&operator, "").await).to_string();
    lacks!(text, super::TOKEN, "98765", "Prado", made["key"].text());
    has!(text, "second");
}

async fn export(operator: &Operator) -> (bool, String) {
    let address = operator.host.addresses.admin.to_string();
    let key = operator.key.reveal().to_owned();
    let folder = operator.host.folder.path().to_owned();
    let command = format!("audit --export --admin {address} --admin-key {key}");
    let run = move || leadhost(&folder, &command);
    let output = tokio::task::spawn_blocking(run).await.expect("it runs");
    let said = String::from_utf8(output.stderr).expect("a text");
    (output.status.success(), said)
}

async fn an_export_begins_after_the_removed_rows_and_shows_any_other_removal(on: On) {
    let (operator, _) = Operator::with_workspace(on).await;
    let host = &operator.host;
    let (is_whole, said) = export(&operator).await;
    assert!(is_whole && !said.contains("begins"), "{said}");
    host.advance(402 * 86_400).await;
    operator.get("/status").await;
    let store = host.store();
    let before = host.now().minus(host.app.core.config.retention.audit());
    let removed = store.remove_audit(before, host.now(), 3).await;
    assert_eq!(removed.expect("it removes"), 3);
    let (is_whole, said) = export(&operator).await;
    assert!(is_whole, "{said}");
    let expect = "2 rows. Each row follows the one before it. The chain begins at row 4: the rows up to 3 were removed after retention.audit_days.";
    has!(said, expect);
    let page = operator.get("/audit?after=0").await;
    fields!(page, {"checkpoint.number": 3, "rows.1.act": "remove-audit"});
    let metrics = host.admin("GET", "/metrics").send().await.expect(200);
    let metrics = metrics.text();
    has!(metrics, "leadhost_audit_rows_written_total 5");
    has!(metrics, "leadhost_audit_rows 2");
    // Somebody removes one more, and moves the beginning.
    for (change, problem) in [
        (
            "delete from audit where number = 4",
            "rows 4 to 4 are missing",
        ),
        (
            "update audit_checkpoint set number = 4, hash = 'x'",
            "no row records that the rows up to 4 were removed",
        ),
        ("delete from audit_checkpoint", "rows 1 to 4 are missing"),
    ] {
        host.on.change(host.folder.path(), change).await;
        let (is_whole, said) = export(&operator).await;
        assert!(!is_whole && said.contains(problem), "{change}: {said}");
    }
}

pub(super) async fn roll_back(operator: &Operator, key: &PlainKey, plugin: &str) -> u16 {
    let path = format!("/admin/v1/plugins/{plugin}/rollback");
    let ask = operator.host.admin("POST", &path).bearer(key);
    ask.json(&json!({})).send().await.status
}

/// Waits for this many rows of the actor, and returns the newest with its detail.
async fn newest_of(operator: &Operator, actor: &str, count: usize) -> (Value, Value) {
    until("the refusals are counted", async || {
        let found = rows(operator, &format!("?actor={actor}&limit=1000")).await;
        (found.len() >= count).then_some(found)
    })
    .await;
    let found = rows(operator, &format!("?actor={actor}&limit=1000")).await;
    assert_eq!(found.len(), count, "{:#?}", &found[..3]);
    let detail = found[0]["detail"].text();
    (
        found[0].clone(),
        serde_json::from_str(detail).expect("JSON"),
    )
}

async fn refusals_of_a_viewer_are_one_row_a_minute_with_their_count(on: On) {
    let (operator, _) = Operator::with_workspace(on).await;
    let viewer = with_role(&operator, "viewer").await;
    let before = rows(&operator, "").await.len();
    let refuse = async |count: u32| {
        for number in 0..count {
            let status = roll_back(&operator, &viewer, &format!("plugin-{number}")).await;
            assert_eq!(status, 403);
        }
    };
    refuse(40).await;
    let (first, _) = newest_of(&operator, "viewer", 1).await;
    fields!(first, {"target": "plugin-0", "outcome": "refused", "begun": null});
    // An act that is done keeps its rows.
    operator.pause("form", "the token ran out").await;
    assert_eq!(rows(&operator, "").await.len(), before + 3);
    operator.host.advance(60).await;
    let (counted, detail) = newest_of(&operator, "viewer", 2).await;
    assert_eq!(counted["outcome"], "refused", "{counted:#}");
    assert_eq!(counted["target"], "plugin-39", "the last one's");
    assert_eq!(counted["address"], "127.0.0.1");
    fields!(detail, {"count": 39, "status": 403});
    assert!(detail["since"].is_string(), "{detail:#}");
    // The next minute of a flood has one row.
    refuse(10).await;
    newest_of(&operator, "viewer", 2).await;
    operator.host.advance(60).await;
    let (_, detail) = newest_of(&operator, "viewer", 3).await;
    assert_eq!(detail["count"], 10, "{detail:#}");
    let rows = operator.host.store().audit_after(0, 1000).await;
    let mut last = None;
    for row in &rows.expect("read") {
        assert!(row.follows(last), "{row:?}");
        last = Some(row);
    }
}

async fn counted_refusals_are_stored_before_a_stop_ends(on: On) {
    let operator = Operator::new(on).await;
    let viewer = with_role(&operator, "viewer").await;
    for _ in 0..5 {
        roll_back(&operator, &viewer, "mapping").await;
    }
    let shutdown = &operator.host.app.core.shutdown;
    assert_eq!(shutdown.drain(std::time::Duration::from_secs(60)).await, 0);
    let rows = operator.host.store().audit_after(0, 100).await.unwrap();
    let newest = rows.last().expect("a row");
    assert_eq!(newest.label, "viewer");
    has!(newest.detail, r#""count":4"#; "{newest:?}");
}

#[test]
fn an_export_prints_the_rows_that_were_asked_for_and_checks_all_of_them() {
    let folder = tempfile::tempdir().expect("a folder");
    let service = Service::start(folder.path(), &[]);
    for label in ["ana", "rui"] {
        service.run(&format!("key create --kind admin --label {label}"));
    }
    let file = folder.path().join("one.toml");
    std::fs::write(&file, "[workspace]\nslug = \"one\"\nname = \"One\"\n").expect("our folder");
    service.run(&format!("apply {}", file.display()));
    let export = |filter: &str| {
        let output = leadhost(folder.path(), &format!("audit --export {filter}"));
        assert!(output.status.success(), "{output:?}");
        let lines = String::from_utf8(output.stdout).expect("a text");
        let row = |line: &str| serde_json::from_str(line).expect("JSON");
        let rows: Vec<Value> = lines.lines().map(row).collect();
        (rows, String::from_utf8(output.stderr).expect("a text"))
    };
    let (all, said) = export("");
    let counted = format!("{} rows. Each row follows the one before it.", all.len());
    has!(said, &counted);
    let (made, said) = export("--what create-key --actor admin.key");
    let is_so = made.iter().all(|row| row["act"] == "create-key");
    assert!(is_so, "{made:#?}");
    assert_eq!(made.len(), 4);
    let counted = format!("4 of {} rows. Each row follows", all.len());
    has!(said, &counted);
    assert_eq!(export("--since 1h").0, all);
    for nothing in ["--since 2999-01-01", "--actor nobody"] {
        assert_eq!(export(nothing).0, [Value::Null; 0]);
    }
    for unreadable in ["--what nosuch", "--since yesterday"] {
        let arguments = format!("audit --export {unreadable}");
        let (_, value) = unreadable.split_once(' ').expect("a value");
        has!(refused(folder.path(), 2, &arguments), value);
    }
}

async fn unreadable_parameters_are_refused(on: On) {
    let operator = Operator::new(on).await;
    for query in ["before=x", "after=x", "since=yesterday", "limit=many"] {
        let refused = operator.ask("GET", &format!("/audit?{query}")).send().await;
        refused.expect(400);
    }
    let unknown = operator.ask("GET", "/audit?act=nosuch").send().await;
    let unknown = unknown.expect(400).json()["error"].to_string();
    has!(unknown, "there are apply, import-products,");
}

/// Returns the detail of the newest row about this act, and its outcome.
async fn newest(operator: &Operator, act: &str) -> (Value, Value) {
    let found = rows(operator, &format!("?act={act}&limit=1")).await;
    let detail = found[0]["detail"].text();
    let detail = serde_json::from_str(detail).expect("JSON");
    (detail, found[0]["outcome"].clone())
}

async fn import(operator: &Operator, file: &str, status: u16) {
    let ask = operator.ask("PUT", "/workspaces/acme/products");
    let ask = ask.header("content-type", "text/csv").body(file.to_owned());
    ask.send().await.expect(status);
}

async fn an_import_is_recorded_with_its_file_and_its_counts(on: On) {
    let (operator, _) = Operator::with_workspace(on).await;
    let file = "externalId,name\n1,One\n2,Two\n,Three\n";
    import(&operator, file, 200).await;
    let (detail, outcome) = newest(&operator, "import-products").await;
    assert_eq!(outcome, "done");
    let expect = json!({
        "workspace": "acme", "format": "csv", "bytes": file.len(),
        "sha256": Digest::compute(file.as_bytes()).0, "created": 2, "changed": 0, "kept": 0,
        "removed": 0, "refused": 1, "replaced": false,
    });
    assert_eq!(detail, expect);
}

async fn an_import_that_stops_on_the_way_is_partly_done_with_its_counts(on: On) {
    let (operator, _) = Operator::with_workspace(on).await;
    let unclosed = "x,\"never closed\n";
    import(&operator, &format!("externalId,name\n{unclosed}"), 400).await;
    let (detail, outcome) = newest(&operator, "import-products").await;
    assert_eq!(outcome, "refused", "{detail}");
    // Whole parts of it are written before the fault is found.
    let many: String = (0..limits::IMPORT_ROWS + 1)
        .map(|number| format!("{number},Product {number}\n"))
        .collect();
    let given = format!("externalId,name\n{many}{unclosed}");
    import(&operator, &given, 400).await;
    let (detail, outcome) = newest(&operator, "import-products").await;
    assert_eq!(outcome, "partly-done", "{detail}");
    fields!(detail, {"created": limits::IMPORT_ROWS, "status": 400, "sha256": null});
}

async fn a_decision_about_a_message_names_it_and_the_verdict(on: On) {
    let operator = Operator::new(on).await;
    let id = "019cae2b-3f61-7a52-8a10-6d4f3e2a1b88";
    let verdict = json!({"verdict": "give-up"});
    let path = format!("/outbox/{id}/resolve");
    operator.posted(&path, &verdict, 404).await;
    let (detail, outcome) = newest(&operator, "resolve-message").await;
    assert_eq!(outcome, "refused");
    let reason = format!("There is no message `{id}`; `leadhost outbox` shows those that exist.");
    let expect = json!({"message": id, "verdict": "give-up", "status": 404, "reason": reason});
    assert_eq!(detail, expect);
}

async fn changes_of_owners_and_agents_are_counted_without_names(on: On) {
    let (operator, _) = Operator::with_workspace(on).await;
    let owners = json!([{"name": "Olga Reis", "email": "olga@example.com"}]);
    let agents = json!([{"name": "Rui", "kind": "human", "internal": true}]);
    for (path, act, list, is_dry) in [
        ("owners", "put-owners", owners, false),
        ("agents?dryRun=true", "put-agents", agents, true),
    ] {
        let ask = operator.ask("PUT", &format!("/workspaces/acme/{path}"));
        ask.json(&list).send().await.expect(200);
        let (detail, outcome) = newest(&operator, act).await;
        assert_eq!(outcome, "done");
        let expect = json!({"workspace": "acme", "dryRun": is_dry, "created": 1, "changed": 0});
        assert_eq!(detail, expect);
    }
}
