//! Trusted keys: only components that one of them has signed are stored, activated or rolled out,
//! wherever they come from. Versions that served before still serve.

use leadhost_domain::key::PlainKey;
use leadhost_domain::plugin::Digest;
use leadhost_pipeline::deploy::{self, AcceptedWords};
use leadhost_plugin::signature;
use leadhost_tests::guests::{self, version};
use leadhost_tests::{Ask, Host, Json, On, Options, Service, fields, has, lacks};
use serde_json::json;

leadhost_tests::on_every_store! {
    a_component_of_a_trusted_key_serves_and_no_other_one_does,
    a_file_of_the_inbox_that_no_trusted_key_has_signed_is_refused_with_what_to_do,
    a_stored_version_that_no_trusted_key_has_signed_is_neither_activated_nor_rolled_out,
    a_broken_signature_is_refused_as_broken,
    a_version_that_served_before_goes_on_serving_with_a_warning,
}

struct SigningKey {
    secret: Vec<u8>,
    public: String,
}

impl SigningKey {
    fn new() -> Self {
        let secret = signature::new_key().unwrap().to_vec();
        let public = signature::public_key(&secret).unwrap().to_string();
        Self { secret, public }
    }

    fn sign(&self, wasm: &[u8]) -> Vec<u8> {
        signature::sign(wasm, &self.secret).unwrap().unwrap()
    }
}

struct TrustingHost {
    host: Host,
    operator: PlainKey,
    ours: SigningKey,
}

impl TrustingHost {
    async fn new(on: On) -> Self {
        let (ours, another) = (SigningKey::new(), SigningKey::new());
        let keys = format!("{}, {}", another.public, ours.public);
        let host =
            Host::working_with(Options::patient(on).with("plugins.trusted_keys", keys)).await;
        let operator = host.admin_key().await;
        Self {
            host,
            operator,
            ours,
        }
    }

    fn ask(&self, method: &str, path: &str) -> Ask {
        self.host
            .admin(method, &format!("/admin/v1/plugins{path}"))
            .bearer(&self.operator)
    }

    /// Sends a component, which is refused. Returns the kind of the refusal and its text.
    async fn refused(&self, path: &str, wasm: &[u8]) -> (String, String) {
        let answer = self.ask("POST", path).body(wasm.to_vec()).send().await;
        let refused = answer.expect(422).json();
        let text = |field: &str| refused[field].text().to_owned();
        (text("kind"), text("error"))
    }

    fn serves(&self) -> Option<Digest> {
        let active = self.host.app.core.plugins.active("misbehave");
        active.map(|active| active.digest.clone())
    }

    async fn stored(&self) -> usize {
        self.host.store().plugins().await.unwrap().len()
    }

    /// Stores a version as a host without trusted keys does.
    async fn keep_untrusted(&self, wasm: &[u8]) -> Digest {
        let store = self.host.store();
        let digest = Digest::compute(wasm);
        let like = store.plugins().await.unwrap().remove(0);
        let mut description = like.description.clone();
        description.version = "9.9.9".to_owned();
        let record = leadhost_store::PluginRecord {
            digest: digest.clone(),
            description,
            ..like
        };
        store.put_plugin(&record, wasm).await.unwrap();
        digest
    }
}

async fn a_component_of_a_trusted_key_serves_and_no_other_one_does(on: On) {
    let trusting = TrustingHost::new(on).await;
    let theirs = SigningKey::new();
    let plain = version("1.0.0");
    let foreign = theirs.sign(&plain);
    for path in ["", "?activate=true", "/check", "/verify"] {
        let (kind, error) = trusting.refused(path, &plain).await;
        assert_eq!(kind, "unsigned");
        has!(error, "leadhost plugin publish FILE --key");
        let (kind, error) = trusting.refused(path, &foreign).await;
        assert_eq!(kind, "unknown_signer");
        assert!(error.contains(&theirs.public), "{error}");
        has!(error, "plugins.trusted_keys");
    }
    assert_eq!(trusting.stored().await, 0);

    let ours = trusting.ours.sign(&plain);
    let ask = trusting.ask("POST", "?activate=true").body(ours.clone());
    ask.send().await.expect(201);
    assert_eq!(trusting.serves(), Some(Digest::compute(&ours)));

    // No consent takes the place of a signature.
    let newer = theirs.sign(&version("1.1.0"));
    let (kind, _) = trusting.refused("?activate=true&accept=all", &newer).await;
    assert_eq!(kind, "unknown_signer");
    assert_eq!(trusting.serves(), Some(Digest::compute(&ours)));
}

