//! Sender checks of converters and of connections, handshakes, and the
//! quarantine for deliveries that fail the checks.

use leadhost_domain::delivery::DeliveryStatus;
use leadhost_domain::limits;
use leadhost_pipeline::replay::{self, ReplayError};
use leadhost_tests::host_actions::signature;
use leadhost_tests::{Declared, Host, On, Options, fields, guests, has, lacks};
use serde_json::json;

use super::replay_options;

leadhost_tests::on_every_store! {
    basic_credentials_admit_a_sender_and_are_not_kept,
    a_sender_without_proof_gets_401_and_its_delivery_is_kept,
    junk_does_not_push_a_true_lead_out_of_quarantine,
    a_corrected_secret_releases_the_quarantined_deliveries,
    a_signature_is_over_the_bytes_as_they_came,
    a_connection_adds_checks_of_its_own,
    a_handshake_needs_the_token,
    a_source_without_a_handshake_answers_with_the_allowed_methods,
    a_guest_sees_no_secret_in_its_input,
}

const OLX: &str = r#"
[[connections]]
name = "portal"
partner = "acme"
plugin = "grupo-olx"
secrets = { basic = "portal:made-up-word" }
"#;

async fn portal(on: On) -> (Host, Declared) {
    let host = Host::working(on).await;
    host.activate("converter-grupo-olx").await;
    let declared = host.declare(OLX).await;
    (host, declared)
}

fn olx(id: &str) -> String {
    let body = json!({
        "leadOrigin": "Portal", "originLeadId": id, "clientListingId": "CA-7",
        "name": "Rui Tavares", "ddd": "21", "phone": "988880002", "email": "rui@example.com",
        "message": "Ainda está livre?",
    });
    body.to_string()
}

async fn basic_credentials_admit_a_sender_and_are_not_kept(on: On) {
    let (host, declared) = portal(on).await;
    let ask = host.post(&declared.address("portal")).body(olx("o-1"));
    let answer = ask.basic("portal:made-up-word").send().await.expect(200);
    assert_eq!(answer.json()["status"], "converted");
    let stored = host.delivery(&answer).await;
    let header = stored.request.headers.iter();
    let header = header.filter(|(name, _)| name == "authorization");
    assert_eq!(header.map(|(_, value)| value).collect::<Vec<_>>(), ["***"]);
    for secret in ["made-up-word", "cG9ydGFsOm1hZGUtdXAtd29yZA"] {
        assert!(!host.keeps(secret).await, "{secret} is on disk");
    }
}

async fn a_sender_without_proof_gets_401_and_its_delivery_is_kept(on: On) {
    let (host, declared) = portal(on).await;
    let ask = || host.post(&declared.address("portal")).body(olx("o-1"));
    let asks = [
        ask(),
        ask().basic("portal:other"),
        ask().header("authorization", "Basic %%%"),
        ask().header("authorization", "Bearer made-up-word"),
    ];
    let count = asks.len();
    for ask in asks {
        let answer = ask.send().await.expect(401);
        fields!(answer.json(), {"statusCode": 401, "error": "Unauthorized"});
        assert!(!answer.header("www-authenticate").is_empty());
    }
    let kept = host.with_status(DeliveryStatus::Quarantined).await;
    assert_eq!(kept.len(), count);
    assert!(host.deals(&declared, "externalId=o-1").await.is_empty());
}

fn junk(number: u8) -> String {
    char::from(b'a' + number)
        .to_string()
        .repeat(limits::DELIVERY_BYTES)
}

/// The quarantined bodies, oldest first.
async fn quarantined(host: &Host) -> Vec<String> {
    let mut bodies = Vec::new();
    for id in host.with_status(DeliveryStatus::Quarantined).await {
        let body = host.stored(id).await.request.body;
        bodies.push(String::from_utf8(body.into()).expect("text"));
    }
    bodies.reverse();
    bodies
}

