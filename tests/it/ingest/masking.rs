//! Secrets that a source sends in its body: checked, and masked wherever they
//! are stored or shown.

use leadhost_domain::delivery::DeliveryStatus;
use leadhost_pipeline::deploy;
use leadhost_pipeline::replay;
use leadhost_tests::{Declared, Host, On, lacks};
use serde_json::json;

use super::replay_options;

leadhost_tests::on_every_store! {
    a_wrong_secret_is_kept_for_another_check_and_not_shown,
    a_delivery_that_could_not_be_checked_at_once_is_checked_later,
    a_damaged_body_is_checked_by_its_secret_and_converted,
    a_secret_that_stands_under_the_name_of_an_id_leaves_the_leads_own_id,
    a_secret_in_escapes_is_in_no_attribute,
}

/// Like the form of an advertiser that sends its key in the body.
const ADS: &str = r#"
[[connections]]
name = "ads"
partner = "acme"
plugin = "mapping"
secrets = { form-key = "made-up-form-key" }
[connections.config]
carriedSecrets = [{ place = "json", name = "google_key" }]
[[connections.checks]]
secret = "form-key"
scheme = "equals"
proof = { place = "json", name = "google_key" }
"#;

async fn ads(on: On) -> (Host, Declared) {
    let host = Host::working(on).await;
    host.activate("converter-mapping").await;
    let declared = host.declare(ADS).await;
    (host, declared)
}

fn body(key: &str) -> Vec<u8> {
    let body = json!({
        "lead_id": "TeSter-1",
        "google_key": key,
        "user_column_data": [
            {"column_id": "FULL_NAME", "string_value": "Ivo Salles"},
            {"column_id": "PHONE_NUMBER", "string_value": "+55 11 98888-0005"},
        ],
    });
    body.to_string().into_bytes()
}

async fn a_wrong_secret_is_kept_for_another_check_and_not_shown(on: On) {
    let (host, declared) = ads(on).await;
    let ask = host.post(&declared.address("ads"));
    ask.body(body("their-own-key")).send().await.expect(401);
    let id = host.with_status(DeliveryStatus::Quarantined).await[0];
    let admin = host.admin_key().await;
    let shown = async || {
        let target = format!("/admin/v1/deliveries/{id}");
        let answer = host.admin("GET", &target).bearer(&admin).send().await;
        answer.expect(200).text().to_owned()
    };
    lacks!(shown().await, "their-own-key");
    host.declare(&ADS.replace("made-up-form-key", "their-own-key"))
        .await;
    let options = replay_options(false, true);
    let released = replay::one(&host.app.pipeline, id, options).await;
    let released = released.expect("proven");
    assert_eq!(released.status, DeliveryStatus::Converted);
    lacks!(shown().await, "their-own-key");
}

async fn a_delivery_that_could_not_be_checked_at_once_is_checked_later(on: On) {
    let (host, declared) = ads(on).await;
    let serving = host.app.core.plugins.active("mapping").expect("it serves");
    host.app.core.plugins.retire(&serving.digest);
    let ask = |key: &str| host.post(&declared.address("ads")).body(body(key));
    let mut ids = Vec::new();
    for key in ["made-up-form-key", "wrong-form-key"] {
        let answer = ask(key).send().await.expect(200);
        assert_eq!(answer.json()["status"], "queued");
        ids.push(host.delivery(&answer).await.summary.id);
    }
    deploy::load_active(&host.app.pipeline)
        .await
        .expect("it loads");
    host.pass(3_600).await;
    host.becomes(ids[0], DeliveryStatus::Converted).await;
    host.becomes(ids[1], DeliveryStatus::Quarantined).await;
}

