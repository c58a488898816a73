//! Ownership of a plugin's name, and what an operator must confirm before another
//! version takes over.

use leadhost_domain::accept::AcceptWord;
use leadhost_domain::id::KeyId;
use leadhost_domain::plugin::Digest;
use leadhost_domain::publisher::Publisher;
use leadhost_domain::time::Micros;
use leadhost_golden::{append_section, load_dir, pack};
use leadhost_pipeline::deploy::{self, AcceptedWords, ComponentOrigin, Concern, DeployError};
use leadhost_plugin::signature;
use leadhost_tests::guests::{Variant, version};
use leadhost_tests::{Host, On, has};
use serde_json::{Value, json};

leadhost_tests::on_every_store! {
    a_name_belongs_to_its_signer,
    a_name_belongs_to_the_admin_key_that_uploaded_it,
    a_file_of_the_inbox_does_not_take_a_name_over,
    an_inbox_file_that_an_operator_accepts_still_belongs_to_the_inbox,
    the_command_that_a_refused_inbox_file_is_shown_with_activates_it,
    fewer_golden_cases_need_confirmation,
    secrets_in_replies_need_confirmation,
}

fn signed(wasm: &[u8], key: &[u8]) -> Vec<u8> {
    signature::sign(wasm, key).unwrap().unwrap()
}

/// The component with golden cases, given by call, configuration and answer.
fn with_cases(wasm: &[u8], cases: &[(&str, Value, Value)]) -> Vec<u8> {
    let folder = tempfile::tempdir().unwrap();
    for (number, (call, config, expect)) in cases.iter().enumerate() {
        let case = json!({
            "about": "made up", "call": call, "delivery": {"config": config}, "expect": expect
        });
        let case_folder = folder.path().join(format!("case-{number}"));
        std::fs::create_dir(&case_folder).unwrap();
        std::fs::write(case_folder.join("case.json"), case.to_string()).unwrap();
    }
    let packed = pack(&load_dir(folder.path()).unwrap()).unwrap();
    append_section(wasm, &packed).unwrap()
}

fn silent() -> (&'static str, Value, Value) {
    ("handshake", json!({"do": "silent"}), json!({"ok": null}))
}

fn replying(word: &'static str, reply: Value) -> (&'static str, Value, Value) {
    let expect = json!({"ok": {"require": [], "reply": reply}});
    ("handshake", json!({"do": word}), expect)
}

pub(super) async fn activate(
    host: &Host,
    wasm: Vec<u8>,
    origin: impl Into<ComponentOrigin>,
    accept: &[AcceptWord],
) -> Result<(), DeployError> {
    let accept: AcceptedWords = accept.iter().copied().collect();
    deploy::upload(&host.app.pipeline, wasm, origin, true, &accept)
        .await
        .map(drop)
}

/// The same for a component that nothing speaks against.
async fn activated(
    host: &Host,
    wasm: Vec<u8>,
    origin: impl Into<ComponentOrigin>,
    accept: &[AcceptWord],
) {
    activate(host, wasm, origin, accept).await.unwrap();
}

fn words(result: Result<(), DeployError>) -> Vec<AcceptWord> {
    let concerns = concerns(result).into_iter();
    concerns.filter_map(|one| one.accept).collect()
}

#[track_caller]
pub(super) fn concerns(result: Result<(), DeployError>) -> Vec<Concern> {
    match result {
        Err(DeployError::Refused { concerns, .. }) => concerns,
        Err(error) => panic!("{error}"),
        Ok(()) => panic!("it was activated"),
    }
}

fn serving(host: &Host) -> Digest {
    host.app
        .core
        .plugins
        .active("misbehave")
        .unwrap()
        .digest
        .clone()
}

