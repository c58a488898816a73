//! The admin API over HTTP: its operations and its refusals.

mod audit;
mod captures;
mod console;
mod console_activity;
mod console_changes;
mod console_connections;
mod console_entries;
mod console_live;
mod console_many;
mod console_plugins;
mod console_problems;
mod erase;
mod people;
mod plugin_calls;
mod roles;
mod search;
mod workspaces;

use leadhost_domain::key::{KeyKind, PlainKey, Role};
use leadhost_domain::time::Micros;
use leadhost_pipeline::apply::{KeyRequest, mint};
use leadhost_tests::components::component;
use leadhost_tests::{Answer, Ask, Host, Json, On, Options, eventually, fields, has, lacks};
use serde_json::{Value, json};

leadhost_tests::on_every_store! {
    only_an_admin_key_opens_it,
    a_page_with_a_rebound_dns_name_is_refused,
    a_key_opens_its_surface_until_it_is_revoked_and_is_never_listed,
    a_key_opens_its_surface_until_it_expires,
    a_key_takes_exactly_the_parameters_of_its_kind,
    a_key_that_expires_after_the_last_year_is_listed,
    the_key_that_asks_cannot_revoke_itself,
    the_same_file_applied_again_changes_nothing_and_keeps_ids_and_keys,
    a_dry_run_lists_the_changes_and_makes_none,
    a_connection_that_loses_its_last_sender_check_is_a_warning,
    a_source_that_the_file_leaves_out_stays_and_is_a_warning,
    a_file_with_problems_is_refused_whole_with_all_of_them,
    a_secret_counts_from_the_apply_that_changed_it,
    the_age_of_a_secret_is_that_of_its_value,
    a_delivery_is_listed_shown_and_replayed_without_harm,
    deliveries_of_a_version_are_looked_for_from_page_to_page,
    the_last_rollouts_are_listed_together,
    unknown_and_unreadable_things_are_refused_with_a_reason,
    a_quarantined_delivery_is_released_only_when_its_proof_holds,
    a_connection_is_paused_and_resumed_by_any_of_its_names,
    bytes_that_are_no_component_are_refused_and_a_check_stores_nothing,
    a_stored_version_is_activated_by_the_beginning_of_its_digest,
    a_version_is_removed_when_nothing_names_it,
}

struct Operator {
    host: Host,
    key: PlainKey,
}

impl Operator {
    async fn new(on: On) -> Self {
        let host = Host::start(Options::patient(on)).await;
        let key = host.admin_key().await;
        Self { host, key }
    }

    async fn working(on: On) -> Self {
        let host = Host::working(on).await;
        let key = host.admin_key().await;
        Self { host, key }
    }

    /// With the mapping converter active, and one workspace that uses it.
    async fn with_workspace(on: On) -> (Self, Value) {
        Self::with_workspace_on(Host::start(Options::patient(on)).await).await
    }

    /// The same on this host.
    async fn with_workspace_on(host: Host) -> (Self, Value) {
        let key = host.admin_key().await;
        let operator = Self { host, key };
        operator.activate("converter-mapping").await;
        let report = operator.apply(&workspace()).await.expect(200).json();
        (operator, report)
    }

    fn ask(&self, method: &str, path: &str) -> Ask {
        self.host
            .admin(method, &format!("/admin/v1{path}"))
            .bearer(&self.key)
    }

    async fn get(&self, path: &str) -> Value {
        self.ask("GET", path).send().await.expect(200).json()
    }

    async fn post(&self, path: &str, body: &Value) -> Answer {
        self.ask("POST", path).json(body).send().await
    }

    async fn posted(&self, path: &str, body: &Value, status: u16) -> Value {
        self.post(path, body).await.expect(status).json()
    }

    async fn activate(&self, plugin: &str) {
        let wasm = component(&format!("plugins/{plugin}.wasm"));
        let ask = self.ask("POST", "/plugins?activate=true").body(wasm);
        ask.send().await.expect(201);
    }

    async fn pause(&self, connection: &str, reason: &str) {
        let path = format!("/connections/{connection}/pause");
        let body = json!({ "reason": reason });
        self.posted(&path, &body, 200).await;
    }

