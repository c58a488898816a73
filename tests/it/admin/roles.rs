//! Roles of admin keys: what each may do.

use leadhost_domain::key::{KeyKind, PlainKey};
use leadhost_tests::guests::{Variant, misbehave};
use leadhost_tests::{Json, On, fields, has};
use serde_json::{Value, json};

use super::{Operator, workspace};

leadhost_tests::on_every_store! {
    a_viewer_reads_and_changes_nothing_and_runs_no_component_of_its_own,
    an_operator_acts_and_changes_no_permission_of_plugins_or_keys,
    only_an_admin_rolls_back_to_a_version_that_checks_less,
    a_role_belongs_to_an_admin_key,
    labels_and_reasons_have_at_most_255_characters,
    a_label_that_the_audit_shows_for_another_actor_is_refused,
}

pub(super) async fn with_role(operator: &Operator, role: &str) -> PlainKey {
    let key = json!({"kind": "admin", "label": role, "role": role});
    let made = operator.posted("/keys", &key, 201).await;
    assert_eq!(made["role"], role);
    let text = made["key"].text();
    PlainKey::parse_as(KeyKind::Admin, text).expect("an admin key")
}

async fn status(operator: &Operator, key: &PlainKey, method: &str, path: &str, body: Value) -> u16 {
    let ask = operator.host.admin(method, &format!("/admin/v1{path}"));
    ask.bearer(key).json(&body).send().await.status
}