async fn a_file_of_the_inbox_that_no_trusted_key_has_signed_is_refused_with_what_to_do(on: On) {
    let trusting = TrustingHost::new(on).await;
    let theirs = SigningKey::new();
    let pipeline = &trusting.host.app.pipeline;
    for wasm in [version("1.0.0"), theirs.sign(&version("1.0.0"))] {
        deploy::take_in(pipeline, wasm.clone(), "misbehave.wasm").await;
        let refusals = trusting.host.store().refusals().await.unwrap();
        let digest = Digest::compute(&wasm);
        let found = refusals
            .iter()
            .find(|one| one.digest.as_ref() == Some(&digest));
        let reason = &found.expect("it is refused for good").reason;
        has!(reason, "plugins.trusted_keys");
        has!(reason, "After that: `leadhost plugin publish");
    }
    assert_eq!(trusting.stored().await, 0);
    let ours = trusting.ours.sign(&version("1.0.0"));
    deploy::take_in(pipeline, ours.clone(), "misbehave.wasm").await;
    assert_eq!(trusting.serves(), Some(Digest::compute(&ours)));
}

async fn a_stored_version_that_no_trusted_key_has_signed_is_neither_activated_nor_rolled_out(
    on: On,
) {
    let trusting = TrustingHost::new(on).await;
    let ours = trusting.ours.sign(&version("1.0.0"));
    let ask = trusting.ask("POST", "?activate=true").body(ours.clone());
    ask.send().await.expect(201);
    let serves = Some(Digest::compute(&ours));

    let theirs = SigningKey::new();
    // A component of another key is not run even to find that out; this one could not be.
    let broken = theirs.sign(&guests::exporting("example:other/api@1.0.0"));
    for (wasm, kind) in [
        (version("9.9.9"), "unsigned"),
        (theirs.sign(&version("9.9.9")), "unknown_signer"),
        (broken, "unknown_signer"),
    ] {
        let digest = trusting.keep_untrusted(&wasm).await;
        for (path, request) in [
            (
                "/misbehave/activate",
                json!({"digest": digest, "accept": ["all"]}),
            ),
            (
                "/misbehave/rollout",
                json!({"digest": digest, "mode": "canary", "accept": ["all"]}),
            ),
            (
                "/misbehave/rollout",
                json!({"digest": digest, "mode": "shadow", "accept": []}),
            ),
            ("/misbehave/verify", json!({"digest": digest})),
        ] {
            let answer = trusting.ask("POST", path).json(&request).send().await;
            assert_eq!(answer.expect(422).json()["kind"], kind, "{path}");
            assert_eq!(trusting.serves(), serves);
        }
        assert!(trusting.host.store().rollouts().await.unwrap().is_empty());
        let run = trusting.host.app.core.plugins.by_digest(&digest);
        assert!(run.is_none(), "nothing of it is run");

        // The store makes it active, as if that had happened before the keys were configured; then
        // another version follows.
        let (store, now) = (trusting.host.store(), trusting.host.now());
        store.activate("misbehave", &digest, now).await.unwrap();
        let trusted = Digest::compute(&ours);
        store.activate("misbehave", &trusted, now).await.unwrap();
        let answer = trusting.ask("POST", "/misbehave/rollback").send().await;
        assert_eq!(answer.expect(422).json()["kind"], kind);
    }
}

async fn a_broken_signature_is_refused_as_broken(on: On) {
    let trusting = TrustingHost::new(on).await;
    let signed = trusting.ours.sign(&version("1.0.0"));
    let cases = leadhost_golden::append_custom(&signed, "made-up", b"added later").unwrap();
    let (kind, error) = trusting.refused("?activate=true", &cases).await;
    assert_eq!(kind, "signature");
    has!(error, "sign the component again");
    let (pipeline, accept) = (&trusting.host.app.pipeline, AcceptedWords::default());
    let uploaded = deploy::upload(pipeline, b"hello".to_vec(), "upload", true, &accept);
    let error = uploaded.await.map(drop).expect_err("it is no component");
    has!(error.to_string(), "not WebAssembly");
}

async fn a_version_that_served_before_goes_on_serving_with_a_warning(on: On) {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("built.wasm");
    let file = file.to_str().unwrap();
    let data = folder.path().join("data");
    std::fs::create_dir(&data).unwrap();
    let (ours, unsigned) = (SigningKey::new(), version("1.0.0"));
    std::fs::write(file, &unsigned).unwrap();

    let service = Service::start_on(&on, &data, &[]);
    service.run(&format!("plugin publish {file}"));
    lacks!(service.run("status"), "trusted_keys");
    assert!(service.stop());

    let trusted = format!("plugins.trusted_keys={}", ours.public);
    let service = Service::start_on(&on, &data, &["--set", &trusted]);
    let active = &service.json("status")["plugins"][0];
    let digest = Digest::compute(&unsigned);
    fields!(active, {"digest": digest, "version": "1.0.0", "trusted": false});
    let said = service.run("status");
    has!(said, "no key of plugins.trusted_keys has signed misbehave");
    let log = service.complaints();
    has!(log, "not signed by a trusted key, still serving");

    let signed = ours.sign(&version("1.1.0"));
    std::fs::write(file, &signed).unwrap();
    service.run(&format!("plugin publish {file} --accept new-publisher"));
    fields!(service.json("status"), {"plugins.0.trusted": true});
    let refused = service.fail("plugin rollback misbehave");
    has!(refused, "is not signed");
}
