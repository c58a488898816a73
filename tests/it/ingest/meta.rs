//! Pointers: a signed webhook names leads, the host fetches them from a double
//! of the Graph API, and retries or reports failures.

use leadhost_domain::delivery::{DeliveryStatus, ItemStatus};
use leadhost_domain::id::DeliveryId;
use leadhost_domain::time::Micros;
use leadhost_pipeline::replay;
use leadhost_tests::graph::{GraphDouble, GraphOptions, proof};

use leadhost_tests::{
    Answer, Declared, Host, Json, On, Options, eventually, fields, has, lacks, until,
};
use serde_json::{Value, json};

use super::replay_options;

leadhost_tests::on_every_store! {
    a_signed_webhook_with_two_changes_becomes_two_deals,
    a_webhook_with_a_wrong_signature_is_quarantined,
    a_change_of_another_kind_is_ignored,
    a_lead_that_is_not_available_yet_is_fetched_until_it_is,
    an_expired_token_pauses_the_connection_until_it_is_resumed,
    a_corrected_token_fetches_the_leads_that_the_wrong_one_could_not,
    a_rate_limit_of_the_provider_is_respected_for_the_time_that_it_names,
    a_remote_server_that_hangs_up_or_answers_with_a_page_is_tried_again,
    a_name_that_looks_like_a_slot_is_only_a_name,
    one_address_serves_two_pages_and_an_unknown_one_is_unrouted,
    a_lead_at_an_unsigned_address_is_not_routed_to_a_page_with_a_signature,
    an_unrouted_delivery_is_replayed_once_a_connection_has_its_page,
    a_page_without_a_token_pauses_the_connection_with_the_secrets_name,
    a_lead_that_the_remote_server_does_not_have_is_given_up_and_may_be_sent_again,
}

const APP_SECRET: &str = "double-app-secret";
const TOKEN: &str = "double-page-token";
pub(super) const PAGE: &str = "700000000000001";
const OTHER_PAGE: &str = "700000000000002";

pub(super) fn double() -> GraphDouble {
    GraphDouble::start(GraphOptions::default()).expect("a free port")
}

pub(super) fn connection(name: &str, double: &GraphDouble, page: &str) -> String {
    let address = double.address();
    format!(
        r#"
[[connections]]
name = "{name}"
partner = "acme"
plugin = "meta-lead-ads"
config = {{ graphUrl = "http://{address}" }}
allow = [{{ url = "http://{address}", private = true }}]
routes = {{ page-id = "{page}" }}
secrets = {{ app-secret = "{APP_SECRET}", "page-token/{page}" = "{TOKEN}" }}
"#
    )
}

pub(super) struct Meta {
    pub(super) host: Host,
    pub(super) declared: Declared,
    pub(super) double: GraphDouble,
}

impl Meta {
    pub(super) async fn new(on: On) -> Self {
        Self::with(Options::patient(on)).await
    }

    pub(super) async fn with(options: Options) -> Self {
        let host = Host::working_with(options).await;
        let double = double();
        host.activate("converter-meta-lead-ads").await;
        let declared = host.declare(&connection("meta", &double, PAGE)).await;
        Self {
            host,
            declared,
            double,
        }
    }

    pub(super) async fn announce(&self, leads: &[&str]) -> DeliveryId {
        let answer = self.send(&webhook(PAGE, leads)).await.expect(200);
        assert_eq!(answer.json()["status"], "queued");
        self.host.delivery(&answer).await.summary.id
    }

    pub(super) async fn send(&self, body: &Value) -> Answer {
        send(&self.host, &self.declared.address("meta"), body).await
    }

    pub(super) async fn asked(&self, times: usize) {
        eventually("the double is asked", async || {
            self.double.requests().len() >= times
        })
        .await;
    }

    /// Waits until an attempt has failed, and returns the reason.
    pub(super) async fn noted(&self, id: DeliveryId) -> String {
        until("an attempt fails", async || {
            self.host.stored(id).await.items[0].message.clone()
        })
        .await
    }