async fn a_name_belongs_to_its_signer(on: On) {
    let host = Host::new(on).await;
    let (ours, theirs) = (signature::new_key().unwrap(), signature::new_key().unwrap());
    let first = signed(&version("1.0.0"), &ours);
    activated(&host, first.clone(), "upload", &[]).await;

    let taken = signed(&version("9.9.9"), &theirs);
    let stands = concerns(activate(&host, taken.clone(), "upload", &[]).await);
    assert_eq!(stands.len(), 1, "{stands:?}");
    assert_eq!(stands[0].accept, Some(AcceptWord::NewPublisher));
    let keys = [&ours, &theirs].map(|key| signature::public_key(key).unwrap().to_string());
    let is_so = keys.iter().all(|key| stands[0].what.contains(key));
    assert!(is_so, "{stands:?}");
    let unsigned = activate(&host, version("9.9.9"), "upload", &[]).await;
    assert_eq!(words(unsigned), [AcceptWord::NewPublisher]);
    assert_eq!(serving(&host), Digest::compute(&first));

    // The same key, however it was uploaded.
    let second = signed(&version("1.1.0"), &ours);
    activated(&host, second, "misbehave.wasm", &[]).await;
    activated(&host, taken.clone(), "upload", &[AcceptWord::NewPublisher]).await;
    let third = signed(&version("10.0.0"), &ours);
    let back = activate(&host, third, "upload", &[]).await;
    assert_eq!(words(back), [AcceptWord::NewPublisher]);
    let record = host.app.core.store.plugin(&Digest::compute(&taken)).await;
    let record = record.unwrap();
    let publisher = record.unwrap().publisher;
    let expect = Publisher::Signer(signature::public_key(&theirs).unwrap());
    assert_eq!(publisher, expect);
}

async fn a_name_belongs_to_the_admin_key_that_uploaded_it(on: On) {
    let host = Host::new(on).await;
    let (one, two) = (host.admin_key().await, host.admin_key().await);
    let send = async |key, version: &str, accept: &str| {
        let target = format!("/admin/v1/plugins?activate=true{accept}");
        let variant = Variant::version(version);
        let ask = host.admin("POST", &target).bearer(key);
        ask.body(variant.component()).send().await
    };
    send(&one, "1.0.0", "").await.expect(201);
    send(&one, "1.1.0", "").await.expect(201);
    let refused = send(&two, "1.2.0", "").await.expect(409);
    let expect = json!(["new-publisher"]);
    assert_eq!(refused.json()["accept"], expect, "{}", refused.text());
    let named = refused.text().matches(" (test)").count();
    assert!(named >= 2, "both keys by their labels: {}", refused.text());
    send(&two, "1.2.0", "&accept=new-publisher")
        .await
        .expect(201);
    send(&one, "1.3.0", "").await.expect(409);

    let check = host.admin("POST", "/admin/v1/plugins/check").bearer(&one);
    let report = check.body(version("1.3.0")).send().await.expect(200).json();
    assert_eq!(report["concerns"][0]["accept"], "new-publisher");
}

async fn a_file_of_the_inbox_does_not_take_a_name_over(on: On) {
    let host = Host::new(on).await;
    let key = ComponentOrigin::upload(KeyId::new(Micros(0)));
    let real = with_cases(&version("1.0.0"), &[silent(), silent()]);
    activated(&host, real.clone(), key, &[]).await;
    let false_one = version("9.9.9");
    deploy::take_in(&host.app.pipeline, false_one.clone(), "grab.wasm").await;
    assert_eq!(serving(&host), Digest::compute(&real));
    let refusals = host.app.core.store.refusals().await.unwrap();
    assert_eq!(refusals.len(), 1);
    let reason = &refusals[0].reason;
    has!(
        reason,
        "leadhost plugin publish",
        "grab.wasm --accept fewer-cases --accept new-publisher"
    );
}

async fn an_inbox_file_that_an_operator_accepts_still_belongs_to_the_inbox(on: On) {
    let host = Host::new(on).await;
    deploy::take_in(&host.app.pipeline, version("1.1.0"), "misbehave.wasm").await;
    let older = version("1.0.0");
    deploy::take_in(&host.app.pipeline, older.clone(), "misbehave.wasm").await;
    let reason = &host.app.core.store.refusals().await.unwrap()[0].reason;
    let is_so = reason.ends_with("misbehave.wasm --accept older`");
    assert!(is_so, "{reason}");
    let key = ComponentOrigin::upload(KeyId::new(Micros(0)));
    activated(&host, older, key.clone(), &[AcceptWord::Older]).await;
    let next = version("1.2.0");
    deploy::take_in(&host.app.pipeline, next.clone(), "misbehave.wasm").await;
    assert_eq!(serving(&host), Digest::compute(&next));
    let grabbed = activate(&host, version("1.3.0"), key, &[]).await;
    assert_eq!(words(grabbed), [AcceptWord::NewPublisher]);
}

