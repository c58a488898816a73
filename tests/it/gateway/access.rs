//! Whose key opens which request, and whose deals it reaches.

use leadhost_domain::key::{KeyKind, PlainKey};
use leadhost_tests::{Ask, Json, On};
use serde_json::{Value, json};

use super::{NOBODY, Seat, note, refusal};

leadhost_tests::on_every_store! {
    each_request_takes_a_key_of_its_own_kind,
    a_deal_belongs_to_the_partner_that_made_it,
}

async fn each_request_takes_a_key_of_its_own_kind(on: On) {
    let seat = Seat::new(on).await;
    let deal = seat.ana().await;
    let admin = seat.host.admin_key().await;
    let log = format!("/api/v1/deals/{deal}/log");
    let made = json!({"name": "Bia", "email": "bia@example.com"});
    for (method, path, body, kind, status) in [
        (
            "GET",
            "/deal?email=a@b.co",
            Value::Null,
            KeyKind::Partner,
            200,
        ),
        (
            "GET",
            &format!("/deal/{deal}"),
            Value::Null,
            KeyKind::Partner,
            200,
        ),
        ("POST", "/deal", made, KeyKind::Partner, 201),
        (
            "PATCH",
            &format!("/deal/{deal}"),
            json!({"status": "won"}),
            KeyKind::Partner,
            202,
        ),
        ("GET", &log, Value::Null, KeyKind::AccessToken, 200),
        ("POST", &log, note(), KeyKind::AccessToken, 201),
    ] {
        let bare = || seat.host.ask(method, path);
        let ask = || match &body {
            Value::Null => bare(),
            body => bare().json(body),
        };
        let with = |ask: Ask, key: &PlainKey| match kind {
            KeyKind::Partner => ask.partner(key),
            _ => ask.bearer(key),
        };
        let nothing = ask().send().await;
        let message = refusal(&nothing, 401);
        assert!(!nothing.header("www-authenticate").is_empty());
        let seeded = &seat.seeded;
        let (own, other) = match kind {
            KeyKind::Partner => (&seeded.partner_key, &seeded.access_token),
            _ => (&seeded.access_token, &seeded.partner_key),
        };
        for wrong in [
            with(ask(), other),
            with(ask(), &seeded.workspace_key),
            with(ask(), &admin),
            with(ask(), &PlainKey::generate(kind)),
            ask().partner(other).bearer(other),
            ask().header("authorization", "Bearer at_typo"),
            ask().header("x-service-api-key", ""),
            // Nothing else is read before the key.
            bare().header("content-type", "text/plain").body("x"),
            bare().header("idempotency-key", "").body("{"),
        ] {
            let said = refusal(&wrong.send().await, 401);
            assert_eq!(said, message, "{method} {path}");
        }
        assert!(seat.past(deal).await.logs.is_empty());
        with(ask(), own).send().await.expect(status);
    }
    assert_eq!(seat.rows("deals").await.len(), 2);
}

async fn a_deal_belongs_to_the_partner_that_made_it(on: On) {
    let seat = Seat::new(on).await;
    let deal = seat.ana().await.to_string();
    seat.log(&deal, note()).await.expect(201);
    let stranger = seat.host.workspace("stranger").await;
    let others = [
        (
            seat.other(KeyKind::Partner).await,
            seat.other(KeyKind::AccessToken).await,
        ),
        (stranger.partner_key.clone(), stranger.access_token.clone()),
    ];
    let made = json!({"name": "Ana", "email": "ana@example.com"});
    for (partner, desk) in &others {
        let unknown = async |deal: &str| {
            let path = format!("/deal/{deal}");
            let log = format!("/api/v1/deals/{deal}/log");
            let asks = [
                seat.host.get(&path).partner(partner),
                seat.host
                    .ask("PATCH", &path)
                    .partner(partner)
                    .json(&json!({"status": "won"})),
                seat.host.get(&log).bearer(desk),
                seat.host.post(&log).bearer(desk).json(&note()),
            ];
            let mut messages = Vec::new();
            for ask in asks {
                messages.push(refusal(&ask.send().await, 404));
            }
            messages
        };
        assert_eq!(unknown(&deal).await, unknown(NOBODY).await);
        for query in [
            "email=ana@example.com",
            "externalId=lead-Ana",
            &format!("dealId={deal}"),
        ] {
            let ask = seat.host.get(&format!("/deal?{query}")).partner(partner);
            assert_eq!(ask.send().await.expect(200).json(), json!([]), "{query}");
        }
        // A deal that the other partner makes of the same person belongs to that partner.
        let ask = seat.host.post("/deal").partner(partner).json(&made);
        assert_ne!(ask.send().await.expect(201).json()["dealId"].text(), deal);
    }
    assert_eq!(seat.find("email=ana@example.com").await.len(), 1);
    let shown = seat.host.get(&format!("/deal/{deal}"));
    let shown = shown.partner(&seat.seeded.partner_key);
    assert_eq!(
        shown.send().await.expect(200).json(),
        seat.shown(&deal).await
    );
    // Both deals of the workspace are of one person; the stranger's is of another.
    assert_eq!(
        (
            seat.rows("deals").await.len(),
            seat.rows("contacts").await.len()
        ),
        (2, 1)
    );
}
