//! Converters are installed, refused, swapped and rolled back while leads come
//! in.

use leadhost_domain::accept::AcceptWord;
use leadhost_domain::delivery::DeliveryStatus;
use leadhost_domain::plugin::Digest;
use leadhost_pipeline::deploy::{self, AcceptedWords};
use leadhost_tests::guests::{self, Variant};
use leadhost_tests::{Host, Json, On, Options, eventually, has, until};
use tempfile::TempDir;

use super::harm;
use super::traffic::Traffic;

leadhost_tests::on_every_store! {
    a_file_in_the_inbox_serves_without_a_restart,
    an_inbox_that_is_made_later_is_watched_from_then_on,
    a_version_that_does_not_pass_is_refused_with_a_reason_and_changes_nothing,
    a_refusal_is_shown_until_it_is_overtaken,
    a_refusal_of_a_file_that_was_removed_before_the_start_is_not_shown,
    what_is_passed_over_is_shown_and_an_overwritten_file_serves,
    without_an_inbox_a_refused_file_is_not_shown,
    a_restart_and_a_removed_file_change_nothing,
    a_swap_under_traffic_loses_no_lead_and_fails_none,
    a_start_retries_deliveries_that_a_crash_left_for_the_next_version,
}

async fn watching(on: On, inbox: &TempDir) -> Host {
    Host::working_with(Options::patient(on).with("plugins.inbox", inbox.path().display())).await
}

fn put(inbox: &TempDir, name: &str, bytes: &[u8]) {
    let aside = inbox.path().join(format!(".{name}"));
    std::fs::write(&aside, bytes).unwrap();
    std::fs::rename(aside, inbox.path().join(name)).unwrap();
}

async fn serving(host: &Host) -> Option<Digest> {
    let activations = host.store().activations().await.unwrap();
    let found = activations
        .into_iter()
        .find(|activation| activation.name == "misbehave");
    found.map(|activation| activation.digest)
}

/// Waits until calls run on it: the activation in the store comes a moment
/// earlier.
async fn serves(host: &Host, wasm: &[u8]) {
    let digest = Digest::compute(wasm);
    until("the file serves", async || {
        let active = host.app.core.plugins.active("misbehave")?;
        (active.digest == digest).then_some(())
    })
    .await;
}

async fn refused(host: &Host, wasm: &[u8]) -> String {
    let digest = Digest::compute(wasm);
    until("the file is refused", async || {
        let refusals = host.store().refusals().await.unwrap();
        let found = refusals
            .into_iter()
            .find(|refusal| refusal.digest.as_ref() == Some(&digest));
        found.map(|refusal| refusal.reason)
    })
    .await
}

async fn a_file_in_the_inbox_serves_without_a_restart(on: On) {
    let inbox = tempfile::tempdir().unwrap();
    let host = watching(on, &inbox).await;
    let first = guests::version("1.0.0");
    put(&inbox, "misbehave.wasm", &first);
    serves(&host, &first).await;
    let declared = host.declare(&harm("good", "", 0)).await;
    let answer = host.deliver(&declared, "good").await;
    assert_eq!(answer.json()["status"], "converted");

    let second = guests::version("1.1.0");
    put(&inbox, "misbehave.wasm", &second);
    serves(&host, &second).await;
    let answer = host.deliver(&declared, "good").await;
    let ran = host.delivery(&answer).await.summary.ran;
    assert_eq!(ran.expect("it ran").digest, Digest::compute(&second));
}

async fn an_inbox_that_is_made_later_is_watched_from_then_on(on: On) {
    let folder = tempfile::tempdir().unwrap();
    let later = folder.path().join("later");
    let host =
        Host::working_with(Options::patient(on).with("plugins.inbox", later.display())).await;
    std::fs::create_dir(&later).unwrap();
    let wasm = guests::version("1.0.0");
    std::fs::write(later.join("misbehave.wasm"), &wasm).unwrap();
    serves(&host, &wasm).await;
}

async fn a_version_that_does_not_pass_is_refused_with_a_reason_and_changes_nothing(on: On) {
    let inbox = tempfile::tempdir().unwrap();
    let host = watching(on, &inbox).await;
    let good = guests::version("1.1.0");
    put(&inbox, "misbehave.wasm", &good);
    serves(&host, &good).await;
    let declared = host.declare(&harm("good", "", 0)).await;

    let broken = [b"\0asm\x0d\0\x01\0".as_slice(), &[0xff; 64]].concat();
    put(&inbox, "broken.wasm", &broken);
    put(&inbox, "text.wasm", b"this is no component");
    let same = Variant::version("1.1.0").prefix("other ");
    let same = same.component();
    put(&inbox, "copy.wasm", &same);
    let older = guests::version("1.0.9");
    put(&inbox, "older.wasm", &older);
    let weaker = Variant::version("1.2.0").check("");
    let weaker = weaker.component();
    put(&inbox, "weaker.wasm", &weaker);

    assert!(!refused(&host, &broken).await.is_empty());
    let reason = refused(&host, b"this is no component").await;
    has!(reason, "not WebAssembly");
    has!(refused(&host, &same).await, "--accept same-version");
    has!(refused(&host, &older).await, "--accept older");
    has!(refused(&host, &weaker).await, "--accept weaker-checks");

    assert_eq!(serving(&host).await, Some(Digest::compute(&good)));
    let answer = host.deliver(&declared, "good").await;
    let ran = host.delivery(&answer).await.summary.ran;
    assert_eq!(ran.expect("it ran").digest, Digest::compute(&good));

    let accept = AcceptedWords::from_iter([AcceptWord::WeakerChecks]);
    let accepted = deploy::upload(
        &host.app.pipeline,
        weaker.clone(),
        "operator",
        true,
        &accept,
    )
    .await;
    assert!(accepted.is_ok(), "an operator may accept it");
    assert_eq!(serving(&host).await, Some(Digest::compute(&weaker)));
}