    pub(super) async fn paused(&self) -> String {
        until("the connection is paused", async || {
            let connection = self.host.connection(&self.declared.id("meta")).await;
            connection.paused.map(|pause| pause.reason)
        })
        .await
    }
}

pub(super) async fn send(host: &Host, address: &str, body: &Value) -> Answer {
    let bytes = body.to_string();
    let ask = host.post(address);
    let given = "x-hub-signature-256";
    let ask = ask.signed(given, "sha256=", APP_SECRET, bytes.as_bytes());
    ask.send().await
}

pub(super) fn webhook(page: &str, leads: &[&str]) -> Value {
    let changes: Vec<Value> = leads
        .iter()
        .map(|lead| {
            json!({"field": "leadgen", "value": {
                "leadgen_id": lead, "page_id": page, "form_id": "920000000000001",
                "created_time": 1_893_456_000,
            }})
        })
        .collect();
    json!({"object": "page", "entry": [{"id": page, "time": 1_893_456_000, "changes": changes}]})
}

async fn a_signed_webhook_with_two_changes_becomes_two_deals(on: On) {
    let meta = Meta::new(on).await;
    let body = webhook(PAGE, &["440000000000011", "440000000000012"]);
    let answer = meta.send(&body).await.expect(200);
    let json = answer.json();
    fields!(json, {
        "status": "queued", "leads.1.item": 1, "leads.1.status": "waiting",
        "leads.1.externalId": "440000000000012", "leads.1.dealId": null,
    });
    let id = meta.host.delivery(&answer).await.summary.id;
    let done = meta.host.becomes(id, DeliveryStatus::Converted).await;
    assert!(
        done.items
            .iter()
            .all(|item| item.status == ItemStatus::Converted)
    );
    for lead in ["440000000000011", "440000000000012"] {
        let deals = meta
            .host
            .deals(&meta.declared, &format!("externalId={lead}"))
            .await;
        assert_eq!(deals.len(), 1, "{lead}");
        assert_eq!(deals[0]["person"]["id"].as_str().map(str::len), Some(36));
    }
    let requests = meta.double.requests();
    assert_eq!(requests.len(), 2);
    for request in requests {
        has!(request, &format!("access_token={TOKEN}"));
        let expect = format!("appsecret_proof={}", proof(APP_SECRET, TOKEN));
        has!(request, &expect);
    }
    for secret in [APP_SECRET, TOKEN, &proof(APP_SECRET, TOKEN)] {
        assert!(!meta.host.keeps(secret).await, "{secret} is on disk");
    }
    // The same webhook again: Meta repeats one when it is unsure.
    let again = meta.send(&body).await.expect(200).json();
    assert_eq!(again["status"], "duplicate");
    assert!(again["leads"][0]["dealId"].is_string());
    assert_eq!(meta.double.requests().len(), 2);
}

async fn a_webhook_with_a_wrong_signature_is_quarantined(on: On) {
    let meta = Meta::new(on).await;
    let ask = meta.host.post(&meta.declared.address("meta"));
    let body = webhook(PAGE, &["440000000000011"]).to_string();
    let ask = ask.signed("x-hub-signature-256", "sha256=", "other", body.as_bytes());
    ask.send().await.expect(401);
    assert!(meta.double.requests().is_empty());
}

async fn a_change_of_another_kind_is_ignored(on: On) {
    let meta = Meta::new(on).await;
    // Also for a page without a connection.
    let body = json!({"object": "page", "entry": [{"id": "700000000000009", "changes": [{"field": "feed", "value": {}}]}]});
    let answer = meta.send(&body).await.expect(200).json();
    fields!(answer, {
        "status": "ignored", "leads": [], "problems.0.status": "ignored",
        "problems.0.message": "a change of `feed`, not of `leadgen`",
    });
}