async fn junk_does_not_push_a_true_lead_out_of_quarantine(on: On) {
    let options = Options::patient(on).with("server.trusted_proxies", "127.0.0.0/8");
    let host = Host::working_with(options).await;
    host.activate("converter-grupo-olx").await;
    let wrong = OLX.replace("made-up-word", "mistyped");
    let declared = host.declare(&wrong).await;
    let post = async |sender: &str, body: String| {
        let ask = host.post(&declared.address("portal")).body(body);
        let ask = ask.header("x-forwarded-for", sender);
        let ask = ask.basic("portal:made-up-word");
        ask.send().await.expect(401);
        host.advance(1).await;
    };
    let leads = [olx("o-1"), olx("o-2")];
    post("192.0.2.1", leads[0].clone()).await;
    for number in 0..17 {
        post("203.0.113.9", junk(number)).await;
    }
    post("192.0.2.2", leads[1].clone()).await;

    let before = leads[..1].iter().cloned();
    let expect = before.chain((2..17).map(junk)).chain(leads[1..].to_vec());
    let kept = quarantined(&host).await;
    assert_eq!(kept.len(), 17);
    let is_so = kept.into_iter().eq(expect);
    assert!(is_so, "the leads, and the newest junk");
    let metrics = host.admin("GET", "/metrics").send().await.expect(200);
    let line = "leadhost_quarantine_evicted_total 2";
    has!(metrics, line);

    host.declare(OLX).await;
    let ids = host.with_status(DeliveryStatus::Quarantined).await;
    let options = replay_options(false, true);
    for id in [ids[0], ids[16]] {
        let released = replay::one(&host.app.pipeline, id, options).await.unwrap();
        assert_eq!(released.status, DeliveryStatus::Converted);
    }
    for external_id in ["externalId=o-1", "externalId=o-2"] {
        assert_eq!(host.deals(&declared, external_id).await.len(), 1);
    }
}

async fn a_corrected_secret_releases_the_quarantined_deliveries(on: On) {
    let host = Host::working(on).await;
    host.activate("converter-grupo-olx").await;
    let wrong = OLX.replace("made-up-word", "mistyped");
    let declared = host.declare(&wrong).await;
    let ask = host.post(&declared.address("portal")).body(olx("o-1"));
    ask.basic("portal:made-up-word").send().await.expect(401);
    let id = host.with_status(DeliveryStatus::Quarantined).await[0];
    let is_so = !host.keeps("cG9ydGFsOm1hZGUtdXAtd29yZA").await;
    assert!(is_so, "the proof is sealed");

    let replay = async |release: bool| {
        let options = replay_options(false, release);
        replay::one(&host.app.pipeline, id, options).await
    };
    let refused = replay(false).await;
    let expected = matches!(refused, Err(ReplayError::Quarantined(_)));
    assert!(expected, "{refused:?}");
    let release = format!("`leadhost delivery replay {id} --release`");
    has!(refused.expect_err("it is refused").to_string(), &release);
    let refused = replay(true).await;
    let expected = matches!(refused, Err(ReplayError::StillUnproven { .. }));
    assert!(expected, "{refused:?}");
    let expect = DeliveryStatus::Quarantined;
    assert_eq!(host.stored(id).await.summary.status, expect);

    host.declare(OLX).await;
    let refused = replay(false).await;
    let expected = matches!(refused, Err(ReplayError::Quarantined(_)));
    assert!(expected, "{refused:?}");
    let released = replay(true).await.expect("the proof holds now");
    assert_eq!(released.status, DeliveryStatus::Converted);
    assert_eq!(host.deals(&declared, "externalId=o-1").await.len(), 1);
}

async fn a_signature_is_over_the_bytes_as_they_came(on: On) {
    let host = Host::working(on).await;
    host.converter(guests::example_form()).await;
    let file = format!(
        "{}secrets = {{ form-key = \"made-up-key\" }}\n",
        super::FORM
    );
    let declared = host.declare(&file).await;
    // Escapes and blanks that would not survive parsing and writing.
    let body = br#"{"id":"f-1",  "nome":"Jo\u00e3o \u002f Zo\u00E9","telefone":"11 98888-0003"}"#;
    let address = declared.address("form");
    let ask = |secret: &str| {
        let ask = host.post(&address);
        ask.signed("x-form-signature", "", secret, body)
    };
    let answer = ask("made-up-key").send().await.expect(200).json();
    assert_eq!(answer["status"], "converted");
    let deals = host.deals(&declared, "externalId=f-1").await;
    assert_eq!(deals[0]["person"]["name"], "João / Zoé");
    ask("another-key").send().await.expect(401);
    let other = host.post(&address).body(&b"{}"[..]);
    let other = other.header("x-form-signature", &signature("made-up-key", body));
    other.send().await.expect(401);
    host.post(&address).body(&body[..]).send().await.expect(401);
}

