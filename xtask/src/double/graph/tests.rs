use serde_json::Value;

use super::*;
use crate::double::http::Received;
use crate::double::testing::ask;

fn double() -> GraphDouble {
    GraphDouble::start(GraphOptions::default()).expect("a free port on loopback")
}

/// `None` if the connection ends.
fn get(double: &GraphDouble, query: &str, id: &str) -> Option<Received> {
    ask(
        double.address(),
        "GET",
        &format!("/v23.0/{id}?{query}"),
        "",
        "",
    )
}

fn json(text: &str) -> Value {
    serde_json::from_str(text).expect("JSON")
}

fn authorised_query(double: &GraphDouble) -> String {
    let options = double.options();
    let token = &options.tokens[0];
    format!(
        "access_token={token}&appsecret_proof={}",
        proof(&options.app_secret, token)
    )
}

#[test]
fn the_lead_of_an_id_is_always_the_same() {
    let [one, other] = [(); 2].map(|()| {
        let double = double();
        get(&double, &authorised_query(&double), "9007199254740993777").expect("an answer")
    });
    assert_eq!((one.status, &one), (200, &other));
    let body = json(&one.body);
    assert_eq!(body["id"], "9007199254740993777");
    assert_eq!(body["field_data"].as_array().map(Vec::len), Some(4));
    assert!(body.get("ad_id").is_none(), "it is no default");
}

#[test]
fn only_the_requested_fields_are_returned() {
    let double = double();
    let query = format!(
        "fields=ad_id%2Cform_id,nothing&{}",
        authorised_query(&double)
    );
    let body = json(&get(&double, &query, "777").expect("an answer").body);
    let names: Vec<&String> = body.as_object().expect("an object").keys().collect();
    assert_eq!(names, ["ad_id", "form_id", "id"]);
}

#[test]
fn a_wrong_token_or_proof_is_refused() {
    let double = double();
    let check = |query: &str, status: u16, code: u32| {
        let answer = get(&double, query, "777").expect("an answer");
        assert_eq!(
            (answer.status, json(&answer.body)["error"]["code"].as_u64()),
            (status, Some(code.into())),
            "{query}"
        );
    };
    check("", 400, 104);
    check("access_token=other&appsecret_proof=0", 401, 190);
    check("access_token=double-page-token", 400, 100);
    check(
        "access_token=double-page-token&appsecret_proof=00",
        400,
        100,
    );
}

#[test]
fn the_proof_is_an_hmac_of_the_token() {
    // RFC 4231, test case 2.
    assert_eq!(
        proof("Jefe", "what do ya want for nothing?"),
        "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843"
    );
}