/// Waits until `leadhost plugin list` shows these refused files.
async fn shows(host: &Host, expect: &[&str]) {
    let key = host.admin_key().await;
    eventually(&format!("refusals of {expect:?}"), async || {
        let list = host.admin("GET", "/admin/v1/plugins").bearer(&key);
        let list = list.send().await.expect(200).json();
        let refusals = list["refusals"].list();
        let names: Vec<_> = refusals.iter().map(|one| one["origin"].as_str()).collect();
        names == expect.iter().copied().map(Some).collect::<Vec<_>>()
    })
    .await;
}

async fn a_refusal_is_shown_until_it_is_overtaken(on: On) {
    let inbox = tempfile::tempdir().unwrap();
    let host = watching(on, &inbox).await;
    let first = guests::version("1.1.0");
    put(&inbox, "misbehave.wasm", &first);
    serves(&host, &first).await;
    for (name, text) in [
        ("a.wasm", "no component"),
        ("b.wasm", "no component either"),
    ] {
        put(&inbox, name, text.as_bytes());
        refused(&host, text.as_bytes()).await;
    }
    let older = guests::version("1.0.0");
    put(&inbox, "older.wasm", &older);
    refused(&host, &older).await;
    shows(&host, &["older.wasm", "b.wasm", "a.wasm"]).await;

    // A later version of the plugin is activated.
    let uploaded = host.upload(guests::version("1.2.0"), "later.wasm");
    let uploaded = uploaded.await;
    assert!(uploaded.is_ok(), "the same origin asks nothing");
    shows(&host, &["older.wasm", "b.wasm", "a.wasm"]).await;
    host.advance(1).await;
    // The file has other bytes.
    put(&inbox, "a.wasm", &guests::version("1.3.0"));
    shows(&host, &["older.wasm", "b.wasm"]).await;
    std::fs::remove_file(inbox.path().join("b.wasm")).unwrap();
    shows(&host, &["older.wasm"]).await;
    // The same bytes come a second time, also under another name.
    put(&inbox, "b.wasm", b"no component either");
    shows(&host, &["b.wasm", "older.wasm"]).await;
    put(&inbox, "c.wasm", b"no component either");
    shows(&host, &["c.wasm", "b.wasm", "older.wasm"]).await;
    for name in ["b.wasm", "c.wasm"] {
        std::fs::remove_file(inbox.path().join(name)).unwrap();
    }
    shows(&host, &["older.wasm"]).await;

    // Its bytes stay refused.
    let active = guests::version("1.3.0");
    serves(&host, &active).await;
    let host = host.restart().await;
    let marker = b"this is no component".as_slice();
    put(&inbox, "zzz.wasm", marker);
    refused(&host, marker).await;
    shows(&host, &["zzz.wasm", "older.wasm"]).await;
    assert_eq!(serving(&host).await, Some(Digest::compute(&active)));
}

async fn what_is_passed_over_is_shown_and_an_overwritten_file_serves(on: On) {
    let inbox = tempfile::tempdir().unwrap();
    let host = watching(on, &inbox).await;
    put(&inbox, "empty.wasm", b"");
    shows(&host, &["empty.wasm"]).await;
    put(&inbox, "upper.WASM", b"");
    shows(&host, &["upper.WASM", "empty.wasm"]).await;
    let link = inbox.path().join("link.wasm");
    std::os::unix::fs::symlink(inbox.path().join("later"), &link).unwrap();
    shows(&host, &["link.wasm", "upper.WASM", "empty.wasm"]).await;
    // Its target appears: a component of one length and time with the next one.
    let [first, second] = ["a ", "b "].map(|prefix| {
        let variant = Variant::version("1.0.0").prefix(prefix);
        variant.component()
    });
    let at = std::time::SystemTime::UNIX_EPOCH + std::time::Duration::from_secs(1);
    for wasm in [first, second] {
        let mut file = std::fs::File::options()
            .write(true)
            .create(true)
            .truncate(false)
            .open(inbox.path().join("later"))
            .unwrap();
        std::io::Write::write_all(&mut file, &wasm).unwrap();
        file.set_modified(at).unwrap();
        serves(&host, &wasm).await;
        shows(&host, &["upper.WASM", "empty.wasm"]).await;
    }
}