    /// Waits until no host works on the repair at this path.
    async fn repair_ends(&self, path: &str) {
        eventually("the repair has ended", async || {
            let shown = self.get(path).await;
            !shown["endedAt"].is_null()
        })
        .await;
    }

    async fn apply(&self, file: &Value) -> Answer {
        self.post("/apply", file).await
    }

    /// Posts a lead with this token to the workspace's form.
    async fn lead(&self, report: &Value, token: &str, id: &str) -> Answer {
        let connection = report["connections"]["form"].text();
        self.host
            .post(&format!("/ingest-lead/{connection}"))
            .header("x-token", token)
            .json(&json!({"id": id, "name": "Ada Prado", "phone": "11 98765-4321"}))
            .send()
            .await
    }
}

const TOKEN: &str = "open-sesame-1";

fn workspace() -> Value {
    json!({
        "workspace": {"slug": "acme", "name": "Acme"},
        "partners": [{"name": "crm"}],
        "instances": [{"name": "bot"}],
        "connections": [{
            "name": "form", "partner": "crm", "instance": "bot", "plugin": "mapping",
            "secrets": {"token": TOKEN},
            "checks": [{
                "secret": "token", "scheme": "equals", "proof": {"place": "header", "name": "x-token"}
            }]
        }],
        "keys": [{"kind": "workspace", "label": "export"}]
    })
}

async fn only_an_admin_key_opens_it(on: On) {
    let operator = Operator::new(on).await;
    let seeded = operator.host.workspace("acme").await;
    operator.get("/status").await;
    let ask = || operator.host.admin("GET", "/admin/v1/status");
    ask().send().await.expect(401);
    for key in [
        &seeded.partner_key,
        &seeded.workspace_key,
        &seeded.access_token,
    ] {
        ask().bearer(key).send().await.expect(401);
    }
    let ask = operator.host.get("/admin/v1/status").bearer(&operator.key);
    ask.send().await.expect(404);
}

async fn a_page_with_a_rebound_dns_name_is_refused(on: On) {
    let operator = Operator::new(on).await;
    let ask = |host: &str| {
        Ask::new(
            operator.host.addresses.admin,
            http::Method::GET,
            "/admin/v1/status",
        )
        .header("host", host)
        .bearer(&operator.key)
    };
    ask("evil.example:8081").send().await.expect(403);
    let console = operator
        .host
        .console_as("evil.example", "GET", "/console/sign-in");
    console.send().await.expect(403);
    ask("localhost:8081").send().await.expect(200);
}

async fn a_key_opens_its_surface_until_it_is_revoked_and_is_never_listed(on: On) {
    let (operator, _) = Operator::with_workspace(on).await;
    let request = json!({"kind": "workspace", "workspace": "acme", "label": "warehouse"});
    let made = operator.posted("/keys", &request, 201).await;
    let key = PlainKey::parse(made["key"].text()).unwrap();
    let whoami = || operator.host.get("/v1/whoami").bearer(&key);
    whoami().send().await.expect(200);

    let listed = operator.get("/keys?workspace=acme").await;
    lacks!(listed.to_string(), key.reveal());
    let shown = listed["keys"].list();
    assert!(shown.iter().any(|one| one["label"] == "warehouse"
        && one["state"] == "live"
        && one["workspace"] == "acme"));

    let path = format!("/keys/{}", made["id"].text());
    operator.ask("DELETE", &path).send().await.expect(200);
    operator.host.advance(1).await;
    whoami().send().await.expect(401);
    operator.ask("DELETE", &path).send().await.expect(404);
}

async fn a_key_opens_its_surface_until_it_expires(on: On) {
    let (operator, _) = Operator::with_workspace(on).await;
    let mut keys = Vec::new();
    for kind in ["workspace", "admin"] {
        let mut request = json!({"kind": kind, "label": kind, "expiresDays": 1});
        if kind == "workspace" {
            request["workspace"] = json!("acme");
        }
        let made = operator.posted("/keys", &request, 201).await;
        keys.push(PlainKey::parse(made["key"].text()).unwrap());
    }
    let opens = async |status: u16| {
        let whoami = operator.host.get("/v1/whoami").bearer(&keys[0]);
        whoami.send().await.expect(status);
        let shown = operator
            .host
            .admin("GET", "/admin/v1/keys")
            .bearer(&keys[1]);
        shown.send().await.expect(status);
    };
    opens(200).await;
    operator.host.advance(24 * 60 * 60 - 1).await;
    opens(200).await;
    operator.host.advance(1).await;
    opens(401).await;
}

