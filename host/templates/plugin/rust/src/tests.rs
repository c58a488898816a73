//! Runs with `cargo test`. `GOLDEN_WRITE=1` writes the output into cases that have none yet,
//! `GOLDEN_WRITE=renew` also into those that differ.

use leadhost_sdk::serde_json::{Value, json};
use leadhost_sdk::{Item, Lead, Outcome, testing};

use crate::{Form, read};

const CASES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/golden");

#[test]
fn golden_cases_hold() {
    testing::run_golden::<Form>(CASES);
}

#[test]
fn damaged_deliveries_do_not_panic() {
    testing::run_damaged::<Form>(CASES);
}

#[test]
fn a_value_under_a_usual_name_fills_its_field_and_the_rest_is_kept() {
    let lead = only(json!({
        "lead_id": 17,
        "contact": { "first_name": "Ana", "last_name": "Prado", "ddd": "11", "celular": "90000-0001", "age": 41 },
        "E-mail": "ana@example.com",
        "anúncio": { "id": "P-9", "referência": "AP-9" },
        "mensagem": "Olá",
        "broker_phone": "11 90000-0009",
        "tags": [],
    }));
    assert_eq!(lead.external_id.as_deref(), Some("17"));
    assert_eq!(lead.name.as_deref(), Some("Ana Prado"));
    assert_eq!(lead.phones, ["(11) 90000-0001"]);
    assert_eq!(lead.emails, ["ana@example.com"]);
    let listings: Vec<_> = lead
        .listings
        .iter()
        .map(|one| (one.kind.as_str(), one.reference.as_str()))
        .collect();
    assert_eq!(listings, [("client", "AP-9"), ("portal", "P-9")]);
    assert_eq!(lead.message.as_deref(), Some("Olá"));
    let attributes = [
        ("broker_phone", r#""11 90000-0009""#),
        ("contact", r#"{"age":41}"#),
    ];
    assert_eq!(
        lead.attributes,
        attributes.map(|(name, text)| (name.into(), text.into()))
    );
}

#[test]
fn one_number_in_two_spellings_is_one_phone() {
    let lead = only(json!({ "ddd": "11", "phone": "900000001", "phoneNumber": "11900000001" }));
    assert_eq!(lead.phones, ["11900000001"]);
}

#[test]
fn the_area_code_beside_a_phone_belongs_to_it() {
    for form in [
        json!({ "ddd_celular": "11", "celular": "900000001" }),
        json!({ "dddTelefone": "11", "telefone": "900000001" }),
        json!({ "contactDDD": "11", "contactPhone": "900000001" }),
        json!({ "TelefoneDDD": "11", "TelefoneNumero": "900000001" }),
        json!({ "ddd2": "11", "telefone2": "900000001" }),
    ] {
        let lead = only(form);
        assert_eq!(lead.phones, ["(11) 900000001"]);
        assert!(lead.attributes.is_empty());
    }
}

#[test]
fn questions_and_answers_are_read_like_the_fields_of_a_form() {
    let lead = only(json!({
        "name": "Contact form",
        "answers": [
            { "label": "Qual o seu nome?", "value": "Ana Prado" },
            { "label": "Contato", "type": "tel", "value": ["11 90000-0001"] },
            { "label": "Prazo", "value": { "label": "3 meses" } },
            { "label": "Prazo", "value": "4 meses" },
            { "label": "Bairro", "value": "" },
        ],
    }));
    assert_eq!(lead.name.as_deref(), Some("Ana Prado"));
    assert_eq!(lead.phones, ["11 90000-0001"]);
    let attributes = [
        ("Prazo", r#""3 meses""#),
        ("Prazo 2", r#""4 meses""#),
        ("name", r#""Contact form""#),
    ];
    assert_eq!(
        lead.attributes,
        attributes.map(|(name, text)| (name.into(), text.into()))
    );
}

#[test]
fn a_name_may_say_whose_it_is() {
    for name in ["nomeDoComprador", "nome_do_comprador", "buyer_name"] {
        let lead = only(json!({ name: "Ana", "phone": "11900000001" }));
        assert_eq!(lead.name.as_deref(), Some("Ana"), "{name}");
    }
}

#[test]
fn a_lead_without_a_phone_and_an_email_has_a_name_or_answers_and_an_id() {
    let is_lead =
        |form: Value| matches!(read(&form, "", &mut Vec::new()).outcome, Outcome::Lead(_));
    let answers = json!([{ "question": "Prazo", "answer": "3 meses" }]);
    assert!(is_lead(json!({ "id": "1", "name": "Ana" })));
    assert!(is_lead(json!({ "name": "Ana", "message": "Olá" })));
    assert!(is_lead(json!({ "id": "1", "answers": answers })));
    assert!(!is_lead(
        json!({ "event": "deal_created", "id": "1", "name": "Ana" })
    ));
    assert!(!is_lead(json!({ "id": "1", "buyer_name": "Ana" })));
    assert!(!is_lead(json!({ "id": "1" })));
}

#[test]
fn a_field_or_a_value_says_that_a_lead_is_a_test() {
    let is_test = |name: &str, value: Value| {
        let lead = only(json!({ "email": "ana@example.com", name: value }));
        lead.is_test
    };
    assert!(is_test("is_test", json!(true)));
    assert!(is_test("Teste", json!("Sim")));
    assert!(is_test("nome", json!("<test lead: dummy data for nome>")));
    assert!(!is_test("test", json!(0)));
}

fn only(form: Value) -> Lead {
    let Item { outcome, .. } = read(&form, "", &mut Vec::new());
    match outcome {
        Outcome::Lead(lead) => lead,
        other => panic!("{other:?}"),
    }
}