async fn a_lead_that_is_not_available_yet_is_fetched_until_it_is(on: On) {
    // The clock jumps here: no lease may expire.
    let meta = Meta::with(Options::patient(on).with("worker.lease_seconds", 1_000_000)).await;
    let id = meta.announce(&["440000000000001"]).await;
    has!(meta.noted(id).await, "100/33");
    let key = meta.host.admin_key().await;
    let shown = async || {
        let ask = meta
            .host
            .admin("GET", &format!("/admin/v1/deliveries/{id}"));
        ask.bearer(&key).send().await.expect(200).json()
    };
    let waiting = shown().await;
    let fetch = &waiting["fetches"][0];
    assert!(fetch["attempts"].as_u64() >= Some(1), "{waiting:#}");
    let request = fetch["request"].text();
    has!(request, "440000000000001");
    assert!(fetch["nextAttemptAt"].is_string() && fetch["givenUpAt"].is_string());
    let done = until("the lead", async || {
        meta.host.pass(120).await;
        let stored = meta.host.stored(id).await;
        (stored.summary.status == DeliveryStatus::Converted).then_some(stored)
    })
    .await;
    assert_eq!(done.items[0].status, ItemStatus::Converted);
    assert_eq!(meta.double.requests().len(), 3);
    let converted = shown().await;
    assert_eq!(converted["fetches"], json!([]), "{converted:#}");
    let failed = "the fetch of item 0 failed 2 times, last on meta-lead-ads ";
    let [note] = &done.notes[..] else {
        panic!("{:?}", done.notes);
    };
    has!(note, failed, "100/33");
    assert_eq!(converted["notes"], json!([note]), "{converted:#}");
    let answer = converted["answers"].as_array().and_then(|all| all.last());
    let answer = answer.expect("a stored answer");
    assert_eq!(answer["status"], 200, "{converted:#}");
    assert!(answer["body"].is_string() && answer["request"].is_string());
}

async fn an_expired_token_pauses_the_connection_until_it_is_resumed(on: On) {
    let meta = Meta::new(on).await;
    let id = meta.announce(&["440000000000002"]).await;
    has!(meta.paused().await, "190");
    // While it is paused, new deliveries are accepted and nothing is fetched.
    let later = meta.announce(&["440000000000013"]).await;
    meta.host.pass(3_600).await;
    assert_eq!(meta.double.requests().len(), 1);
    let expect = DeliveryStatus::Queued;
    assert_eq!(meta.host.stored(later).await.summary.status, expect);
    meta.host.resume(&meta.declared.id("meta")).await;
    meta.host.becomes(later, DeliveryStatus::Converted).await;
    let expect = DeliveryStatus::Queued;
    assert_eq!(meta.host.stored(id).await.summary.status, expect);
}

async fn a_corrected_token_fetches_the_leads_that_the_wrong_one_could_not(on: On) {
    let host = Host::working(on).await;
    let double = double();
    host.activate("converter-meta-lead-ads").await;
    let right = connection("meta", &double, PAGE);
    let declared = host.declare(&right.replace(TOKEN, "revoked-token")).await;
    let meta = Meta {
        host,
        declared,
        double,
    };
    let id = meta.announce(&["440000000000011"]).await;
    has!(meta.paused().await, "190");
    meta.host.declare(&right).await;
    meta.host.resume(&meta.declared.id("meta")).await;
    meta.host.pass(3_600).await;
    let done = meta.host.becomes(id, DeliveryStatus::Converted).await;
    let notes = done.notes.join("; ");
    has!(notes, "failed 1 time, last on meta-lead-ads ", "190");
    lacks!(notes, "revoked-token");
}

async fn a_rate_limit_of_the_provider_is_respected_for_the_time_that_it_names(on: On) {
    let due = match &on {
        On::Sqlite => "select max(due_at) from queue",
        On::Postgres(_) => "select max(extract(epoch from due_at) * 1000000)::bigint from queue",
    };
    let options = Options::patient(on).with("worker.backoff_first_seconds", 0);
    let options = options.with("worker.backoff_longest_seconds", 0);
    let meta = Meta::with(options).await;
    let id = meta.announce(&["440000000000003"]).await;
    has!(meta.noted(id).await, "613");
    // The clock stands, so the worker does not take the fetch before it is let go on.
    let named = meta.host.now().plus_seconds(1);
    let due = Micros(meta.host.count(due).await);
    assert_eq!(due, named, "Retry-After says one second");
    meta.host.pass(1).await;
    meta.host.becomes(id, DeliveryStatus::Converted).await;
    assert_eq!(meta.double.requests().len(), 2);
}

