//! Checks the replies and requests in a component's golden cases before the component is
//! called. A reply or a request that the host would not make refuses the component. The
//! secrets used in replies are reported, because an operator must accept them.

use super::rules;
use crate::prelude::*;
use leadhost_domain::plugin::ReplySlot;

/// Returns the slots of all replies in the cases, each once.
pub fn shown_in(cases: &[Case]) -> Result<Vec<ReplySlot>, String> {
    let mut shown = Vec::new();
    for case in cases {
        let Some(answer) = case.expect.as_ref().map(|expect| &expect["ok"]) else {
            continue;
        };
        let wrong = |what: String| format!("{}: {what}", case.name);
        requests(answer).map_err(wrong)?;
        if matches!(
            case.call,
            Call::Handshake | Call::Convert | Call::ReadWebhook
        ) {
            reply(&answer["reply"], &mut shown).map_err(wrong)?;
        }
    }
    shown.sort();
    shown.dedup();
    rules::size::count_at_most("secrets in replies", shown.len(), limits::REPLY_SLOTS)?;
    Ok(shown)
}

/// Checks that each request in an answer uses a known method.
fn requests(answer: &Value) -> Result<(), String> {
    match answer {
        Value::Array(values) => values.iter().try_for_each(requests),
        Value::Object(fields) => {
            if let (Some(method), Some(_), Some(_)) = (
                fields.get("method").and_then(Value::as_str),
                fields.get("authority"),
                fields.get("scheme"),
            ) {
                rules::method(method)?;
            }
            fields.values().try_for_each(requests)
        }
        _ => Ok(()),
    }
}

fn reply(reply: &Value, shown: &mut Vec<ReplySlot>) -> Result<(), String> {
    if reply.is_null() {
        return Ok(());
    }
    rules::reply_type(reply["contentType"].as_str().unwrap_or_default())?;
    let segments = reply["body"].as_array().into_iter().flatten();
    for slot in segments.filter_map(|segment| segment.get("slot")) {
        let function = slot["function"].as_str().unwrap_or_default();
        let args = slot["args"].as_array().map_or(&[][..], Vec::as_slice);
        let secrets: Vec<&str> = args
            .iter()
            .filter_map(|argument| argument["secret"].as_str())
            .collect();
        let slots: Vec<ReplySlot> = secrets
            .iter()
            .map(|secret| {
                Ok(ReplySlot {
                    function: rules::reply_slot(function, secret)?,
                    secret: (*secret).to_owned(),
                })
            })
            .collect::<Result<_, String>>()?;
        let signs = slots.iter().any(|slot| !slot.function.reveals());
        if signs && secrets.len() > 1 {
            return Err(format!(
                "a reply with `{function}` over the secret `{}`; a reply may only sign the challenge",
                secrets[1]
            ));
        }
        shown.extend(slots);
    }
    Ok(())
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use leadhost_domain::exchange::SlotFunction;
    use serde_json::json;

    fn cases(call: &str, expect: Value) -> Vec<Case> {
        let folder = tempfile::tempdir().unwrap();
        let case = json!({"about": "x", "call": call, "expect": {"ok": expect}});
        std::fs::create_dir(folder.path().join("one")).unwrap();
        std::fs::write(folder.path().join("one/case.json"), case.to_string()).unwrap();
        leadhost_golden::load_dir(folder.path()).unwrap()
    }

    fn replying(content_type: &str, slot: Value) -> Value {
        json!({"require": [], "reply": {
            "status": 200, "contentType": content_type, "body": [{"literal": "x"}, {"slot": slot}]
        }})
    }

    #[test]
    fn the_secrets_of_replies_are_found_and_bad_replies_named() {
        let hmac =
            json!({"function": "hmac-sha256-hex", "args": [{"secret": "k"}, {"literal": "c"}]});
        let shown = |answer| shown_in(&cases("handshake", answer));
        assert_eq!(
            shown(replying("application/json", hmac.clone())).unwrap(),
            [ReplySlot {
                function: SlotFunction::HmacSha256Hex,
                secret: "k".to_owned()
            }]
        );
        let html = shown(replying("text/html", hmac)).unwrap_err();
        assert!(
            html.starts_with("one: ") && html.contains("text/html"),
            "{html}"
        );
        let over =
            json!({"function": "hmac-sha256-hex", "args": [{"secret": "k"}, {"secret": "s"}]});
        let over = shown(replying("text/plain", over)).unwrap_err();
        assert!(over.contains("`s`"), "{over}");
        assert_eq!(shown(Value::Null), Ok(Vec::new()));
    }

    #[test]
    fn slots_that_the_host_would_not_fill_are_named_in_few_words() {
        let shown = |function: &str, secret: &str| {
            let slot = json!({"function": function, "args": [{"secret": secret}]});
            shown_in(&cases("handshake", replying("text/plain", slot))).unwrap_err()
        };
        let long = "x".repeat(100_000);
        for (error, says) in [
            (shown(&long, "k"), "not known to this host"),
            (shown("secret", &long), "100000 bytes"),
        ] {
            assert!(error.contains(says) && error.len() < 1_000, "{error}");
        }
        let slots = |count: usize| -> Value {
            let slot = |n: usize| json!({"slot": {"function": "secret", "args": [{"secret": format!("k{n}")}]}});
            let body: Vec<Value> = (0..count).map(slot).collect();
            json!({"reply": {"contentType": "text/plain", "body": body}})
        };
        let most = limits::REPLY_SLOTS;
        assert!(shown_in(&cases("convert", slots(most))).is_ok());
        let error = shown_in(&cases("convert", slots(most + 1))).unwrap_err();
        assert!(error.contains("257 secrets in replies"), "{error}");
        let html = "text/html".repeat(10_000);
        let error = shown_in(&cases("convert", replying(&html, Value::Null))).unwrap_err();
        assert!(error.len() < 1_000, "{}", error.len());
    }

    #[test]
    fn a_request_with_an_unknown_method_is_named() {
        let request = json!({"items": [{"outcome": {"fetch": {"request": {
            "method": "TRACE", "scheme": "https", "authority": "a.example", "path": []
        }}}}]});
        let error = shown_in(&cases("convert", request)).unwrap_err();
        assert!(error.contains("TRACE"), "{error}");
    }
}
