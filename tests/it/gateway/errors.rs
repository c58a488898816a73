//! What programs read of errors: the code of each cause, in every shape. And parameters that
//! clients send without a value, on every list.

use leadhost_domain::error_code::ErrorCode;
use leadhost_tests::{Answer, On, has};
use serde_json::{Value, json};

use super::{NOBODY, Seat, note};

leadhost_tests::on_every_store! {
    each_cause_has_its_code_in_every_shape,
    a_blank_cursor_and_limit_are_as_if_not_given_on_every_list,
    a_number_with_too_many_digits_is_read_as_the_greatest_one,
}

#[track_caller]
fn check(answer: &Answer, status: u16, code: ErrorCode, what: &str) {
    let body = answer.json();
    let found = (answer.status, body["code"].as_str());
    assert_eq!(found, (status, Some(code.as_str())), "{what}: {body}");
}

/// Whose key, the request, and the status and code of the answer.
const CAUSES: &str = r#"
nobody GET /deal?id=1 -> 401 unauthorized
nobody POST /send-notification -> 401 unauthorized
nobody GET /v1/whoami -> 401 unauthorized
nobody GET /admin/v1/plugins -> 401 unauthorized
nobody POST /ingest-lead/nobody {} -> 404 connection_not_found
admin GET /admin/v1/plugins/nobody -> 404 not_found
partner GET /nothing -> 404 not_found
partner PUT /deal -> 405 method_not_allowed
partner GET /deal?x={long} -> 414 uri_too_long
partner GET /deal -> 400 invalid_parameter
partner GET /deal?id=1&cursor=x -> 400 invalid_cursor
partner GET /deal/{nobody} -> 404 deal_not_found
partner GET /products-by-name?q=casa -> 400 invalid_parameter
partner POST /deal { -> 400 invalid_json
partner POST /deal {} -> 400 validation_failed
partner POST /deal {"name":"Ana","email":"ana@example.com","instanceId":404404} -> 400 instance_not_found
partner POST /deal {"name":"Ana","email":"ana@example.com","productExternalId":"AP-9"} -> 404 property_not_found
partner PATCH /deal/{deal} {"stage":"x"} -> 400 validation_failed
partner PATCH /deal/{deal} {"propertyExternalId":"AP-9"} -> 404 property_not_found
partner PATCH /deal/{deal} {"ownerEmail":"no@example.com"} -> 404 owner_not_found
partner POST /send-notification {} -> 400 validation_failed
partner POST /send-notification {"name":"Ana","phoneNumber":"+5511987654321","instanceId":404404,"source":"x","messageTemplate":"welcome"} -> 400 instance_not_found
desk GET /tickets/17 -> 404 ticket_not_found
desk GET /tickets?cursor=null -> 400 invalid_cursor
desk POST /api/v1/deals/{nobody}/log {"type":"success","subject":"Sold"} -> 404 deal_not_found
data GET /v1/nothing -> 404 not_found
data GET /v1/whoami?a={long} -> 414 uri_too_long
admin GET /nothing -> 404 not_found
data GET /v1/export/leads -> 404 not_found
data GET /v1/export/deals?limit=ten -> 400 invalid_parameter
data GET /v1/export/deals?updated_since= -> 400 invalid_parameter
data GET /v1/export/deals?cursor=x -> 400 invalid_cursor
data GET /v1/reports/message_errors -> 400 invalid_parameter
data GET /v1/analytics/tickets/day?tz=x -> 400 invalid_parameter
"#;

async fn each_cause_has_its_code_in_every_shape(on: On) {
    use ErrorCode as C;
    let seat = Seat::new(on).await;
    let deal = seat.ana().await.to_string();
    let host = &seat.host;
    let admin = host.admin_key().await;
    let long = "x".repeat(9_000);
    let ask = |who: &str, method: &str, target: &str| {
        let target = target.replace("{deal}", &deal).replace("{long}", &long);
        let target = target.replace("{nobody}", NOBODY);
        match who {
            "nobody" if target.starts_with("/admin") => host.admin(method, &target),
            "nobody" => host.ask(method, &target),
            "admin" => host.admin(method, &target).bearer(&admin),
            "data" => host.ask(method, &target).bearer(&seat.seeded.workspace_key),
            "desk" => host.ask(method, &target).bearer(&seat.seeded.access_token),
            _ => host.ask(method, &target).partner(&seat.seeded.partner_key),
        }
    };
    for row in CAUSES.trim().lines() {
        host.advance(1).await;
        let (request, cause) = row.split_once(" -> ").expect("an answer");
        let (status, code) = cause.split_once(' ').expect("a code");
        let mut words = request.splitn(4, ' ');
        let mut word = || words.next().unwrap_or_default();
        let ask = ask(word(), word(), word());
        let ask = match word() {
            "" => ask,
            body => ask
                .header("content-type", "application/json")
                .body(body.to_owned()),
        };
        let code = code.parse().expect("a code");
        check(
            &ask.send().await,
            status.parse().expect("a status"),
            code,
            row,
        );
    }
    let form = ask("partner", "POST", "/deal").body("name=Ana");
    let form = form.header("content-type", "application/x-www-form-urlencoded");
    check(&form.send().await, 415, C::UnsupportedMediaType, "a form");
    let large = ask("partner", "POST", "/deal").body(vec![b' '; (1 << 20) + 1]);
    check(&large.send().await, 413, C::BodyTooLarge, "a large body");
    for target in ["/deal/17", "/v1/export/leads"] {
        let (who, code) = if target.starts_with("/v1") {
            ("data", C::NotFound)
        } else {
            ("partner", C::DealNotFound)
        };
        let ask = ask(who, "GET", target).header("accept", "application/problem+json");
        let problem = ask.header("x-request-id", "r-1").send().await.expect(404);
        assert_eq!(problem.json()["requestId"], "r-1");
        assert_eq!(problem.header("content-type"), "application/problem+json");
        check(&problem, 404, code, "a problem");
    }
    let noted = |body: Value| {
        let ask = seat.logging(&deal).header("idempotency-key", "k-1");
        ask.json(&body)
    };
    noted(note()).send().await.expect(201);
    let other = json!({"type": "success", "subject": "Another"});
    check(
        &noted(other).send().await,
        422,
        C::IdempotencyKeyReused,
        "a key",
    );
    // The oldest shape has no member but these.
    let refused = ask("partner", "GET", "/deal").send().await.json();
    let message = "Give at least one of phoneNumber, email, dealId and externalId.";
    let expect = json!({"statusCode": 400, "message": message, "error": "Bad Request", "code": "invalid_parameter"});
    assert_eq!(refused, expect);
}

async fn a_blank_cursor_and_limit_are_as_if_not_given_on_every_list(on: On) {
    let seat = Seat::new(on).await;
    for name in ["Ana", "Bia", "Lia"] {
        let deal = seat.host.lead(&seat.seeded, name, "11 98765-4321", "");
        let deal = deal.await;
        let transferred = seat.patch(deal, json!({"stageCode": "transferred"}));
        transferred.await.expect(202);
    }
    let host = &seat.host;
    let admin = host.admin_key().await;
    for target in [
        "/v1/export/deals?",
        "/v1/export/deals/ids?",
        "/v1/export/contacts?updated_since=2020-01-01",
        "/v1/reports/message_errors?updated_since=2030-01-15",
        "/deal?phone=11987654321",
        "/tickets?",
        "/admin/v1/deliveries?",
        "/admin/v1/deals?",
        "/admin/v1/tickets?",
        "/admin/v1/outbox?",
        "/admin/v1/repairs?",
        "/admin/v1/erasures?",
        "/admin/v1/audit?",
    ] {
        let get = async |parameters: &str| {
            host.advance(1).await;
            let target = format!("{target}&{parameters}");
            let ask = if target.starts_with("/admin") {
                host.admin("GET", &target).bearer(&admin)
            } else if target.starts_with("/v1") {
                host.get(&target).bearer(&seat.seeded.workspace_key)
            } else if target.starts_with("/tickets") {
                host.get(&target).bearer(&seat.seeded.access_token)
            } else {
                host.get(&target).partner(&seat.seeded.partner_key)
            };
            ask.send().await
        };
        let all = get("").await.expect(200);
        for blank in ["cursor=&limit=", "limit=%20&cursor=+", "before=&limit"] {
            let answer = get(blank).await.expect(200);
            assert_eq!(answer.json(), all.json(), "{target}{blank}");
        }
        // The lists of the admin API continue before a row.
        let names = if target.starts_with("/admin") {
            ["limit"].as_slice()
        } else {
            &["limit", "cursor"]
        };
        for (name, word) in names
            .iter()
            .flat_map(|name| [(name, "null"), (name, "None")])
        {
            let refused = get(&format!("{name}={word}")).await.expect(400).json();
            has!(refused.to_string(), word; "{target}");
        }
    }
}

async fn a_number_with_too_many_digits_is_read_as_the_greatest_one(on: On) {
    let seat = Seat::new(on).await;
    seat.ana().await;
    let host = &seat.host;
    let admin = host.admin_key().await;
    let many = "9".repeat(20);
    let page = |target: &str| host.get(target).partner(&seat.seeded.partner_key);
    let found = page(&format!(
        "/products-by-name?name=rooms&page={many}&size={many}"
    ));
    let found = found.send().await.expect(200).json();
    assert_eq!(found["products"], json!([]));
    let last = 9_007_199_254_740_991_u64;
    let expect = json!({"page": last, "size": 100, "totalItems": 2, "totalPages": 1, "hasNextPage": false,
        "hasPreviousPage": true});
    assert_eq!(found["pagination"], expect);
    for target in [
        format!("/v1/export/deals?limit={many}"),
        format!("/v1/export/deals?limit=-{many}"),
        format!("/v1/reports/message_errors?updated_since=2030-01-15&agent_id={many}"),
        format!("/v1/analytics/conversations/day?agent_id={many}"),
    ] {
        let ask = host.get(&target).bearer(&seat.seeded.workspace_key);
        ask.send().await.expect(200);
    }
    page(&format!("/deal?phone=11987654321&limit={many}"))
        .send()
        .await
        .expect(200);
    let tickets = host.get(&format!("/tickets?limit={many}"));
    tickets
        .bearer(&seat.seeded.access_token)
        .send()
        .await
        .expect(200);
    for target in [
        format!("/admin/v1/deliveries?limit={many}"),
        format!("/admin/v1/audit?limit={many}&before={many}"),
        format!("/admin/v1/audit?after={many}"),
        format!("/admin/v1/audit?after=-{many}"),
    ] {
        let ask = host.admin("GET", &target).bearer(&admin);
        ask.send().await.expect(200);
    }
}
