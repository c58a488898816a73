//! A store without room: reads work, new deliveries are asked to retry, and no
//! acknowledged lead is lost.

use std::sync::Arc;

use leadhost::app::App;
use leadhost_config::shutdown::Shutdown;
use leadhost_http::listen;
use leadhost_pipeline::core::Core;
use leadhost_store::open_sqlite;
use leadhost_tests::{Host, On};

use super::{lead, with_form};

#[tokio::test]
async fn reads_continue_while_writes_are_refused_until_there_is_room() {
    let first = Host::working(On::Sqlite).await;
    let store_of = async |host: &Host| {
        let file = host.folder.path().join("bounded.db");
        open_sqlite(&file, host.clock.clone())
            .await
            .expect("a store")
    };
    let store = store_of(&first).await;
    let core = Core::new(
        first.app.core.config.clone(),
        first.clock.clone(),
        Arc::clone(&store) as _,
        first.app.core.sealer.clone(),
        Shutdown::new(),
    );
    let app = App::new(core.expect("a plugin engine"));
    let addresses = listen::start(&app.http).await.expect("free ports");
    let host = Host {
        app,
        addresses,
        ..first
    };
    let declared = with_form(&host).await;
    let ask = |id: &str| {
        let mut body = lead(id, "Lia Prado", "11 98888-0001");
        body["texto"] = "x".repeat(60_000).into();
        host.post(&declared.address("form")).json(&body)
    };
    ask("f-0").send().await.expect(200);
    store.limit_pages(1).await;
    let mut stored = 1;
    let refused = loop {
        let answer = ask(&format!("f-{stored}")).send().await;
        if answer.status != 200 {
            break answer;
        }
        stored += 1;
        assert!(stored < 1_000, "the file has a bound");
    };
    assert!([503, 507].contains(&refused.status), "{refused:?}");
    assert!(!refused.header("retry-after").is_empty());
    assert_eq!(refused.json()["statusCode"], refused.status);
    for _ in 0..3 {
        let status = ask("f-again").send().await.status;
        assert!([503, 507].contains(&status), "{status}");
    }
    let rows = host.rows(&declared, "deals").await;
    assert_eq!(rows.len(), stored, "the acknowledged lead is there");
    assert_eq!(host.deals(&declared, "externalId=f-0").await.len(), 1);

    store.limit_pages(0).await;
    let answer = ask("f-again").send().await.expect(200).json();
    assert_eq!(answer["status"], "converted");
}