async fn a_remote_server_that_hangs_up_or_answers_with_a_page_is_tried_again(on: On) {
    let meta = Meta::new(on).await;
    let key = meta.host.admin_key().await;
    let troubles = async || {
        let ask = meta.host.admin("GET", "/admin/v1/status").bearer(&key);
        ask.send().await.expect(200).json()["troubles"].clone()
    };
    for (lead, reason) in [
        ("440000000000004", "no answer from"),
        ("440000000000005", "status 500"),
    ] {
        let id = meta.announce(&[lead]).await;
        has!(meta.noted(id).await, reason);
        // Operators learn of it at once.
        eventually("the status has the failed fetch", async || {
            let shown = troubles().await;
            shown[0]["kind"] == "fetch" && shown[0]["why"].text().contains(reason)
        })
        .await;
        let expect = DeliveryStatus::Queued;
        assert_eq!(meta.host.stored(id).await.summary.status, expect);
        let connection = meta.host.connection(&meta.declared.id("meta")).await;
        assert!(connection.paused.is_none(), "no operator action is needed");
        let asked = meta.double.requests().len();
        meta.host.pass(3_600).await;
        meta.asked(asked + 1).await;
    }
    meta.announce(&["440000000000011"]).await;
    eventually("a fetch that works ends it", async || {
        troubles().await == json!([])
    })
    .await;
}

async fn a_name_that_looks_like_a_slot_is_only_a_name(on: On) {
    let meta = Meta::new(on).await;
    let name = "Ana {{secret:app-secret}} ${page-token} slot{secret,app-secret}";
    let body = json!({"object": "page", "entry": [{"id": PAGE, "changes": [{"field": "leadgen", "value": {
        "leadgen_id": "{{secret:app-secret}}", "page_id": PAGE,
    }}, {"field": "leadgen", "value": {
        "leadgen_id": "440000000000021", "page_id": PAGE,
        "field_data": [{"name": "full_name", "values": [name]},
            {"name": "email", "values": ["ana@example.com"]}, {"name": "obs", "values": [name]}],
    }}]}]});
    let answer = meta.send(&body).await.expect(200).json();
    let deals = meta
        .host
        .deals(&meta.declared, "externalId=440000000000021")
        .await;
    // A name has no tags; other texts are kept as they were sent.
    assert_eq!(deals[0]["person"]["name"], "Ana slot", "{answer}");
    has!(deals[0].to_string(), name);
    meta.asked(1).await;
    let request = &meta.double.requests()[0];
    has!(request, "%7B%7Bsecret%3Aapp-secret%7D%7D");
}

async fn one_address_serves_two_pages_and_an_unknown_one_is_unrouted(on: On) {
    let host = Host::working(on).await;
    let double = double();
    host.activate("converter-meta-lead-ads").await;
    let file = [
        connection("first", &double, PAGE),
        connection("second", &double, OTHER_PAGE),
    ]
    .concat();
    let declared = host.declare(&file).await;
    let address = declared.address("first");
    for (page, lead, name) in [
        (PAGE, "440000000000011", "first"),
        (OTHER_PAGE, "440000000000012", "second"),
    ] {
        let answer = send(&host, &address, &webhook(page, &[lead])).await;
        let answer = answer.expect(200);
        let id = host.delivery(&answer).await.summary.id;
        host.becomes(id, DeliveryStatus::Converted).await;
        let deals = host.deals(&declared, &format!("externalId={lead}")).await;
        assert_eq!(deals[0]["deal"]["props"]["connection"], name);
    }
    let answer = send(
        &host,
        &address,
        &webhook("700000000000009", &["440000000000013"]),
    )
    .await;
    let answer = answer.expect(200);
    let json = answer.json();
    fields!(json, {
        "success": true, "status": "queued", "problems.0.status": "unrouted",
        "problems.0.message": "no connection of the workspace answers to page-id 700000000000009",
    });
    let stored = host.delivery(&answer).await;
    assert_eq!(stored.summary.status, DeliveryStatus::Unrouted);
}

