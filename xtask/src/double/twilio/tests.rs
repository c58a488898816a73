use super::super::channel::{Callback, Flush, Misbehaviour};
use super::*;
use crate::double::testing::{ask, callback};

fn double() -> Twilio {
    let options = TwilioOptions {
        now: Some(1_894_708_800),
        ..TwilioOptions::default()
    };
    Twilio::start(options).expect("a free port on loopback")
}

fn good() -> Vec<(&'static str, String)> {
    vec![
        ("To", "whatsapp:+5511987650101".to_owned()),
        ("From", "whatsapp:+551130000042".to_owned()),
        ("ContentSid", sid("HX", 1)),
        (
            "ContentVariables",
            json!({"1": "Ilda", "2": "Casa Verde"}).to_string(),
        ),
    ]
}

fn send_as(double: &Twilio, token: &str, fields: Vec<(&str, String)>) -> (u16, Value) {
    let (path, account) = (double.messages_path(), &double.options().account_sid);
    let (authorization, body) = (basic(account, token), form(&owned(fields)));
    let answer = ask(double.address(), "POST", &path, &authorization, &body);
    let answer = answer.expect("an answer");
    (
        answer.status,
        serde_json::from_str(&answer.body).expect("JSON"),
    )
}

fn send(double: &Twilio, fields: Vec<(&str, String)>) -> (u16, Value) {
    send_as(double, &double.options().auth_token, fields)
}

#[test]
fn a_message_is_accepted_and_counted() {
    let double = double();
    let (status, answer) = send(&double, good());
    assert_eq!(status, 201);
    assert_eq!(answer["sid"], double.accepted()[0].id);
    assert_eq!(answer["status"], "queued");
    assert!(answer["error_code"].is_null());
    assert_eq!(double.accepted_for("whatsapp:+5511987650101"), 1);
}

#[test]
fn wrong_sends_are_refused() {
    let double = double();
    let check = |name: &str, value: &str, expect: (u16, u64)| {
        let mut fields = good();
        fields.retain(|(there, _)| *there != name);
        if !value.is_empty() {
            let name = ["To", "From", "ContentSid", "ContentVariables"]
                .into_iter()
                .find(|known| *known == name)
                .expect("a field");
            fields.push((name, value.to_owned()));
        }
        let (status, answer) = send(&double, fields);
        assert_eq!(
            (status, answer["code"].as_u64().unwrap_or_default()),
            expect,
            "{name} {value}"
        );
        assert_eq!(answer["status"], status, "{name} {value}");
    };
    check("To", "", (400, 21_604));
    check("To", "whatsapp:+12", (400, 21_211));
    check("To", "+5511987650101", (400, 21_910));
    check("From", "", (400, 21_603));
    check("From", "whatsapp:+551130000099", (400, 63_007));
    check("ContentSid", "", (400, 21_619));
    check("ContentSid", "HX9", (400, 21_655));
    check("ContentVariables", "", (400, 21_656));
    check("ContentVariables", "no JSON", (400, 21_656));
    check("ContentVariables", r#"{"1":"a"}"#, (400, 21_656));
    check("ContentVariables", r#"{"1":"a","2":3}"#, (400, 21_656));
    check("ContentVariables", r#"{"1":"a","3":"b"}"#, (400, 21_656));
    let (status, answer) = send_as(&double, "other", good());
    assert_eq!((status, answer["code"].as_u64()), (401, Some(20_003)));
    double.opt_out("whatsapp:+5511987650101");
    let (status, answer) = send(&double, good());
    assert_eq!((status, answer["code"].as_u64()), (400, Some(21_610)));
    assert!(double.accepted().is_empty());
}

#[test]
fn the_double_misbehaves_on_demand() {
    let double = double();
    double.next_sends(1, Misbehaviour::Code(63_018));
    assert_eq!(send(&double, good()).1["code"], 63_018);
    let limit = Misbehaviour::Throttled {
        code: 20_429,
        retry_after: 3,
    };
    double.next_sends(1, limit);
    let (status, answer) = send(&double, good());
    assert_eq!((status, answer["code"].as_u64()), (429, Some(20_429)));
    double.next_sends(1, Misbehaviour::NoId);
    let (status, answer) = send(&double, good());
    assert_eq!((status, answer.get("sid")), (201, None));
    assert_eq!(double.accepted().len(), 1);
}

#[test]
fn callbacks_are_signed_over_the_address_and_the_fields() {
    let double = double();
    let (address, thread) = callback(vec![204, 204]);
    let there = Callback::to(&address);
    double.call_back(there.signed_as("https://leads.example/in"));
    let mut fields = good();
    fields.push(("StatusCallback", "https://leads.example/out?m=1".to_owned()));
    send(&double, fields);
    let id = double.accepted()[0].id.clone();
    double.queue(double.status_of(&id, "undelivered").errors(&[63_024]));
    double.inbound(Inbound::button("whatsapp:+5511987650101", "Quero", "quero").answering(&id));
    double
        .flush(Flush::default().batches(1_000))
        .expect("it is there");
    let requests = thread.join().expect("no panic");
    let [status, inbound] = requests.as_slice() else {
        panic!("one event a request");
    };
    assert_eq!(status.target, "/out?m=1", "the message's own callback");
    assert_eq!(status.header("host"), Some("leads.example"));
    let fields = status.form();
    let get = |name| crate::double::http::value(&fields, name);
    assert_eq!(get("MessageStatus"), Some("undelivered"));
    assert_eq!(get("ErrorCode"), Some("63024"));
    assert_eq!(get("To"), Some("whatsapp:+5511987650101"));
    let mut sorted = fields.clone();
    sorted.sort();
    let text: String = sorted
        .iter()
        .map(|(name, value)| format!("{name}{value}"))
        .collect();
    let right = hmac_sha1_base64(
        &double.options().auth_token,
        format!("https://leads.example/out?m=1{text}").as_bytes(),
    );
    assert_eq!(status.header("x-twilio-signature"), Some(&*right));
    assert_eq!(inbound.target, "/in");
    let fields = inbound.form();
    let get = |name| crate::double::http::value(&fields, name);
    assert_eq!(get("ButtonPayload"), Some("quero"));
    assert_eq!(get("OriginalRepliedMessageSid"), Some(&*id));
    assert_eq!(get("WaId"), Some("5511987650101"));
}

#[test]
fn the_signature_is_the_documented_one() {
    // The example from the provider's own security page.
    let fields = [
        ("CallSid", "CA1234567890ABCDE"),
        ("Caller", "+12349013030"),
        ("Digits", "1234"),
        ("From", "+12349013030"),
        ("To", "+18005551212"),
    ];
    let letter = Letter {
        content_type: "application/x-www-form-urlencoded",
        body: form(&owned(
            fields
                .map(|(name, value)| (name, value.to_owned()))
                .to_vec(),
        ))
        .into_bytes(),
    };
    let options = TwilioOptions {
        auth_token: "12345".to_owned(),
        ..TwilioOptions::default()
    };
    let seals = Messages::new(options).seal(
        "https://mycompany.com/myapp.php?foo=1&bar=2",
        &letter,
        Key::Right,
    );
    assert_eq!(seals[0].1, "0/KCTR6DLpKmkAf8muzZqo1nDgQ=");
}
