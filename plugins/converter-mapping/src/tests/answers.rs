//! Contacts in questions and answers of any shape and place become the lead's, unless they
//! may be another person's.

use leadhost_sdk::serde_json::{Value, json};

use super::converted;

const ONE: &str = "(11) 90000-0081";
const TWO: &str = "(11) 90000-0082";

/// Returns the name, the phones and the addresses of the only item, which must be a lead.
fn lead(body: &Value) -> Value {
    let (items, _) = converted(json!({}), &body.to_string());
    let [item] = items.as_slice() else {
        panic!("{body}: {items:?}");
    };
    let lead = item.get("lead");
    let lead = lead.unwrap_or_else(|| panic!("{body}: {item}"));
    json!([lead["name"], lead["phones"], lead["emails"]])
}

/// Asserts that no item is a lead with this phone.
fn leaves(body: &Value, phone: &str) {
    let (items, _) = converted(json!({}), &body.to_string());
    for item in items {
        let phones = item["lead"]["phones"].to_string();
        assert!(!phones.contains(phone), "{body}: {item}");
    }
}

#[test]
fn a_list_beside_the_contact_is_read_whatever_its_keys_and_its_name() {
    let expect = json!(["Ana Prado", [ONE], []]);
    for pair in [
        json!({"name": "phone", "value": ONE}),
        json!({"field": "phone", "value": ONE}),
        json!({"key": "phone", "value": ONE}),
        json!({"label": "Telefone", "answer": ONE}),
        json!({"Name": "Phone", "Value": ONE}),
        json!({"id": 12, "nome": "Telefone", "valor": ONE}),
        json!({"campo": "Qual seu WhatsApp?", "conteudo": ONE}),
        json!({"fieldName": "phone", "fieldValue": ONE}),
        json!({"field_name": "Fone", "field_code": "PHONE", "values": [{"value": ONE, "enum": 1}]}),
        json!({"question": {"text": "Telefone"}, "answer": {"text": ONE}}),
        json!({"type": "whatsapp", "value": ONE}),
        json!({"k": "phone", "v": ONE}),
    ] {
        for name in [
            "fields",
            "custom_fields",
            "extras",
            "metadata",
            "respostas",
            "detalhes",
        ] {
            let contact = json!({"name": "Ana Prado"});
            let other = json!({"name": "cor", "value": "azul"});
            let list = json!([pair, other]);
            assert_eq!(lead(&json!({"contact": contact, name: list})), expect);
            let body = json!({"contact": {"name": "Ana Prado", name: list}});
            assert_eq!(lead(&body), expect);
            let body = json!({"data": {"contact": contact, name: list}});
            assert_eq!(lead(&body), expect);
            let body = json!({"x": {"contact": contact, name: list}});
            assert_eq!(lead(&body), expect);
        }
    }
}

#[test]
fn answers_under_keys_are_read_wherever_they_are() {
    let expect = json!(["Ana Prado", [ONE], []]);
    for (question, answer) in [
        ("label", "value"),
        ("pergunta", "resposta"),
        ("question", "answer"),
        ("title", "response"),
        ("text", "answer"),
    ] {
        let answers = json!({
            "q1": {question: "Nome", answer: "Ana Prado"},
            "q2": {question: "Telefone", answer: ONE},
            "q3": {question: "Cor"},
        });
        for body in [
            json!({"answers": answers}),
            json!({"id": 3, "respostas": answers}),
            json!({"questionario": answers}),
            json!({"x": {"y": answers}}),
            json!({"form": {"id": 3, "fields": answers}}),
            answers,
        ] {
            assert_eq!(lead(&body), expect, "{body}");
        }
    }
}

#[test]
fn a_list_gives_only_missing_values() {
    let list =
        json!([{"name": "phone", "value": TWO}, {"name": "email", "value": "a@example.com"}]);
    let body = json!({"nome": "Ana", "telefone": ONE, "custom_fields": list});
    assert_eq!(lead(&body), json!(["Ana", [ONE], ["a@example.com"]]));
    let body = json!({"nome": "Ana", "contato_telefone": ONE, "detalhes": list});
    assert_eq!(lead(&body)[0], "Ana");
    let body = json!({"nome": "Ana", "telefone": ONE, "email": "b@example.com", "extras": list});
    assert_eq!(lead(&body), json!(["Ana", [ONE], ["b@example.com"]]));
    // A list that is not read stays as it is.
    let (items, _) = converted(json!({}), &body.to_string());
    assert_eq!(items[0]["lead"]["attributes"], json!([["extras", list]]));
}

