//! A host that dies in the middle of a send: the message is stored with an
//! unknown outcome and is never sent again.

use std::path::Path;

use leadhost_tests::provider::{Callback, Misbehaviour, Taken};
use leadhost_tests::whatsapp::WhatsApp;
use leadhost_tests::{On, Service, guests, until};
use serde_json::{Value, json};

use super::desk::{WA_ID, body, instance};
use crate::crash::{applied_on, start_on};

leadhost_tests::on_every_store! {
    #[tokio::test(flavor = "multi_thread")]
    a_send_that_its_host_died_in_is_unknown_and_not_repeated,
}

/// A claim of a dead host expires after this time, which is short here.
const FLAGS: [&str; 2] = ["--set", "worker.lease_seconds=2"];

const WORKSPACE: &str = r#"
[workspace]
slug = "demo"
name = "Demo"

[[partners]]
name = "acme"
"#;

/// Prepares one adapter and one instance on the double. Returns the keys.
async fn prepare(on: &On, folder: &Path, whatsapp: &WhatsApp) -> Value {
    let adapter = guests::rust_component("adapter-whatsapp-cloud");
    let file = [WORKSPACE, &instance("front", whatsapp)].concat();
    applied_on(on, folder, &adapter, &file).await
}

/// Waits until an exported message is in this state. The data API has a rate
/// limit, so the wait is slow on purpose.
async fn becomes(service: &Service, keys: &Value, state: &str) {
    let key = keys["workspaceKey"].as_str().expect("a key");
    until(&format!("a message becomes {state}"), async || {
        let ask = service.ask("data", "GET", "/v1/export/messages");
        let ask = ask.header("authorization", &format!("Bearer {key}"));
        let answer = ask.send().await;
        let page = (answer.status == 200).then(|| answer.json())?;
        let rows = page["data"].as_array().expect("rows");
        rows.iter()
            .any(|row| row["metadata"]["status"] == state)
            .then_some(())
    })
    .await;
}

async fn a_send_that_its_host_died_in_is_unknown_and_not_repeated(on: On) {
    let folder = tempfile::tempdir().expect("a folder");
    let whatsapp = WhatsApp::start();
    let keys = prepare(&on, folder.path(), &whatsapp).await;
    let mut service = start_on(&on, folder.path(), &FLAGS).await;

    whatsapp.next_sends(1, Misbehaviour::Hang(Taken::Yes));
    let request = json!({
        "name": "Ilda Prates",
        "phoneNumber": "(11) 98765-0101",
        "instanceId": keys["instances"]["front"],
        "source": "site",
        "template": {
            "name": "boas_vindas",
            "language": {"code": "pt_BR"},
            "components": [body(&["Ilda", "Casa Verde"])],
        },
    });
    let key = keys["partnerKey"].as_str().expect("a key");
    let ask = service.ask("gateway", "POST", "/send-notification");
    let ask = ask.json(&request).header("x-service-api-key", key);
    let asking = tokio::spawn(ask.clone().try_send());
    whatsapp.hangs(1).await;
    service.kill();
    assert!(asking.await.expect("no panic").is_none());
    whatsapp.release();

    let service = start_on(&on, folder.path(), &FLAGS).await;
    becomes(&service, &keys, "unknown").await;
    // Other messages go out, so this one had time to go out too.
    let mut other = request.clone();
    other["phoneNumber"] = json!("(21) 99876-0202");
    let ask = service.ask("gateway", "POST", "/send-notification");
    let ask = ask.json(&other).header("x-service-api-key", key);
    ask.send().await.expect(200);
    assert_eq!(whatsapp.accepted_for(WA_ID), 1);

    let path = keys["webhooks"]["front"].as_str().expect("an address");
    let url = format!("http://{}{path}", service.address("gateway"));
    whatsapp.call_back(Callback::to(&url));
    whatsapp.status(&whatsapp.accepted()[0].id, "delivered");
    super::desk::taken(&whatsapp.flush().await);
    becomes(&service, &keys, "delivered").await;
    assert_eq!(whatsapp.accepted_for(WA_ID), 1);
    assert!(service.stop());
}
