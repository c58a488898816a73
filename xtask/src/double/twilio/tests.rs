use super::*;
use crate::double::testing::ask;

fn double() -> Twilio {
    Twilio::start(Messages::default(), 1_894_708_800).expect("a free port on loopback")
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
    let (authorization, body) = (basic(account, token), form(&fields));
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
    let opt_out = ["opt-out", "whatsapp:+5511987650101"];
    assert!(double.provider().command(&opt_out).is_some());
    let (status, answer) = send(&double, good());
    assert_eq!((status, answer["code"].as_u64()), (400, Some(21_610)));
    assert!(double.accepted().is_empty());
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
        body: form(&fields).into_bytes(),
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