async fn a_key_takes_exactly_the_parameters_of_its_kind(on: On) {
    let (operator, _) = Operator::with_workspace(on).await;
    let check = async |request: Value, status: u16, part: &str| {
        has!(operator.post("/keys", &request).await.expect(status), part; "{request}");
    };
    check(json!({"kind": "root"}), 400, "not a kind of key").await;
    check(json!({"kind": "partner"}), 400, "needs a workspace").await;
    let given = json!({"kind": "partner", "workspace": "acme"});
    check(given, 400, "needs a partner").await;
    check(
        json!({"kind": "workspace", "workspace": "acme", "partner": "crm"}),
        400,
        "A key of kind workspace takes no partner.",
    )
    .await;
    check(
        json!({"kind": "admin", "workspace": "acme"}),
        400,
        "A key of kind admin takes no workspace.",
    )
    .await;
    check(
        json!({"kind": "workspace", "workspace": "acme", "role": "viewer"}),
        400,
        "A key of kind workspace takes no role.",
    )
    .await;
    let given = json!({"kind": "workspace", "workspace": "other"});
    check(given, 404, "there are: acme").await;
    let given = json!({"kind": "partner", "workspace": "acme", "partner": "erp"});
    check(given, 404, "it has: crm").await;
    check(json!({"kind": "admin", "colour": "red"}), 400, "colour").await;
    let longest = json!({"kind": "admin", "expiresDays": 36_500});
    check(longest, 201, "expiresAt").await;
    for days in [36_501, 3_000_000, 106_751_991, u32::MAX] {
        let given = json!({"kind": "admin", "expiresDays": days});
        check(given, 400, "from 0 to 36500").await;
    }
}

async fn a_key_that_expires_after_the_last_year_is_listed(on: On) {
    let operator = Operator::new(on).await;
    let core = &operator.host.app.core;
    for time in [300_000_000_000_000_000, i64::MAX] {
        let wanted = KeyRequest {
            kind: KeyKind::Admin,
            workspace: None,
            partner: None,
            role: Some(Role::Viewer),
            label: "for ever".to_owned(),
            expires_at: Some(Micros(time)),
        };
        mint(&core.store, wanted, core.clock.now())
            .await
            .expect("stored");
    }
    let keys = operator.get("/keys").await;
    let keys = keys["keys"].list().iter();
    let times = keys
        .filter(|key| key["label"] == "for ever")
        .map(|key| key["expiresAt"].text());
    assert_eq!(
        times.collect::<Vec<_>>(),
        ["9999-12-31T23:59:59.999999Z"; 2]
    );
}

async fn the_key_that_asks_cannot_revoke_itself(on: On) {
    let operator = Operator::new(on).await;
    let keys = operator.get("/keys").await;
    let id = keys["keys"][0]["id"].text().to_owned();
    let ask = operator.ask("DELETE", &format!("/keys/{id}"));
    ask.send().await.expect(409);
}

async fn the_same_file_applied_again_changes_nothing_and_keeps_ids_and_keys(on: On) {
    let (operator, first) = Operator::with_workspace(on).await;
    assert!(first["keys"][0]["key"].text().starts_with("mk_"));
    let again = operator.apply(&workspace()).await.expect(200).json();
    fields!(again, {"changes": [], "connections": first["connections"], "keys": []});
}

async fn a_dry_run_lists_the_changes_and_makes_none(on: On) {
    let (operator, _) = Operator::with_workspace(on).await;
    let mut file = workspace();
    file["partners"]
        .as_array_mut()
        .unwrap()
        .push(json!({"name": "erp"}));
    let form = file["connections"][0].as_object_mut().unwrap();
    form.remove("secrets");
    form.remove("checks");
    let report = operator.posted("/apply?dryRun=true", &file, 200).await;
    assert_eq!(
        report["changes"],
        json!([
            {"kind": "partner", "name": "erp", "what": "created"},
            {"kind": "connection", "name": "form", "what": "changed"},
        ])
    );
    assert_eq!(
        report["changedConnections"],
        json!([{
            "kind": "connection", "name": "form",
            "fields": ["secrets", "checks"], "removedSecrets": ["token"],
        }])
    );
    let report = operator.apply(&workspace()).await.expect(200).json();
    assert_eq!(report["partners"].as_object().unwrap().len(), 1);
}