async fn a_refusal_of_a_file_that_was_removed_before_the_start_is_not_shown(on: On) {
    let inbox = tempfile::tempdir().unwrap();
    let removed = b"no component".as_slice();
    // The host starts its work, which watches the inbox, after the file is refused and removed.
    let options = Options::patient(on).with("plugins.inbox", inbox.path().display());
    let host = Host::start(options).await;
    deploy::take_in(&host.app.pipeline, removed.to_vec(), "removed.wasm").await;
    std::fs::write(inbox.path().join("kept.wasm"), b"no component either").unwrap();
    deploy::take_in(
        &host.app.pipeline,
        b"no component either".to_vec(),
        "kept.wasm",
    )
    .await;
    shows(&host, &["kept.wasm", "removed.wasm"]).await;
    host.work();
    shows(&host, &["kept.wasm"]).await;
}

async fn without_an_inbox_a_refused_file_is_not_shown(on: On) {
    let host = Host::start(Options::patient(on)).await;
    deploy::take_in(&host.app.pipeline, b"no component".to_vec(), "left.wasm").await;
    // Another host of a shared store may have an inbox.
    let expect: &[&str] = if host.store().is_shared() {
        &["left.wasm"]
    } else {
        &[]
    };
    shows(&host, expect).await;
}

async fn a_restart_and_a_removed_file_change_nothing(on: On) {
    let inbox = tempfile::tempdir().unwrap();
    let host = watching(on, &inbox).await;
    let (first, second) = (guests::version("1.0.0"), guests::version("1.1.0"));
    put(&inbox, "misbehave.wasm", &first);
    serves(&host, &first).await;
    let taken_in = host.upload(second.clone(), "newer.wasm").await;
    assert!(taken_in.is_ok(), "the same origin asks nothing");
    let between = guests::version("1.0.5");
    put(&inbox, "between.wasm", &between);
    refused(&host, &between).await;
    host.roll_back("misbehave").await.expect("one before");
    assert_eq!(serving(&host).await, Some(Digest::compute(&first)));
    put(&inbox, "second.wasm", &second);

    let host = host.restart().await;
    // A new file is processed after the existing ones.
    let marker = b"this is no component".as_slice();
    put(&inbox, "zzz.wasm", marker);
    refused(&host, marker).await;
    let expect = Some(Digest::compute(&first));
    assert_eq!(serving(&host).await, expect, "the rollback stands");

    std::fs::remove_file(inbox.path().join("misbehave.wasm")).unwrap();
    let marker = b"this is no component either".as_slice();
    put(&inbox, "zzzz.wasm", marker);
    refused(&host, marker).await;
    assert_eq!(serving(&host).await, Some(Digest::compute(&first)));
}

async fn a_swap_under_traffic_loses_no_lead_and_fails_none(on: On) {
    // The clock stands, and on a busy machine the clients send for long until the version is compiled.
    let unlimited = Options::patient(on).with("intake.connection_rate", 0);
    let host = Host::working_with(unlimited).await;
    let old = host.converter(guests::version("1.0.0")).await;
    let declared = host.declare(&harm("good", "", 0)).await;
    let asks = (0..20).map(|_| host.post(&declared.address("good")));
    let traffic = Traffic::start(asks).await;
    let new = host.converter(guests::version("1.1.0")).await;
    let mut sent = 0;
    let mut by_old = 0;
    for (is_after, answer) in traffic.end().await {
        let answer = answer.expect(200);
        assert_eq!(answer.json()["status"], "converted");
        let ran = host.delivery(&answer).await.summary.ran.expect("it ran");
        assert!([&old, &new].contains(&&ran.digest));
        let is_so = !is_after || ran.digest == new;
        assert!(is_so, "begun after the swap was answered");
        sent += 1;
        by_old += usize::from(ran.digest == old);
    }
    assert!(by_old > 0, "some came before");
    assert_eq!(host.rows(&declared, "deals").await.len(), sent);
}

async fn a_start_retries_deliveries_that_a_crash_left_for_the_next_version(on: On) {
    let host = Host::working(on).await;
    host.converter(guests::version("1.0.0")).await;
    let declared = host.declare(&harm("trap", "trap", 0)).await;
    let answer = host.post(&declared.address("trap")).send().await;
    let id = host.delivery(&answer.expect(200)).await.summary.id;
    let mended = Variant::version("1.0.1").mended("trap");
    let wasm = mended.component();
    let digest = Digest::compute(&wasm);
    let stored = deploy::upload(
        &host.app.pipeline,
        wasm,
        "test",
        false,
        &AcceptedWords::default(),
    )
    .await;
    assert!(stored.is_ok(), "{:?}", stored.err());
    assert_eq!(host.stored(id).await.summary.status, DeliveryStatus::Failed);
    // As if the host had died right after the activation in the store.
    let now = host.app.core.clock.now();
    let store = host.store();
    store.activate("misbehave", &digest, now).await.unwrap();
    let host = host.restart().await;
    let done = host.becomes(id, DeliveryStatus::Converted).await;
    assert_eq!(done.summary.ran.expect("it ran").digest, digest);
}