async fn a_damaged_body_is_checked_by_its_secret_and_converted(on: On) {
    let (host, declared) = ads(on).await;
    let plain = String::from_utf8(body("made-up-form-key")).unwrap();
    for (id, name, expect) in [
        ("1", &br"Ivo \ud83d"[..], "Ivo \u{fffd}"),
        ("2", b"Iv\xf3 D\x92\xc1vila", "Ivó D’Ávila"),
        ("3", b"Iv\xc3\xb3 D\xe2\x80", "Ivó D\u{fffd}"),
    ] {
        // Another lead of another person.
        let plain = plain.replace("8888-0005", &format!("8888-000{id}"));
        let id = format!("TeSter-{id}");
        let plain = plain.replace("TeSter-1", &id);
        let (before, after) = plain.split_once("Ivo Salles").unwrap();
        let bytes = [before.as_bytes(), name, after.as_bytes()].concat();
        let ask = host.post(&declared.address("ads")).body(bytes.clone());
        let answer = ask.send().await.expect(200);
        assert_eq!(answer.json()["status"], "converted", "{id}");
        let deals = host.deals(&declared, &format!("externalId={id}")).await;
        assert_eq!(deals[0]["person"]["name"], expect);
        let wrong = String::from_utf8_lossy(&bytes).replace("made-up-form-key", "their-own-key");
        let ask = host.post(&declared.address("ads")).body(wrong.into_bytes());
        ask.send().await.expect(401);
    }
    assert!(!host.keeps("made-up-form-key").await);
}

async fn a_secret_that_stands_under_the_name_of_an_id_leaves_the_leads_own_id(on: On) {
    let host = Host::working(on).await;
    host.activate("converter-mapping").await;
    let file = r#"
[[connections]]
name = "crm"
partner = "acme"
plugin = "mapping"
secrets = { account = "made-up-account" }
[connections.config]
carriedSecrets = [{ place = "json", name = "conta.id" }]
[[connections.checks]]
secret = "account"
scheme = "equals"
proof = { place = "json", name = "conta.id" }
"#;
    let declared = host.declare(file).await;
    let ask = |account: &str| {
        let body = json!({
            "id": "c-1", "nome": "Ivo Salles", "telefone": "11 98888-0005",
            "conta": {"id": account},
        });
        host.post(&declared.address("crm")).json(&body)
    };
    ask("another-account").send().await.expect(401);
    let answer = ask("made-up-account").send().await.expect(200).json();
    assert_eq!(answer["leads"][0]["externalId"], "c-1");
    assert!(!host.keeps("made-up-account").await);
    assert!(!host.keeps("another-account").await);
}

async fn a_secret_in_escapes_is_in_no_attribute(on: On) {
    let (host, declared) = ads(on).await;
    // A long body is checked and masked on another thread.
    for (number, long) in [String::new(), "long ".repeat(20_000)]
        .into_iter()
        .enumerate()
    {
        let id = format!("TeSter-{number}");
        let escaped = r#""a": "\u006dade-up-form-key", "b": "%6Dade-up%2Dform-key", "c": "&#109;ade-up-form-key", "d": "made\u002dup\x2Dform-key""#
            .replace(r"\x", r"\\x");
        let rest = r#""phone": "+55 11 98888-0005", "name": "Ivo Salles""#;
        let body = format!(
            r#"{{"id": "{id}", "google_key": "made-up-form-\u006bey", {escaped}, "e": "{long}", {rest}}}"#
        );
        let wrong = body.replace("made-up-form-\\u006bey", "another");
        let ask = host.post(&declared.address("ads"));
        ask.body(wrong).send().await.expect(401);
        let ask = host.post(&declared.address("ads")).body(body);
        assert_eq!(ask.send().await.expect(200).json()["status"], "converted");
        let deals = host.deals(&declared, &format!("externalId={id}")).await;
        let attributes = &deals[0]["deal"]["props"]["attributes"];
        for name in ["a", "b", "c", "d"] {
            assert_eq!(attributes[name], "***", "{name} in {attributes}");
        }
    }
    assert!(!host.keeps("made-up-form-key").await);
}
