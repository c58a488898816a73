//! Reasons to refuse an adapter's activation, and the list of plugins.

use leadhost_domain::accept::AcceptWord;
use leadhost_domain::delivery::DeliveryStatus;
use leadhost_domain::plugin::PluginKind;
use leadhost_pipeline::deploy::{self, DeployError};
use leadhost_tests::guests::{self, AdapterVariant};
use leadhost_tests::{Declared, Host, Json, On, has};

use super::owners::{self, concerns};

leadhost_tests::on_every_store! {
    a_name_keeps_its_kind_while_something_uses_it,
    an_adapter_that_asks_for_more_or_checks_less_needs_confirmation,
    the_list_of_plugins_shows_their_kinds,
    webhooks_that_an_adapter_failed_on_are_retried_by_the_next,
    a_swap_of_an_adapter_under_webhooks_loses_none,
    an_adapter_that_refuses_an_instances_configuration_does_not_serve,
}

fn version(version: &str) -> AdapterVariant<'_> {
    AdapterVariant::version(version)
}

async fn activate(host: &Host, wasm: Vec<u8>, accept: &[AcceptWord]) -> Result<(), DeployError> {
    owners::activate(host, wasm, "upload", accept).await
}

async fn activated(host: &Host, wasm: Vec<u8>, accept: &[AcceptWord]) {
    activate(host, wasm, accept).await.unwrap();
}

async fn a_name_keeps_its_kind_while_something_uses_it(on: On) {
    let host = Host::new(on).await;
    let adapter = |number| version(number).name("misbehave").component();
    let kind = || host.app.core.plugins.active("misbehave").unwrap().kind;
    activated(&host, adapter("0.1.0"), &[]).await;
    let changed = concerns(activate(&host, guests::misbehave(), &[]).await);
    let accept = changed.iter().filter_map(|one| one.accept);
    assert!(accept.into_iter().any(|word| word == AcceptWord::NewKind));
    activated(&host, guests::misbehave(), &[AcceptWord::All]).await;
    for before in [PluginKind::Adapter, PluginKind::Converter] {
        host.roll_back("misbehave").await.unwrap();
        assert_eq!(kind(), before);
    }
    let used = "\n[[connections]]\nname = \"odd\"\npartner = \"acme\"\nplugin = \"misbehave\"\n";
    host.declare(used).await;
    let report = deploy::check(&host.app.pipeline, adapter("2.0.0"), "upload").await;
    let report = report.unwrap();
    assert_eq!(report.kind, PluginKind::Adapter);
    assert!(report.concerns.iter().any(|one| one.accept.is_none()));
    let uploaded = activate(&host, adapter("2.0.0"), &[AcceptWord::All]).await;
    let rolled_back = host.roll_back("misbehave").await.map(drop);
    let [uploaded, rolled_back] = [uploaded, rolled_back].map(concerns);
    assert_eq!(uploaded.len(), 1, "{uploaded:?}");
    for concern in [&uploaded[0], &rolled_back[0]] {
        let says = "a converter, and this version is an adapter";
        has!(concern.what, says);
    }
    assert_eq!(kind(), PluginKind::Converter);
}

async fn an_adapter_that_asks_for_more_or_checks_less_needs_confirmation(on: On) {
    let host = Host::new(on).await;
    activated(&host, version("1.0.0").component(), &[]).await;
    let more = version("1.1.0").check("");
    let more = more.host("api.example.com").secret("token");
    let stands = concerns(activate(&host, more.component(), &[]).await);
    let found: Vec<_> = stands.iter().map(|one| one.accept).collect();
    let words = [
        AcceptWord::NewHosts,
        AcceptWord::NewSecrets,
        AcceptWord::WeakerChecks,
    ];
    assert_eq!(found, words.map(Some));
    let some = concerns(activate(&host, more.component(), &words[..1]).await);
    assert_eq!(some.len(), 2);
    activated(&host, more.component(), &words).await;
    let older = concerns(activate(&host, version("1.0.1").component(), &[]).await);
    assert_eq!(older[0].accept, Some(AcceptWord::Older));
}

