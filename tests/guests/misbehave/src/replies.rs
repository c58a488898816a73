//! Replies that would reveal a secret, sign a stranger's text, or run in a
//! browser.

use leadhost_sdk::{
    Delivery, Reply, basic, hmac_hex, lit, literal_argument, secret, secret_argument,
};

/// The query names the secret in `of` and the text in `text`.
pub fn choose(word: &str, delivery: &Delivery) -> Option<Reply> {
    let of = delivery.query_field("of").unwrap_or("key");
    let text = delivery.query_field("text").unwrap_or_default();
    Some(match word {
        "tell" => Reply::text([lit("it is "), secret(of)]),
        "tell-basic" => Reply::text([basic(of, of)]),
        "sign" => Reply::json([
            lit("{\"signed\":\""),
            hmac_hex(of, [literal_argument(text)]),
            lit("\"}"),
        ]),
        "sign-a-secret" => Reply::text([hmac_hex("key", [secret_argument(of)])]),
        "sign-another-text" => Reply::text([hmac_hex(of, [literal_argument("made-up")])]),
        "page" => Reply {
            content_type: "text/html".to_owned(),
            ..Reply::text("<script>alert(1)</script>")
        },
        _ => return None,
    })
}
