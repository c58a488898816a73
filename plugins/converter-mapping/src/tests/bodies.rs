//! Bodies that are damaged, have another label than they should, or lost the plus of a number.

use leadhost_golden::{Call, Case};
use leadhost_sdk::serde_json::{Value, json};

use super::Mapping;

/// Returns the answer to a body with this label; an empty one is none.
fn answer(label: &str, config: Value, body: &[u8]) -> Value {
    let mut case = Case::new("body", Call::Convert);
    case.delivery.config = config;
    if !label.is_empty() {
        case.delivery.headers = vec![("content-type".to_owned(), label.to_owned())];
    }
    case.body = body.to_vec();
    leadhost_sdk::testing::answer::<Mapping>(&case)
}

/// Returns the leads of a body.
fn leads(label: &str, body: &[u8]) -> Vec<Value> {
    let answer = answer(label, json!({}), body);
    let items = answer["ok"]["items"].as_array();
    let items = items.unwrap_or_else(|| panic!("{label}: {answer}"));
    let leads = items.iter();
    leads.map(|item| item["outcome"]["lead"].clone()).collect()
}

const FORM: &str = "application/x-www-form-urlencoded";

#[test]
fn half_an_emoji_costs_no_lead() {
    let body = br#"[{"id":"L-1","name":"Ana \udc4d","phone":"(11) 90000-0001","message":"Tenho \ud83d","q\uD83D":1},
        {"id":"L-2","name":"Bia Lima","phone":"(11) 90000-0002"}]"#;
    let leads = leads("application/json", body);
    assert_eq!(leads[0]["name"], "Ana \u{fffd}");
    assert_eq!(leads[0]["message"], "Tenho \u{fffd}");
    assert_eq!(leads[0]["attributes"], json!([["q\u{fffd}", 1]]));
    assert_eq!(leads[1]["externalId"], "L-2");
}

#[test]
fn half_an_emoji_is_read_in_json_within_a_form() {
    let body = br#"formID=7&rawRequest={"id":"L-1","name":"Ana \ud83d","phone":"(11) 90000-0001"}"#;
    assert_eq!(leads(FORM, body)[0]["name"], "Ana \u{fffd}");
}

