//! Which keys open the data API, and their rate limits.

use leadhost_domain::key::{KeyKind, PlainKey};
use leadhost_tests::{Host, On, Seeded, fields};

use super::export;

leadhost_tests::on_every_store! {
    whoami_names_the_workspace_of_the_key,
    every_key_but_a_live_workspace_key_gets_the_same_refusal,
    a_revoked_key_opens_nothing_after_a_second,
    a_key_that_was_unknown_works_a_second_after_it_was_made,
    the_last_use_of_a_key_is_recorded_by_the_minute,
    a_workspace_past_its_rate_gets_a_retry_after,
}

async fn whoami_names_the_workspace_of_the_key(on: On) {
    let host = Host::new(on).await;
    let seeded = host.workspace("demo").await;
    let ask = host.get("/v1/whoami").bearer(&seeded.workspace_key);
    let body = ask.send().await.expect(200).json();
    fields!(body, {"workspace": seeded.workspace.to_string(), "workspace_name": "Workspace demo"});
}

async fn every_key_but_a_live_workspace_key_gets_the_same_refusal(on: On) {
    let host = Host::new(on).await;
    let seeded = host.workspace("demo").await;
    let admin = host.admin_key().await;
    for target in ["/v1/whoami", "/v1/export/deals", "/v1/export/nothing"] {
        let ask = || host.get(target);
        let nothing = ask().send().await.expect(401);
        assert!(nothing.json()["error"].is_string());
        for wrong in [
            ask().bearer(&seeded.partner_key),
            ask().bearer(&seeded.access_token),
            ask().bearer(&admin),
            ask().bearer(&PlainKey::generate(KeyKind::Workspace)),
            ask().partner(&seeded.workspace_key),
            ask().header("authorization", "Bearer mk_typo"),
            ask().header("authorization", "Bearer"),
            ask().header("authorization", seeded.workspace_key.reveal()),
            ask().header("authorization", "Basic bWs6"),
        ] {
            let answer = wrong.send().await.expect(401);
            assert_eq!(answer.header("www-authenticate"), "Bearer");
            assert_eq!(answer.body, nothing.body);
        }
    }
}

async fn a_revoked_key_opens_nothing_after_a_second(on: On) {
    let host = Host::new(on).await;
    let seeded = host.workspace("demo").await;
    let (key, id) = host
        .key(KeyKind::Workspace, Some(seeded.workspace), None)
        .await;
    let whoami = || host.get("/v1/whoami").bearer(&key).send();
    whoami().await.expect(200);
    let now = host.app.core.clock.now();
    assert!(host.store().revoke_key(id, now).await.expect("a store"));
    host.advance(1).await;
    whoami().await.expect(401);
    // The workspace's other key still works.
    let ask = host.get("/v1/whoami").bearer(&seeded.workspace_key);
    ask.send().await.expect(200);
}

async fn a_key_that_was_unknown_works_a_second_after_it_was_made(on: On) {
    let host = Host::new(on).await;
    let seeded = host.workspace("demo").await;
    let key = PlainKey::generate(KeyKind::Workspace);
    let whoami = || host.get("/v1/whoami").bearer(&key).send();
    whoami().await.expect(401);
    let record = host.store().keys(Some(seeded.workspace)).await;
    let mut record = record.expect("keys");
    let mut record = record
        .drain(..)
        .find(|record| record.kind == KeyKind::Workspace)
        .expect("the workspace's key");
    record.id = leadhost_domain::id::KeyId::new(host.app.core.clock.now());
    record.hint = key.hint();
    host.store()
        .create_key(&record, &key.digest())
        .await
        .expect("a key");
    host.advance(1).await;
    whoami().await.expect(200);
}

async fn the_last_use_of_a_key_is_recorded_by_the_minute(on: On) {
    let host = Host::new(on).await;
    let seeded = host.workspace("demo").await;
    host.advance(61).await;
    let ask = host.get("/v1/whoami").bearer(&seeded.workspace_key);
    ask.send().await.expect(200);
    host.app
        .pipeline
        .keys
        .write_uses(host.store())
        .await
        .expect("a store");
    let keys = host
        .store()
        .keys(Some(seeded.workspace))
        .await
        .expect("keys");
    let used = |kind| {
        let key = keys.iter().find(|key| key.kind == kind).expect("seeded");
        key.last_used_at.map(|at| at.text())
    };
    let expect = Some("2030-01-15T12:01:00.000000Z");
    assert_eq!(used(KeyKind::Workspace).as_deref(), expect);
    assert_eq!(used(KeyKind::Partner), None);
}

async fn a_workspace_past_its_rate_gets_a_retry_after(on: On) {
    let host = Host::new(on).await;
    let seeded = host.workspace_with("demo", |plan| plan.rate_limit = 3);
    let seeded = seeded.await;
    let other = host.workspace("other").await;
    let whoami = |seeded: &Seeded| host.get("/v1/whoami").bearer(&seeded.workspace_key).send();
    for left in ["2", "1", "0"] {
        let answer = whoami(&seeded).await.expect(200);
        assert_eq!(answer.header("ratelimit-limit"), "3");
        assert_eq!(answer.header("ratelimit-remaining"), left);
        assert_eq!(answer.header("ratelimit-policy"), "\"workspace\";q=3;w=60");
    }
    for _ in 0..5 {
        let answer = whoami(&seeded).await.expect(429);
        assert!(answer.json()["error"].is_string());
        assert_eq!(answer.header("retry-after"), "20");
        assert_eq!(answer.header("ratelimit"), "\"workspace\";r=0;t=20");
        assert_eq!(answer.header("ratelimit-reset"), "20");
    }
    whoami(&other).await.expect(200);
    // Refused requests cost nothing: after the announced time one request is
    // served.
    host.advance(20).await;
    whoami(&seeded).await.expect(200);
    whoami(&seeded).await.expect(429);
    // Errors after the key check count too, and have the headers.
    host.advance(20).await;
    let answer = export(&host, &seeded, "nothing").send().await.expect(404);
    assert_eq!(answer.header("ratelimit-remaining"), "0");
}
