//! Rate limits: keys that fail, and clients that send too often.

use leadhost_domain::key::{KeyKind, PlainKey};
use leadhost_tests::{Host, Json, On, Options, fields, has};

leadhost_tests::on_every_store! {
    an_address_whose_keys_fail_is_slowed_and_known_keys_still_work,
    a_client_behind_a_trusted_proxy_is_slowed_alone,
    a_partner_past_its_rate_gets_a_retry_after,
    access_tokens_count_against_the_rate_of_their_partner,
    a_connection_past_its_rate_gets_a_retry_after_and_others_do_not,
    an_admin_key_past_its_rate_gets_a_retry_after_and_others_do_not,
    a_new_admin_key_is_let_in_whatever_its_address_has_tried,
}

async fn an_address_whose_keys_fail_is_slowed_and_known_keys_still_work(on: On) {
    let host = Host::start(Options::on(on).with("server.failed_keys", 3)).await;
    let seeded = host.workspace("demo").await;
    let good = || host.get("/v1/whoami").bearer(&seeded.workspace_key);
    good().send().await.expect(200);
    let wrong = || {
        let key = PlainKey::generate(KeyKind::Workspace);
        host.get("/v1/whoami").bearer(&key)
    };
    for _ in 0..3 {
        wrong().send().await.expect(401);
    }
    let refused = wrong().send().await.expect(429);
    assert_eq!(refused.header("retry-after"), "60");
    assert!(refused.json()["error"].is_string());
    let partner = PlainKey::generate(KeyKind::Partner);
    let refused = host.get("/deal?phone=1").partner(&partner).send().await;
    assert_eq!(refused.expect(429).json()["statusCode"], 429);
    good().send().await.expect(200);
    // Even if the key has to be read from the store again.
    host.advance(2).await;
    good().send().await.expect(200);
    let metrics = host.admin("GET", "/metrics").send().await.expect(200);
    let line = "leadhost_keys_failed_total 5";
    has!(metrics, line);
    host.advance(60).await;
    wrong().send().await.expect(401);
}

async fn a_client_behind_a_trusted_proxy_is_slowed_alone(on: On) {
    let options = Options::on(on).with("server.failed_keys", 1);
    let options = options.with("server.trusted_proxies", "127.0.0.0/8");
    let host = Host::start(options).await;
    let wrong = |client: &str| {
        let key = PlainKey::generate(KeyKind::Workspace);
        let ask = host.get("/v1/whoami").bearer(&key);
        ask.header("x-forwarded-for", client)
    };
    wrong("203.0.113.1").send().await.expect(401);
    wrong("203.0.113.1").send().await.expect(429);
    // The entries that the client itself wrote come before the one that the
    // proxy added.
    wrong("203.0.113.9, 203.0.113.1").send().await.expect(429);
    wrong("203.0.113.2").send().await.expect(401);
}

async fn a_partner_past_its_rate_gets_a_retry_after(on: On) {
    let host = Host::start(Options::on(on).with("server.partner_rate", 2)).await;
    let seeded = host.workspace("demo").await;
    let ask = || {
        host.get("/deal?email=a@example.com")
            .partner(&seeded.partner_key)
    };
    for _ in 0..2 {
        ask().send().await.expect(200);
    }
    let refused = ask().send().await.expect(429);
    assert_eq!(refused.header("retry-after"), "30");
    assert_eq!(refused.json()["statusCode"], 429);
    let other = host.workspace("other").await;
    let ask_other = host.get("/deal?email=a@example.com");
    ask_other
        .partner(&other.partner_key)
        .send()
        .await
        .expect(200);
    host.advance(30).await;
    ask().send().await.expect(200);
}

async fn access_tokens_count_against_the_rate_of_their_partner(on: On) {
    let host = Host::start(Options::on(on).with("server.partner_rate", 2)).await;
    let seeded = host.workspace("demo").await;
    let ask = || host.get("/tickets").bearer(&seeded.access_token);
    for _ in 0..2 {
        ask().send().await.expect(200);
    }
    let refused = ask().send().await.expect(429);
    assert_eq!(refused.header("retry-after"), "30");
    host.advance(30).await;
    ask().send().await.expect(200);
}