#[test]
fn a_cut_text_costs_no_other_one() {
    let parts = |name: &[u8], message: &[u8]| {
        let part = |key: &[u8], value: &[u8]| {
            let head = b"--b\r\nContent-Disposition: form-data; name=";
            [head, key, b"\r\n\r\n", value, b"\r\n"].concat()
        };
        let parts = [
            part(b"nome", name),
            part(b"telefone", b"11900000001"),
            part(b"message", message),
        ];
        [parts.concat(), b"--b--".to_vec()].concat()
    };
    let json = |name: &[u8], message: &[u8]| {
        let begin = br#"{"telefone":"11900000001","nome":""#.as_slice();
        [begin, name, br#"","message":""#, message, br#""}"#].concat()
    };
    let xml = |name: &[u8], message: &[u8]| {
        let begin = b"<lead><telefone>11900000001</telefone><nome>".as_slice();
        [
            begin,
            name,
            b"</nome><message>",
            message,
            b"</message></lead>",
        ]
        .concat()
    };
    let form = |name: &[u8], message: &[u8]| {
        let begin = b"telefone=11900000001&nome=".as_slice();
        [begin, name, b"&message=", message].concat()
    };
    let escaped = |name: &[u8], message: &[u8]| {
        let escape = |text: &[u8]| {
            let bytes = text.iter().map(|byte| format!("%{byte:02x}"));
            bytes.collect::<String>().into_bytes()
        };
        form(&escape(name), &escape(message))
    };
    let given: [(&[u8], &[u8], &str, &str); 4] = [
        (
            b"Jo\xc3\xa3o D\xe2\x80\x99\xc3\x81vila",
            b"Quero visitar \xf0\x9f\x98",
            "João D’Ávila",
            "Quero visitar \u{fffd}",
        ),
        (
            b"Jo\xc3",
            b"Quero visitar \xe2\x80",
            "Jo\u{fffd}",
            "Quero visitar \u{fffd}",
        ),
        (
            b"Jo\xe3o D\x92\xc1vila",
            b"R$ 350.000 \x96 aceita \x80?",
            "João D’Ávila",
            "R$ 350.000 – aceita €?",
        ),
        (b"Ana", b"espero\x85 obrigada", "Ana", "espero… obrigada"),
    ];
    for (name, message, expected_name, expected_message) in given {
        for (label, body) in [
            ("application/json", json(name, message)),
            (FORM, form(name, message)),
            (FORM, escaped(name, message)),
            ("multipart/form-data; boundary=b", parts(name, message)),
            ("text/xml", xml(name, message)),
        ] {
            let lead = &leads(label, &body)[0];
            assert_eq!(lead["name"], expected_name, "{label}");
            assert_eq!(lead["message"], expected_message, "{label}");
        }
    }
}

#[test]
fn a_label_that_does_not_fit_costs_no_lead() {
    let parts = "------WebKitFormBoundaryAbC\r\nContent-Disposition: form-data; name=\"nome\"\r\n\r\nAna Souza\r\n\
         ------WebKitFormBoundaryAbC\r\nContent-Disposition: form-data; name=\"telefone\"\r\n\r\n(11) 90000-0001\r\n\
         ------WebKitFormBoundaryAbC--\r\n";
    let json = r#"{"nome":"Ana Souza","telefone":"(11) 90000-0001"}"#;
    let xml = "<lead>\n<nome>Ana Souza</nome>\n<telefone>(11) 90000-0001</telefone>\n</lead>";
    let form = "nome=Ana+Souza&telefone=(11)+90000-0001\r\n";
    let bare = parts.replace('\r', "");
    let marked = format!("\u{feff}\r\n{parts}");
    for body in [parts, &bare, &marked, json, xml, form] {
        for label in [
            "application/json",
            FORM,
            "",
            "text/plain",
            "multipart/form-data",
            "multipart/form-data; boundary=",
            "multipart/form-data; boundary=other",
            "multipart/form-data; boundary=----WebKitFormBoundaryAbC",
        ] {
            let leads = leads(label, body.as_bytes());
            assert_eq!(leads[0]["name"], "Ana Souza", "{label} {body}");
            assert_eq!(
                leads[0]["phones"],
                json!(["(11) 90000-0001"]),
                "{label} {body}"
            );
            assert_eq!(leads[0]["attributes"], json!([]), "{label} {body}");
        }
    }
    let configured = answer(
        "application/json",
        json!({"format": "multipart"}),
        parts.as_bytes(),
    );
    assert_eq!(
        configured["ok"]["items"][0]["outcome"]["lead"]["name"],
        "Ana Souza"
    );
}

#[test]
fn a_body_that_is_nothing_of_all_is_refused_with_the_reason_of_its_label() {
    for (label, body, reason) in [
        (
            "multipart/form-data",
            "nome: Ana\r\nx=1\r\ntel: 1",
            "boundary is missing",
        ),
        ("multipart/form-data; boundary=b", "nome", "no delimiter"),
        (
            "multipart/form-data; boundary=b",
            "--x\r\nA: b=c\r\n\r\nv\r\n--x--",
            "no delimiter",
        ),
        (
            "application/json",
            "--x\r\n\r\nv\r\n--x--",
            "not valid JSON",
        ),
        ("", "--x", "neither JSON nor XML nor a form"),
    ] {
        let answer = answer(label, json!({}), body.as_bytes());
        let message = answer["err"]["message"].as_str().unwrap_or_default();
        assert!(message.contains(reason), "{label}: {answer}");
    }
}

#[test]
fn a_plus_that_became_a_space_is_put_back_before_a_phone() {
    let lead = |label: &str, body: &str| leads(label, body.as_bytes()).remove(0);
    for (sent, expect) in [
        ("+34912345678", "+34912345678"),
        ("+41+912+345+678", "+41 912 345 678"),
        ("+33912345678", "+33912345678"),
        ("%20(11)+90000-0001", "(11) 90000-0001"),
        ("%2B48912345678", "+48912345678"),
        ("11900000001", "11900000001"),
        // Too short to be whole.
        ("+90000-0001", "90000-0001"),
    ] {
        for name in ["telefone", "fields[tel][value]", "Qual+seu+WhatsApp%3F"] {
            let lead = lead(
                FORM,
                &format!("nome=Carmen+Ruiz&email=carmen@example.com&{name}={sent}"),
            );
            assert_eq!(lead["phones"], json!([expect]), "{name}={sent}");
        }
    }
    let others = lead(
        FORM,
        "nome=+Carmen&telefone=11900000001&cpf=+12345678909&pedido_id=+3491234567&nota=+34912345678",
    );
    assert_eq!(others["name"], "Carmen");
    for attribute in others["attributes"].as_array().unwrap() {
        assert!(!attribute[1].as_str().unwrap().contains('+'), "{others}");
    }
    let json = lead(
        "application/json",
        r#"{"nome":"Ana","telefone":" 11900000001"}"#,
    );
    assert_eq!(json["phones"], json!(["11900000001"]));
    let configured = answer(
        FORM,
        json!({"fields": {"phones": "campo_7"}}),
        b"nome=Carmen&campo_7=+34912345678",
    );
    let phones = &configured["ok"]["items"][0]["outcome"]["lead"]["phones"];
    assert_eq!(*phones, json!(["+34912345678"]));
}

#[test]
fn a_plus_that_became_a_space_is_put_back_in_a_time() {
    let body = b"nome=Carmen+Ruiz&email=carmen@example.com&created_at=2026-03-02T12:00:00+01:00";
    let lead = &leads(FORM, body)[0];
    assert_eq!(lead["occurredAt"], "2026-03-02T12:00:00+01:00");
    assert_eq!(lead["attributes"], json!([]));
}