async fn a_connection_that_loses_its_last_sender_check_is_a_warning(on: On) {
    let (operator, first) = Operator::with_workspace(on).await;
    assert_eq!(first["warnings"], json!([]));
    let mut file = workspace();
    let form = file["connections"][0].as_object_mut().unwrap();
    form.remove("secrets");
    form.remove("checks");
    for path in ["/apply?dryRun=true", "/apply"] {
        let report = operator.posted(path, &file, 200).await;
        let warnings = report["warnings"].list();
        assert_eq!(warnings.len(), 1, "{warnings:?}");
        assert_eq!(warnings[0]["path"], "connections[0].checks");
        let message = warnings[0]["message"].text();
        has!(message, "connection `form` loses its last sender check");
        has!(message, "leads from every sender");
    }
    // It is open already.
    let report = operator.apply(&file).await.expect(200).json();
    assert_eq!(report["warnings"], json!([]));
}

async fn a_source_that_the_file_leaves_out_stays_and_is_a_warning(on: On) {
    let (operator, first) = Operator::with_workspace(on).await;
    let mut file = workspace();
    file["connections"] = json!([]);
    let report = operator.apply(&file).await.expect(200).json();
    assert_eq!(report["changes"], json!([]));
    let warnings = report["warnings"].list();
    assert_eq!(warnings.len(), 1, "{warnings:?}");
    assert_eq!(warnings[0]["path"], "connections");
    let message = warnings[0]["message"].text();
    has!(message, "connection `form` is not in this file and stays");
    operator.lead(&first, TOKEN, "1").await.expect(200);
}

async fn a_file_with_problems_is_refused_whole_with_all_of_them(on: On) {
    let (operator, _) = Operator::with_workspace(on).await;
    let mut file = workspace();
    file["workspace"]["name"] = json!("Renamed");
    file["connections"][0]["plugin"] = json!("portals");
    file["connections"][0]["secrets"]["token"] = json!({"unresolved": "TOKEN is not set"});
    let refusal = operator.apply(&file).await.expect(422).json();
    let text = refusal["problems"].to_string();
    has!(text, "active are mapping", "TOKEN is not set");
    let report = operator.apply(&workspace()).await.expect(200).json();
    assert_eq!(report["changes"], json!([]), "nothing was renamed");
}

async fn a_secret_counts_from_the_apply_that_changed_it(on: On) {
    let (operator, report) = Operator::with_workspace(on).await;
    operator.lead(&report, TOKEN, "1").await.expect(200);
    let mut file = workspace();
    file["connections"][0]["secrets"]["token"] = json!("another-token");
    operator.apply(&file).await.expect(200);
    operator.lead(&report, TOKEN, "2").await.expect(401);
    operator
        .lead(&report, "another-token", "3")
        .await
        .expect(200);
}

async fn the_age_of_a_secret_is_that_of_its_value(on: On) {
    let (operator, _) = Operator::with_workspace(on).await;
    let shown = async || {
        let list = operator.get("/connections").await;
        list["connections"][0].clone()
    };
    let first = shown().await;
    let set_at = first["secretsSetAt"]["token"].clone();
    assert!(set_at.is_string(), "{first}");
    assert!(first["lastDeliveryAt"].is_null());

    operator.host.advance(60).await;
    let mut file = workspace();
    file["connections"][0]["config"] = json!({"fields": {"name": "nome"}});
    file["connections"][0]["secrets"]["spare"] = json!("a-second-value");
    let mut other = file["connections"][0]["checks"][0].clone();
    other["secret"] = json!("spare");
    file["connections"][0]["checks"]
        .as_array_mut()
        .expect("checks")
        .push(other);
    operator.apply(&file).await.expect(200);
    let second = shown().await;
    assert_eq!(second["configVersion"], 2);
    // A new configuration does not make a secret younger.
    assert_eq!(second["secretsSetAt"]["token"], set_at);
    assert_ne!(second["secretsSetAt"]["spare"], set_at);

    let mut file = workspace();
    file["connections"][0]["secrets"]["token"] = json!("another-token");
    operator.apply(&file).await.expect(200);
    let third = shown().await;
    assert_eq!(third["secrets"], json!(["token"]));
    assert_ne!(third["secretsSetAt"]["token"], set_at);
    assert!(third["secretsSetAt"]["spare"].is_null());
    lacks!(third.to_string(), "another-token");
}