async fn the_list_of_plugins_shows_their_kinds(on: On) {
    let host = Host::new(on).await;
    activated(&host, guests::misbehave(), &[]).await;
    activated(&host, version("1.0.0").component(), &[]).await;
    let key = host.admin_key().await;
    let asked = host.admin("GET", "/admin/v1/plugins").bearer(&key);
    let answer = asked.send().await.expect(200);
    let list = answer.json();
    let plugins = list["plugins"].list().iter();
    let kinds = plugins.map(|one| (one["name"].text(), one["versions"][0]["kind"].text()));
    let expect = [("misbehave", "converter"), ("misbehave-adapter", "adapter")];
    assert_eq!(kinds.collect::<Vec<_>>(), expect);
}

/// An instance whose adapter does this with every webhook.
async fn instance(host: &Host, word: &str) -> Declared {
    let file = format!(
        r#"
[[instances]]
name = "odd"
number = "+5511900000009"
adapter = "misbehave-adapter"
[instances.config]
in = "read-webhook"
do = "{word}"
"#
    );
    host.declare(&file).await
}

async fn webhooks_that_an_adapter_failed_on_are_retried_by_the_next(on: On) {
    let host = Host::working(on).await;
    host.converter(version("1.0.0").component()).await;
    let declared = instance(&host, "trap").await;
    for number in 0..10 {
        let body = format!("their-id-{number}");
        let asked = host.post(&declared.webhook("odd")).body(body);
        asked.send().await.expect(200);
    }
    let ids = host.with_status(DeliveryStatus::Failed).await;
    assert_eq!(ids.len(), 10);
    let mended = version("1.0.1").mended("trap");
    let digest = host.converter(mended.component()).await;
    // Without moving the clock: they do not wait for the next attempt.
    for id in ids {
        let done = host.becomes(id, DeliveryStatus::Converted).await;
        assert_eq!(done.summary.ran.expect("it ran").digest, digest);
    }
}

async fn a_swap_of_an_adapter_under_webhooks_loses_none(on: On) {
    let host = Host::working(on).await;
    host.converter(version("1.0.0").component()).await;
    let declared = instance(&host, "").await;
    let send = async |number: usize| {
        let body = format!("their-id-{number}");
        let asked = host.post(&declared.webhook("odd")).body(body);
        asked.send().await.expect(200);
    };
    let traffic = async {
        for number in 0..40 {
            send(number).await;
        }
    };
    let (digest, ()) = tokio::join!(host.converter(version("1.1.0").component()), traffic);
    send(40).await;
    let done = host.with_status(DeliveryStatus::Converted).await;
    assert_eq!(done.len(), 41);
    let mut by_new = 0;
    for id in done {
        let ran = host.stored(id).await.summary.ran.expect("it ran");
        by_new += usize::from(ran.digest == digest);
    }
    assert!(by_new > 0, "the last came after the swap");
}

async fn an_adapter_that_refuses_an_instances_configuration_does_not_serve(on: On) {
    let host = Host::working(on).await;
    host.converter(guests::misbehave_adapter()).await;
    instance(&host, "").await;
    let stricter = AdapterVariant::version("1.1.0");
    // Another type in the same number of bytes: the configuration's word is not
    // a number.
    let mut wasm = stricter.component();
    let (word, number) = (
        br#""do": {"type": "string"}"#,
        br#""do": {"type": "number"}"#,
    );
    let at = wasm.windows(word.len()).position(|part| part == word);
    let at = at.expect("the schema is in the component");
    wasm[at..at + number.len()].copy_from_slice(number);
    let stands = concerns(activate(&host, wasm, &[AcceptWord::All]).await);
    assert_eq!(stands.len(), 1, "{stands:?}");
    has!(stands[0].what, "the configuration of instance `odd`");
}