async fn a_lead_at_an_unsigned_address_is_not_routed_to_a_page_with_a_signature(on: On) {
    let host = Host::working(on).await;
    let double = double();
    host.activate("converter-meta-lead-ads").await;
    let secret = format!("app-secret = \"{APP_SECRET}\", ");
    let open = connection("open", &double, PAGE).replace(&secret, "");
    let signed = connection("signed", &double, OTHER_PAGE);
    let declared = host.declare(&[open, signed].concat()).await;
    let ask = host.post(&declared.address("open"));
    let ask = ask.json(&webhook(OTHER_PAGE, &["440000000000012"]));
    let answer = ask.send().await.expect(200);
    let stored = host.delivery(&answer).await;
    assert_eq!(stored.summary.status, DeliveryStatus::Unrouted);
    let why = stored.items[0].message.as_deref().expect("why");
    has!(why, "has a sender check");
    assert!(double.requests().is_empty());
}

async fn an_unrouted_delivery_is_replayed_once_a_connection_has_its_page(on: On) {
    let meta = Meta::new(on).await;
    let answer = meta.send(&webhook(OTHER_PAGE, &["440000000000012"])).await;
    let id = meta.host.delivery(&answer.expect(200)).await.summary.id;
    let expect = DeliveryStatus::Unrouted;
    assert_eq!(meta.host.stored(id).await.summary.status, expect);
    let second = connection("second", &meta.double, OTHER_PAGE);
    meta.host.declare(&second).await;
    for (apply, stays) in [
        (false, DeliveryStatus::Unrouted),
        (true, DeliveryStatus::Queued),
    ] {
        let options = replay_options(apply, false);
        let replayed = replay::one(&meta.host.app.pipeline, id, options).await;
        let replayed = replayed.expect("it is replayed");
        assert_eq!(replayed.status, DeliveryStatus::Queued);
        if !apply {
            assert_eq!(meta.host.stored(id).await.summary.status, stays);
            assert!(meta.double.requests().is_empty());
        }
    }
    meta.host.becomes(id, DeliveryStatus::Converted).await;
    let deals = meta
        .host
        .deals(&meta.declared, "externalId=440000000000012")
        .await;
    assert_eq!(deals[0]["deal"]["props"]["connection"], "second");
}

async fn a_page_without_a_token_pauses_the_connection_with_the_secrets_name(on: On) {
    let host = Host::working(on).await;
    let double = double();
    host.activate("converter-meta-lead-ads").await;
    let whole = connection("meta", &double, PAGE);
    let without = whole.replace(&format!(", \"page-token/{PAGE}\" = \"{TOKEN}\""), "");
    assert_ne!(whole, without);
    let declared = host.declare(&without).await;
    let meta = Meta {
        host,
        declared,
        double,
    };
    let id = meta.announce(&["440000000000011"]).await;
    has!(meta.paused().await, &format!("page-token/{PAGE}"));
    meta.host.declare(&whole).await;
    meta.host.resume(&meta.declared.id("meta")).await;
    meta.host.pass(3_600).await;
    meta.host.becomes(id, DeliveryStatus::Converted).await;
}

async fn a_lead_that_the_remote_server_does_not_have_is_given_up_and_may_be_sent_again(on: On) {
    let meta = Meta::new(on).await;
    for times in 1..=2 {
        let id = meta.announce(&["no-such-lead"]).await;
        let done = until("the fetch is given up", async || {
            let stored = meta.host.stored(id).await;
            (stored.items[0].status == ItemStatus::Failed).then_some(stored)
        })
        .await;
        has!(done.items[0].message.as_deref().unwrap_or_default(), "803");
        assert_ne!(done.summary.status, DeliveryStatus::Queued);
        assert_eq!(meta.double.requests().len(), times);
    }
}