async fn deliveries_of_a_version_are_looked_for_from_page_to_page(on: On) {
    let (operator, report) = Operator::with_workspace(on).await;
    operator.lead(&report, TOKEN, "1").await.expect(200);
    let list = operator.get("/deliveries").await;
    assert!(list["searchedUntil"].is_null());
    let digest = list["deliveries"][0]["ran"]["digest"].as_str();
    let digest = digest.expect("a digest");
    // Few deliveries are looked through at once.
    for (version, found) in [(&digest[..12], 1), ("ffffffffffff", 0)] {
        for filter in ["", "&connection=form", "&status=converted"] {
            let list = operator
                .get(&format!("/deliveries?version={version}{filter}"))
                .await;
            let deliveries = list["deliveries"].as_array().map(Vec::len);
            assert_eq!(deliveries, Some(found), "{version}{filter}: {list}");
            assert!(list["searchedUntil"].is_null() && list["next"].is_null());
        }
    }
}

async fn the_last_rollouts_are_listed_together(on: On) {
    let operator = Operator::new(on).await;
    assert_eq!(operator.get("/rollouts").await, json!({"rollouts": []}));
    let ask = operator.host.admin("GET", "/admin/v1/rollouts");
    ask.send().await.expect(401);
}

async fn a_delivery_is_listed_shown_and_replayed_without_harm(on: On) {
    let (operator, report) = Operator::with_workspace(on).await;
    let answer = operator.lead(&report, TOKEN, "1").await.expect(200).json();
    let id = answer["deliveryId"].text().to_owned();

    let listed = operator.get("/deliveries?connection=acme%2Fform&limit=1");
    let listed = listed.await;
    fields!(listed, {"deliveries.0.id": id.as_str(), "deliveries.0.status": "converted"});
    let none = operator.get("/deliveries?status=failed").await;
    assert_eq!(none["deliveries"], json!([]));

    let shown = operator.get(&format!("/deliveries/{id}")).await;
    has!(shown["request"]["body"], "Ada Prado");
    lacks!(shown.to_string(), TOKEN);

    let path = format!("/deliveries/{id}/replay");
    let replayed = operator.posted(&path, &json!({}), 200).await;
    fields!(replayed, {"status": "converted", "items.0.dealId": answer["leads"][0]["dealId"]});
}

async fn unknown_and_unreadable_things_are_refused_with_a_reason(on: On) {
    let (operator, _) = Operator::with_workspace(on).await;
    let check = async |path: &str, status: u16, part: &str| {
        has!(operator.ask("GET", path).send().await.expect(status), part; "{path}");
    };
    check("/deliveries?status=lost", 400, "quarantined").await;
    check("/deliveries?since=yesterday", 400, "2026-01-31").await;
    check("/deliveries?connection=nope", 404, "connection list").await;
    check("/deliveries?limit=many", 400, "whole number").await;
    check("/deliveries/17", 404, "no delivery").await;
    check("/keys?workspace=nope", 404, "no workspace").await;
}

async fn a_quarantined_delivery_is_released_only_when_its_proof_holds(on: On) {
    let (operator, report) = Operator::with_workspace(on).await;
    operator
        .lead(&report, "not-yet-known", "1")
        .await
        .expect(401);
    let listed = operator.get("/deliveries?status=quarantined").await;
    let id = listed["deliveries"][0]["id"].text().to_owned();
    let replay = async |release: bool, status: u16| {
        let path = format!("/deliveries/{id}/replay");
        let body = json!({ "release": release });
        operator.post(&path, &body).await.expect(status).json()
    };
    replay(false, 409).await;
    replay(true, 409).await;
    let mut file = workspace();
    file["connections"][0]["secrets"]["token"] = json!("not-yet-known");
    operator.apply(&file).await.expect(200);
    assert_eq!(replay(true, 200).await["status"], "converted");
}