async fn a_connection_adds_checks_of_its_own(on: On) {
    let host = Host::working(on).await;
    host.activate("converter-mapping").await;
    let file = r#"
[[connections]]
name = "hook"
partner = "acme"
plugin = "mapping"
secrets = { token = "made-up-token", key = "made-up-key" }
[[connections.checks]]
secret = "token"
scheme = "equals"
proof = { place = "query", name = "token" }
[[connections.checks]]
secret = "key"
scheme = "hmac-sha256"
encoding = "base64"
proof = { place = "header", name = "X-Signature" }
"#;
    let declared = host.declare(file).await;
    let body = json!({"id": "m-1", "nome": "Eva Luz", "telefone": "11 98888-0004"}).to_string();
    let proof = {
        use base64::Engine as _;
        let hex = signature("made-up-key", body.as_bytes());
        let bytes: Vec<u8> = (0..hex.len())
            .step_by(2)
            .map(|at| u8::from_str_radix(&hex[at..at + 2], 16).unwrap())
            .collect();
        base64::engine::general_purpose::STANDARD.encode(bytes)
    };
    let ask = |query: &str| {
        let target = format!("{}{query}", declared.address("hook"));
        host.post(&target).body(body.clone())
    };
    let signed = |query: &str| ask(query).header("x-signature", &proof);
    signed("").send().await.expect(401);
    signed("?token=wrong").send().await.expect(401);
    ask("?token=made-up-token").send().await.expect(401);
    let answer = signed("?token=made-up-token").send().await.expect(200);
    assert_eq!(answer.json()["status"], "converted");
    let stored = host.delivery(&answer).await;
    assert_eq!(stored.request.query[0].1, "***");
    assert!(!host.keeps("made-up-token").await);
}

const META: &str = r#"
[[connections]]
name = "meta"
partner = "acme"
plugin = "meta-lead-ads"
secrets = { verify-token = "made-up-verify", app-secret = "made-up-app" }
"#;

async fn a_handshake_needs_the_token(on: On) {
    let host = Host::working(on).await;
    host.activate("converter-meta-lead-ads").await;
    let declared = host.declare(META).await;
    let address = declared.address("meta");
    let ask = |token: &str| {
        host.get(&format!(
            "{address}?hub.mode=subscribe&hub.challenge=1158201444&hub.verify_token={token}"
        ))
    };
    let answer = ask("made-up-verify").send().await.expect(200);
    assert_eq!(answer.text(), "1158201444");
    assert!(answer.header("content-type").starts_with("text/plain"));
    let answer = ask("other").send().await.expect(403);
    assert_eq!(answer.json()["statusCode"], 403);
    ask("").send().await.expect(403);
    let without = format!("{address}?hub.mode=subscribe&hub.challenge=1");
    host.get(&without).send().await.expect(403);
    let answer = host.get(&address).send().await.expect(405);
    assert_eq!(answer.header("allow"), "POST");
    assert!(!host.keeps("made-up-verify").await);
    assert!(!host.keeps("made-up-app").await);
}

async fn a_source_without_a_handshake_answers_with_the_allowed_methods(on: On) {
    let (host, declared) = portal(on).await;
    let answer = host.get(&declared.address("portal")).send().await;
    let answer = answer.expect(405);
    assert_eq!(answer.header("allow"), "POST");
    assert_eq!(answer.json()["statusCode"], 405);
}

async fn a_guest_sees_no_secret_in_its_input(on: On) {
    let host = Host::working(on).await;
    host.converter(guests::misbehave()).await;
    let file = r#"
[[connections]]
name = "eyes"
partner = "acme"
plugin = "misbehave"
secrets = { token = "tok", word = "made-up-key" }
[[connections.checks]]
secret = "token"
scheme = "equals"
proof = { place = "query", name = "token" }
[[connections.checks]]
secret = "word"
scheme = "bearer"
proof = { place = "header", name = "X-Proof" }
"#;
    let declared = host.declare(file).await;
    let ask = host.post(&format!("{}?token=tok&a=1", declared.address("eyes")));
    let ask = ask.header("x-proof", "Bearer made-up-key");
    let answer = ask.header("cookie", "session=1").send().await.expect(200);
    assert_eq!(answer.json()["status"], "converted");
    let id = answer.json()["leads"][0]["dealId"].clone();
    let deals = host
        .deals(&declared, &format!("dealId={}", id.as_str().unwrap()))
        .await;
    // The misbehaving converter copies its whole input to attributes.
    let seen = deals[0]["deal"]["props"]["attributes"].to_string();
    has!(seen, "x-proof");
    lacks!(seen, "\"tok\"", "made-up-key", "session=1"; "in");
}