async fn a_viewer_reads_and_changes_nothing_and_runs_no_component_of_its_own(on: On) {
    let (operator, _) = Operator::with_workspace(on).await;
    let viewer = with_role(&operator, "viewer").await;
    let second = with_role(&operator, "operator").await;
    for path in "/status /connections /keys /audit /plugins /repairs".split(' ') {
        let ask = operator.host.admin("GET", &format!("/admin/v1{path}"));
        ask.bearer(&viewer).send().await.expect(200);
    }
    for (path, act) in [
        ("/plugins/check", "check-plugin"),
        ("/plugins/verify", "verify-upload"),
    ] {
        let ask = |key: &PlainKey| {
            let ask = operator.host.admin("POST", &format!("/admin/v1{path}"));
            ask.bearer(key).body(misbehave())
        };
        ask(&viewer).send().await.expect(403);
        ask(&second).send().await.expect(200);
        let rows = operator.get(&format!("/audit?act={act}")).await;
        fields!(rows["rows"][0], {"outcome": "done", "target": "misbehave", "label": "operator"});
    }

    let pause = json!({"reason": "a reason"});
    for (path, body) in [
        ("/connections/form/pause", pause),
        ("/plugins/mapping/rollback", json!({})),
        ("/repairs", json!({"convertedBy": "1.0.0"})),
        ("/apply", workspace()),
        ("/keys", json!({"kind": "admin"})),
    ] {
        let found = status(&operator, &viewer, "POST", path, body).await;
        assert_eq!(found, 403, "{path}");
    }
    let shown = operator.get("/connections").await;
    assert_eq!(shown["connections"][0]["paused"], Value::Null);
    let audit = operator.get("/audit?actor=viewer").await;
    let refused = &audit["rows"][0];
    fields!(refused, {"outcome": "refused", "role": "viewer"});
    let detail = refused["detail"].text();
    has!(detail, r#""status":403"#, "This key has the role viewer");
}

async fn an_operator_acts_and_changes_no_permission_of_plugins_or_keys(on: On) {
    let (operator, _) = Operator::with_workspace(on).await;
    let second = with_role(&operator, "operator").await;
    let pause = json!({"reason": "a reason"});
    for (path, body) in [
        ("/connections/form/pause", pause),
        ("/connections/form/resume", json!({})),
    ] {
        let found = status(&operator, &second, "POST", path, body).await;
        assert_eq!(found, 200, "{path}");
    }
    for (path, body) in [("/apply", workspace()), ("/keys", json!({"kind": "admin"}))] {
        let found = status(&operator, &second, "POST", path, body).await;
        assert_eq!(found, 403, "{path}");
    }
    let upload = async |accept: &str| {
        let path = format!("/admin/v1/plugins?activate=true{accept}");
        let ask = operator.host.admin("POST", &path).bearer(&second);
        ask.body(misbehave()).send().await.status
    };
    for accept in [
        "&accept=new-hosts",
        "&accept=older&accept=weaker-checks",
        "&accept=all",
    ] {
        assert_eq!(upload(accept).await, 403, "{accept}");
    }
    assert_eq!(upload("&accept=drift").await, 201);
}

async fn only_an_admin_rolls_back_to_a_version_that_checks_less(on: On) {
    let (operator, _) = Operator::with_workspace(on).await;
    let [second, admin] = [
        with_role(&operator, "operator").await,
        with_role(&operator, "admin").await,
    ];
    let host = &operator.host;
    let unchecked = Variant::version("1.0.0").check("").component();
    let unchecked = host.converter(unchecked).await;
    let checked = host.converter(misbehave()).await;
    let serves = || {
        host.app
            .core
            .plugins
            .active("misbehave")
            .map(|one| one.digest.clone())
    };
    let roll_back = async |key: &PlainKey, accept: Value| {
        let ask = host.admin("POST", "/admin/v1/plugins/misbehave/rollback");
        ask.bearer(key)
            .json(&json!({"accept": accept}))
            .send()
            .await
    };
    let refused = roll_back(&second, json!([])).await.expect(403).json();
    has!(
        refused["error"].text(),
        "the previous version has permissions that the active one lacks",
        "this needs a key with the role admin"
    );
    // No word of an operator takes the place of the role.
    roll_back(&second, json!(["weaker-checks"]))
        .await
        .expect(403);
    roll_back(&second, json!(["rolled-back", "drift"]))
        .await
        .expect(403);
    assert_eq!(serves(), Some(checked.clone()));
    roll_back(&admin, json!([])).await.expect(200);
    assert_eq!(serves(), Some(unchecked));
    // Back to more checks, an operator may.
    roll_back(&second, json!(["rolled-back"])).await.expect(200);
    assert_eq!(serves(), Some(checked));
}

async fn a_role_belongs_to_an_admin_key(on: On) {
    let (operator, _) = Operator::with_workspace(on).await;
    let key = json!({"kind": "workspace", "workspace": "acme", "role": "viewer"});
    operator.posted("/keys", &key, 400).await;
    let unknown = json!({"kind": "admin", "role": "owner"});
    operator.posted("/keys", &unknown, 400).await;
    let made = operator.post("/keys", &json!({"kind": "admin"})).await;
    assert_eq!(made.expect(201).json()["role"], "admin");
}

async fn labels_and_reasons_have_at_most_255_characters(on: On) {
    let (operator, _) = Operator::with_workspace(on).await;
    let (fits, is_long) = ("á".repeat(255), "á".repeat(256));
    for (path, field, accepted) in [
        ("/keys", "label", 201),
        ("/connections/form/pause", "reason", 200),
    ] {
        let mut order = json!({ field: is_long });
        if path == "/keys" {
            order["kind"] = json!("admin");
        }
        has!(operator.post(path, &order).await.expect(400), "has 256 characters"; "{path}");
        order[field] = json!(fits);
        operator.post(path, &order).await.expect(accepted);
    }
}

async fn a_label_that_the_audit_shows_for_another_actor_is_refused(on: On) {
    let (operator, _) = Operator::with_workspace(on).await;
    let id = operator.get("/keys").await["keys"][0]["id"].clone();
    let id = id.as_str().expect("an id").to_uppercase();
    for (label, part) in [
        ("service", "is `service`, by which the audit names"),
        ("inbox", "is `inbox`"),
        ("admin.key", "is `admin.key`"),
        (" Service ", "is `service`"),
        ("in\u{200b}box", "is `inbox`"),
        ("\u{202e}service", "is `service`"),
        (&id, "is the id of a key"),
    ] {
        let key = json!({"kind": "admin", "label": label});
        has!(operator.post("/keys", &key).await.expect(400), part; "{label}");
        let mut file = workspace();
        file["keys"][0]["label"] = json!(label);
        has!(operator.apply(&file).await.expect(422), "keys[0].label", part; "{label}");
    }
    let mut file = workspace();
    file["keys"][0]["label"] = json!("a".repeat(1_000_000));
    has!(operator.apply(&file).await.expect(422), "at most 255");
    for label in ["services", "inbox of ana", "admin"] {
        let key = json!({"kind": "admin", "label": label});
        operator.posted("/keys", &key, 201).await;
    }
}