async fn a_connection_is_paused_and_resumed_by_any_of_its_names(on: On) {
    let (operator, report) = Operator::with_workspace(on).await;
    let paused = async || operator.get("/connections").await["connections"][0]["paused"].clone();
    let id = report["connections"]["form"].text();
    let pause = json!({"reason": "the token ran out"});
    operator
        .posted(&format!("/connections/{id}/pause"), &pause, 200)
        .await;
    let expect = json!({"reason": "the token ran out", "since": operator.host.now()});
    assert_eq!(paused().await, expect);
    operator
        .posted("/connections/acme%2Fform/resume", &json!({}), 200)
        .await;
    assert_eq!(paused().await, Value::Null);
    operator
        .posted("/connections/form/pause", &json!({}), 200)
        .await;
    operator
        .posted("/connections/nope/resume", &json!({}), 404)
        .await;
}

async fn bytes_that_are_no_component_are_refused_and_a_check_stores_nothing(on: On) {
    let operator = Operator::new(on).await;
    let check = async |path: &str, body: Vec<u8>, status: u16| {
        let answer = operator.ask("POST", path).body(body).send().await;
        answer.expect(status).json()
    };
    let refusal = check("/plugins?activate=true", b"hello".to_vec(), 422).await;
    assert_eq!(refusal["kind"], "not_wasm");
    check("/plugins?accept=everything", b"hello".to_vec(), 400).await;
    check("/plugins?activate=perhaps", b"hello".to_vec(), 400).await;
    let wasm = component("plugins/converter-mapping.wasm");
    let report = check("/plugins/check", wasm, 200).await;
    assert_eq!(report["name"], "mapping");
    assert!(report["golden"].as_u64().unwrap() > 0);
    assert_eq!(operator.get("/plugins").await["plugins"], json!([]));
}

async fn a_version_is_removed_when_nothing_names_it(on: On) {
    let operator = Operator::new(on).await;
    let mapping = component("plugins/converter-mapping.wasm");
    let form = component("plugins/example-form.wasm");
    let mut digests = Vec::new();
    for (path, wasm) in [("/plugins?activate=true", mapping), ("/plugins", form)] {
        let stored = operator.ask("POST", path).body(wasm).send().await;
        let stored = stored.expect(201).json();
        digests.push(stored["digest"].text().to_owned());
    }
    let remove = async |name: &str, digest: &str, status: u16| {
        let path = format!("/plugins/{name}/versions/{digest}");
        let answer = operator.ask("DELETE", &path).send().await;
        answer.expect(status).json()
    };
    let refused = remove("mapping", &digests[0], 409).await;
    has!(refused["error"], "it is active");
    remove("mapping", &digests[1], 404).await;
    remove("example-form", "1234", 400).await;
    let removed = remove("example-form", &digests[1][..12], 200).await;
    assert_eq!(removed["digest"], digests[1]);
    remove("example-form", &digests[1], 404).await;
    let left = operator.get("/plugins").await;
    assert_eq!(left["plugins"].list().len(), 1, "{left}");
    let audit = operator.get("/audit?act=remove-plugin&limit=10").await;
    has!(audit.to_string(), "done", "refused");
    // Its bytes may come again.
    let again = component("plugins/example-form.wasm");
    let stored = operator.ask("POST", "/plugins").body(again).send().await;
    stored.expect(201);
}

async fn a_stored_version_is_activated_by_the_beginning_of_its_digest(on: On) {
    let operator = Operator::new(on).await;
    let wasm = component("plugins/converter-mapping.wasm");
    let stored = operator.ask("POST", "/plugins").body(wasm).send().await;
    let stored = stored.expect(201).json();
    assert_eq!(stored["active"], false);
    let digest = stored["digest"].text();
    let activate = async |name: &str, digest: &str, status: u16| {
        let path = format!("/plugins/{name}/activate");
        let body = json!({ "digest": digest });
        operator.post(&path, &body).await.expect(status).json()
    };
    activate("mapping", &digest[..4], 400).await;
    activate("mapping", "0000000000", 404).await;
    activate("other", &digest[..12], 404).await;
    assert_eq!(
        activate("mapping", &digest[..12], 200).await["digest"],
        digest
    );
    let listed = operator.get("/plugins").await;
    fields!(listed, {"plugins.0.serves": digest, "plugins.0.versions.0.state": "active"});
    operator
        .posted("/plugins/mapping/rollback", &json!({}), 409)
        .await;
}