async fn a_connection_past_its_rate_gets_a_retry_after_and_others_do_not(on: On) {
    let host = Host::start(Options::on(on).with("intake.connection_rate", 1)).await;
    let (bad, good) = (host.workspace("bad").await, host.workspace("good").await);
    let post = |connection| host.post(&format!("/ingest-lead/{connection}")).body("{}");
    post(&bad.connection).send().await.expect(200);
    let refused = post(&bad.connection).send().await.expect(429);
    assert_eq!(refused.header("retry-after"), "1");
    let metrics = host.admin("GET", "/metrics").send().await.expect(200);
    has!(
        metrics,
        "leadhost_shed_total{reason=\"rate of one connection\"} 1"
    );
    let key = host.admin_key().await;
    let status = host.admin("GET", "/admin/v1/status").bearer(&key);
    let status = status.send().await.expect(200).json();
    fields!(status["refused"][0], {
        "reason": "rate of one connection", "requests": 1,
    });
    fields!(status["refused"][0]["deliveries"][0], {
        "connectionId": bad.connection, "deliveries": 1,
    });
    post(&good.connection).send().await.expect(200);
    host.advance(1).await;
    post(&bad.connection).send().await.expect(200);
}

async fn an_admin_key_past_its_rate_gets_a_retry_after_and_others_do_not(on: On) {
    let host = Host::start(Options::on(on).with("server.admin_rate", 2)).await;
    let (key, other) = (host.admin_key().await, host.admin_key().await);
    let ask = |key: &PlainKey| host.admin("GET", "/admin/v1/status").bearer(key);
    for _ in 0..2 {
        ask(&key).send().await.expect(200);
    }
    let refused = ask(&key).send().await.expect(429);
    assert_eq!(refused.header("retry-after"), "30");
    assert_eq!(refused.json()["code"], "rate_limited");
    ask(&other).send().await.expect(200);
    let metrics = host.admin("GET", "/metrics").send().await.expect(200);
    let line = "leadhost_shed_total{reason=\"rate of one admin key\"} 1";
    has!(metrics, line);
    host.advance(30).await;
    ask(&key).send().await.expect(200);
}

async fn a_new_admin_key_is_let_in_whatever_its_address_has_tried(on: On) {
    let host = Host::new(on).await;
    let operator = host.admin_key().await;
    let ask = |key: &PlainKey| host.admin("GET", "/admin/v1/keys").bearer(key);
    ask(&operator).send().await.expect(200);
    let mut refused = Vec::new();
    for _ in 0..301 {
        let wrong = PlainKey::generate(KeyKind::Admin);
        refused.push(ask(&wrong).send().await.status);
    }
    assert_eq!(refused.pop(), Some(429));
    assert_eq!(refused, [401; 300]);
    // The host has not seen these keys since its start. The first one is made by another host: this one knows its
    // admin keys up to a second later.
    let elsewhere = host.admin_key().await;
    host.advance(1).await;
    ask(&elsewhere).send().await.expect(200);
    let body = serde_json::json!({"kind": "admin", "role": "viewer"});
    let post = host.admin("POST", "/admin/v1/keys").bearer(&operator);
    let made = post.json(&body).send().await.expect(201).json();
    let text = made["key"].text();
    let viewer = PlainKey::parse_as(KeyKind::Admin, text).expect("an admin key");
    ask(&viewer).send().await.expect(200);
    // A key that was revoked is refused as a wrong one is.
    let id = made["id"].text();
    let revoke = host.admin("DELETE", &format!("/admin/v1/keys/{id}"));
    revoke.bearer(&operator).send().await.expect(200);
    ask(&viewer).send().await.expect(429);
    let wrong = PlainKey::generate(KeyKind::Admin);
    ask(&wrong).send().await.expect(429);
}