#[test]
fn contacts_that_may_be_another_persons_are_not_read() {
    let contact = json!({"name": "Ana Prado"});
    let phone = json!([{"name": "phone", "value": ONE}]);
    let bia = json!([{"name": "nome", "value": "Bia Luz"}, {"name": "phone", "value": ONE}]);
    for body in [
        json!({"contact": contact, "corretor": phone}),
        json!({"contact": contact, "imovel": {"campos": phone}}),
        json!({"contact": contact, "extras": [{"name": "telefone do corretor", "value": ONE}]}),
        json!({"contact": contact, "extras": bia}),
        json!({"contact": contact, "x": {"fields": bia}}),
        json!({"full_name": "Ana Prado", "id": 3, "extras": bia}),
        // Two phones may belong to two people.
        json!({"contact": contact, "a": phone, "b": [{"name": "phone", "value": TWO}]}),
        json!({"nome": "Ana Prado", "email": "ana@example.com", "dependentes": bia}),
        // No person is named.
        json!({"event": "agent.updated", "custom_fields": phone}),
        json!({"event": "deal.updated", "deal": {"custom_fields": phone}}),
    ] {
        leaves(&body, ONE);
    }
    let twice = json!({"contact": contact, "a": phone, "b": phone});
    assert_eq!(lead(&twice)[1], json!([ONE]));
}

#[test]
fn the_name_beside_a_list_is_the_persons_unless_it_is_a_deals() {
    let phone = json!([{"name": "phone", "value": ONE}]);
    let name = |body: Value| lead(&body)[0].clone();
    assert_eq!(
        name(json!({"name": "Ana Prado", "custom_fields": phone})),
        "Ana Prado"
    );
    assert_eq!(
        name(json!({"lead": {"name": "Ana Prado"}, "fields": phone})),
        "Ana Prado"
    );
    for deal in ["stage", "pipeline_id", "form_id"] {
        let body = json!({"name": "Venda", deal: 3, "custom_fields": phone});
        assert_eq!(name(body), Value::Null, "{deal}");
    }
    let answers = json!([{"name": "nome", "value": "Ana Prado"}, phone[0]]);
    let body = json!({"name": "Formulário", "extras": answers});
    assert_eq!(name(body), "Ana Prado");
}

#[test]
fn records_with_a_person_each_are_leads_and_other_people_are_refused() {
    let ana = json!({"nome": "Ana Prado", "telefone": ONE});
    let bia = json!({"nome": "Bia Luz", "telefone": TWO});
    for name in ["answers", "respostas", "value", "content", "quem"] {
        let records = json!([{"id": 1, name: ana}, {"id": 2, name: bia}]);
        for body in [
            records.clone(),
            json!({"data": records}),
            json!({"registros": records}),
            json!({"x": {"rows": records}}),
        ] {
            let (items, _) = converted(json!({}), &body.to_string());
            let leads: Vec<_> = items
                .iter()
                .map(|item| {
                    let lead = &item["lead"];
                    json!([lead["externalId"], lead["name"], lead["phones"]])
                })
                .collect();
            let expect = [
                json!(["1", "Ana Prado", [ONE]]),
                json!(["2", "Bia Luz", [TWO]]),
            ];
            assert_eq!(leads, expect, "{body}");
        }
    }
    for body in [
        json!({"x": [{"titular": ana}, {"avalista": bia}]}),
        json!({"x": [{"quem": ana, "outro": bia}]}),
        json!({"x": [{"quem": ana}, {"quem": bia}], "solicitante": ana}),
        json!({"event": "x", "x": [{"quem": ana}, {"quem": bia}]}),
        // The person in the answer to a question is not the one who answers.
        json!({"answers": [{"question": "Cônjuge", "answer": ana}]}),
        json!({"answers": [{"name": "conjuge", "values": ana}]}),
    ] {
        leaves(&body, ONE);
        leaves(&body, TWO);
    }
}