async fn the_command_that_a_refused_inbox_file_is_shown_with_activates_it(on: On) {
    let host = Host::new(on).await;
    let first = version("1.0.0");
    deploy::take_in(&host.app.pipeline, first.clone(), "misbehave.wasm").await;
    assert_eq!(serving(&host), Digest::compute(&first));
    // Signed in place, with the same version: an upload of it comes from another origin.
    let signed = signed(&first, &signature::new_key().unwrap());
    deploy::take_in(&host.app.pipeline, signed.clone(), "misbehave.wasm").await;
    assert_eq!(serving(&host), Digest::compute(&first));
    let reason = &host.app.core.store.refusals().await.unwrap()[0].reason;
    assert!(
        reason.ends_with("misbehave.wasm --accept new-publisher --accept same-version`"),
        "{reason}"
    );
    let key = ComponentOrigin::upload(KeyId::new(Micros(0)));
    let accept = [AcceptWord::NewPublisher, AcceptWord::SameVersion];
    let report = deploy::check(&host.app.pipeline, signed.clone(), key.clone());
    let concerns = report.await.unwrap().concerns.into_iter();
    let named: Vec<_> = concerns.filter_map(|one| one.accept).collect();
    assert_eq!(named, accept);
    activated(&host, signed.clone(), key, &accept).await;
    assert_eq!(serving(&host), Digest::compute(&signed));
}

async fn fewer_golden_cases_need_confirmation(on: On) {
    let host = Host::new(on).await;
    let two = with_cases(&version("1.0.0"), &[silent(), silent()]);
    activated(&host, two, "upload", &[]).await;
    let one = with_cases(&version("1.1.0"), &[silent()]);
    let stands = concerns(activate(&host, one.clone(), "upload", &[]).await);
    assert_eq!(stands[0].accept, Some(AcceptWord::FewerCases));
    has!(stands[0].what, "1 instead of 2");
    activated(&host, one.clone(), "upload", &[AcceptWord::FewerCases]).await;
    let more = with_cases(&version("1.2.0"), &[silent(), silent(), silent()]);
    activated(&host, more, "upload", &[]).await;
    // The previous version was accepted before.
    host.roll_back("misbehave").await.unwrap();
    assert_eq!(serving(&host), Digest::compute(&one));
}

async fn secrets_in_replies_need_confirmation(on: On) {
    let host = Host::new(on).await;
    let slot = |function: &str, args: Value| json!({"slot": {"function": function, "args": args}});
    let reply_case = replying(
        "tell",
        json!({"status": 200, "contentType": "text/plain", "body": [
            {"literal": "it is "}, slot("secret", json!([{"secret": "key"}]))
        ]}),
    );
    let signs = replying(
        "sign",
        json!({"status": 200, "contentType": "application/json", "body": [
            {"literal": "{\"signed\":\""},
            slot("hmac-sha256-hex", json!([{"secret": "key"}, {"literal": ""}])),
            {"literal": "\"}"}
        ]}),
    );
    let component_with_reply = with_cases(&version("1.0.0"), std::slice::from_ref(&reply_case));
    let first = activate(&host, component_with_reply, "upload", &[]).await;
    let expect = [AcceptWord::NewReplySlots];
    assert_eq!(words(first), expect, "the first of its name too");

    let plain = with_cases(&version("1.0.0"), &[silent()]);
    activated(&host, plain, "upload", &[]).await;
    let signing = with_cases(&version("1.1.0"), std::slice::from_ref(&signs));
    let stands = concerns(activate(&host, signing.clone(), "upload", &[]).await);
    assert_eq!(stands[0].accept, Some(AcceptWord::NewReplySlots));
    has!(stands[0].what, "`hmac-sha256-hex` of the secret `key`");
    activated(&host, signing, "upload", &[AcceptWord::NewReplySlots]).await;
    let again = with_cases(&version("1.2.0"), &[signs]);
    activated(&host, again, "upload", &[]).await;

    let page = json!({"status": 200, "contentType": "text/html", "body": [
        {"literal": "<script>alert(1)</script>"}
    ]});
    let page = with_cases(&version("1.3.0"), &[replying("page", page)]);
    let error = activate(&host, page, "upload", &[AcceptWord::All]).await;
    let error = error.unwrap_err();
    has!(error.to_string(), "text/html");
}
