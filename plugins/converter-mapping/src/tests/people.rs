//! People in a body become leads, or a refusal or a note names their places.

use leadhost_sdk::serde_json::{Value, json};

use super::converted;

fn ana() -> Value {
    json!({"nome": "Ana Prado", "telefone": "11900000041", "email": "ana@example.com"})
}

fn bia() -> Value {
    json!({"nome": "Bia Luz", "telefone": "11900000042", "email": "bia@example.com"})
}

/// The lead of most of these bodies.
fn with_own(name: &str, value: Value) -> Value {
    let mut body = json!({"nome": "Caio Reis", "telefone": "11900000043"});
    body[name] = value;
    body
}

/// Asserts the names of the leads and the notes; every item must be a lead.
fn leads(body: &str) -> (Vec<String>, Vec<String>) {
    let (items, notes) = converted(json!({}), body);
    let names = items.iter().map(|item| {
        let lead = item.get("lead");
        let name = lead.and_then(|lead| lead["name"].as_str());
        name.unwrap_or_else(|| panic!("{body}: {item}")).to_owned()
    });
    (names.collect(), notes)
}

fn gives(body: &Value, names: &[&str], notes: &[&str]) {
    let (found, noted) = leads(&body.to_string());
    assert_eq!(found, names, "{body}");
    assert_eq!(noted, notes, "{body}");
}

/// Asserts that the whole body is refused with the places of the people.
fn refused(body: &Value, places: &[&str]) {
    let (items, _) = converted(json!({}), &body.to_string());
    let [item] = items.as_slice() else {
        panic!("{body}: {items:?}");
    };
    let message = item["invalid"]["message"].as_str().unwrap_or_default();
    for place in places {
        assert!(message.contains(&format!("`{place}`")), "{body}: {item}");
    }
    assert!(!message.is_empty(), "{body}: {item}");
}

/// Asserts one lead without the others, and a note with their places.
fn left_out(body: &Value, places: &[&str]) {
    let (items, notes) = converted(json!({}), &body.to_string());
    let [item] = items.as_slice() else {
        panic!("{body}: {items:?}");
    };
    assert_eq!(item["lead"]["name"], "Caio Reis", "{body}: {item}");
    for theirs in ["Ana", "Bia", "11900000041", "ana@example.com"] {
        assert!(!item.to_string().contains(theirs), "{body}: {item}");
    }
    let about: Vec<_> = notes
        .iter()
        .filter(|note| note.contains("not kept"))
        .collect();
    assert_eq!(about.len(), places.len(), "{body}: {notes:?}");
    for (note, place) in about.iter().zip(places) {
        assert!(note.contains(&format!("`{place}`")), "{body}: {note}");
    }
}

#[test]
fn an_empty_list_of_leads_hides_no_other_list() {
    gives(
        &json!({"leads": [], "dados": [ana(), bia()]}),
        &["Ana Prado", "Bia Luz"],
        &["the leads are taken from the list `dados`"],
    );
    refused(
        &json!({"leads": [{"id": 1}], "dados": [ana(), bia()]}),
        &["leads", "dados"],
    );
    refused(
        &json!({"leads": [ana()], "dados": [bia()]}),
        &["leads", "dados"],
    );
    // A list without people is not a list of leads.
    let cart = json!([{"item": "Sofá"}]);
    gives(
        &json!({"customer": ana(), "items": cart}),
        &["Ana Prado"],
        &[],
    );
}

#[test]
fn people_beside_the_lead_do_not_become_attributes_at_any_depth() {
    for (name, value, places) in [
        ("grupo", json!([ana(), bia()]), &["grupo"][..]),
        (
            "grupo",
            json!([{"titular": ana()}, {"titular": bia()}]),
            &["grupo.titular"],
        ),
        (
            "x",
            json!({"y": [{"z": {"email": "ana@example.com"}}]}),
            &["x.y.z"],
        ),
        ("x", json!([[[ana()]]]), &["x"]),
        ("conjuge", ana(), &["conjuge"]),
        (
            "familia",
            json!({"a": ana(), "b": bia()}),
            &["familia.a", "familia.b"],
        ),
        ("corretores", json!([ana()]), &["corretores"]),
        (
            "imovel",
            json!({"codigo": "7", "proprietario": ana()}),
            &["imovel.proprietario"],
        ),
        (
            "a",
            json!({"phone": {"ddd": "11", "numero": "900000041"}}),
            &["a"],
        ),
    ] {
        left_out(&with_own(name, value), places);
    }
}

#[test]
fn people_in_json_texts_do_not_become_attributes() {
    let people = json!([ana(), bia()]).to_string();
    left_out(&with_own("xis", json!(people)), &["xis"]);
    left_out(&with_own("xis", json!({"y": [people]})), &["xis.y"]);
    let twice = json!({"dentro": people}).to_string();
    left_out(&with_own("xis", json!(twice)), &["xis.dentro"]);
    left_out(&with_own("xis", json!(ana().to_string())), &["xis"]);
    left_out(&with_own("xis", json!(json!(people).to_string())), &["xis"]);
    for name in ["obs", "id", "imovel", "origem"] {
        left_out(&with_own(name, json!(people)), &[name]);
    }
    left_out(&with_own("telefones", json!(people)), &["telefones"]);
    refused(&json!({"xis": people}), &["xis"]);
    refused(&json!({"event": "x", "xis": people}), &["xis"]);
    // A message may stand in quotes.
    let (items, _) = converted(json!({}), &with_own("obs", json!("\"Olá\"")).to_string());
    assert_eq!(items[0]["lead"]["message"], "\"Olá\"");
    // A text without people stays unchanged.
    let (items, notes) = converted(json!({}), &with_own("xis", json!("{\"a\": 1}")).to_string());
    assert_eq!(
        items[0]["lead"]["attributes"],
        json!([["xis", "{\"a\": 1}"]])
    );
    assert!(notes.is_empty());
}

#[test]
fn texts_that_are_nested_too_deep_to_look_into_are_left_out() {
    let mut text = ana().to_string();
    for _ in 0..6 {
        text = json!({"a": text}).to_string();
    }
    left_out(&with_own("xis", json!(text)), &["xis.a.a.a"]);
}

#[test]
fn people_are_left_out_of_configured_leads_too() {
    let body = with_own(
        "outros",
        json!({"x": ana(), "y": json!([bia()]).to_string()}),
    );
    let (items, notes) = converted(json!({"fields": {"phones": "telefone"}}), &body.to_string());
    assert_eq!(items[0]["lead"]["attributes"], json!([]));
    assert_eq!(notes.len(), 2, "{notes:?}");
}

#[test]
fn objects_with_the_leads_or_the_advertisers_contact_stay() {
    let own = json!({"telefone": "(11) 90000-0043", "nota": 3});
    for (name, value) in [
        ("perfil", own.clone()),
        ("historico", json!([own])),
        ("corretor", ana()),
        ("client", json!({"contact": ana()})),
        ("empresa", ana()),
    ] {
        let (items, notes) = converted(json!({}), &with_own(name, value.clone()).to_string());
        let attributes = &items[0]["lead"]["attributes"];
        assert_eq!(*attributes, json!([[name, value]]));
        assert!(notes.is_empty(), "{notes:?}");
    }
}

#[test]
fn a_person_beside_a_list_of_people_is_not_lost() {
    for (one, list) in [
        ("lead", "contatos"),
        ("contact", "leads"),
        ("person", "leads"),
        ("solicitante", "convidados"),
        ("solicitante", "leads"),
    ] {
        let body = json!({one: ana(), list: [bia(), with_own("id", json!(3))]});
        refused(&body, &[one, list]);
    }
    refused(
        &json!({"data": {"leads": [ana()], "contact": bia()}}),
        &["data.leads"],
    );
    refused(&with_own("leads", json!([ana()])), &["leads"]);
    let answers = json!([{"question": "Cor", "answer": "azul"}]);
    refused(
        &json!({"answers": answers, "dados": [ana(), bia()]}),
        &["dados"],
    );
}

#[test]
fn people_under_the_name_of_a_phone_are_people() {
    left_out(
        &with_own("telefones", json!([ana(), bia()])),
        &["telefones"],
    );
    left_out(&with_own("email", ana()), &["email"]);
    gives(
        &json!({"telefones": [ana(), bia()]}),
        &["Ana Prado", "Bia Luz"],
        &["the leads are taken from the list `telefones`"],
    );
}

#[test]
fn a_person_beside_a_list_of_leads_who_is_not_a_lead_is_noted() {
    let message = "the people under `corretores` are no leads; if they are, say so under `items`; the raw delivery has them";
    gives(
        &json!({"leads": [ana()], "corretores": [bia()]}),
        &["Ana Prado"],
        &[message],
    );
    let (_, notes) = leads(&json!({"dados": [ana(), bia()], "corretores": [bia()]}).to_string());
    assert_eq!(
        notes.iter().filter(|note| **note == message).count(),
        1,
        "{notes:?}"
    );
}

#[test]
fn two_people_are_not_merged() {
    refused(
        &json!({"lead": ana(), "contact": bia()}),
        &["lead", "contact"],
    );
    refused(
        &json!({"data": {"lead": ana(), "contact": bia()}}),
        &["data.lead"],
    );
    refused(&with_own("contact", ana()), &["contact"]);
    refused(
        &with_own("contact", json!({"person": [ana()]})),
        &["contact.person"],
    );
    let inside = json!([{"contatos": [bia()]}]);
    let body = json!({"id": "t", "contact": ana(), "answers": inside});
    refused(&body, &["contact"]);
    let by_phone = json!({"nome": "Ana Prado", "telefone": "11900000041"});
    let by_mail = json!({"email": "ana@example.com"});
    gives(
        &json!({"lead": by_phone, "contact": by_mail}),
        &["Ana Prado"],
        &[],
    );
}

#[test]
fn people_in_a_part_that_looks_like_an_answer_are_not_merged() {
    let person = |name: &str, number: usize| {
        json!({
            "nome": format!("{name} Reis"),
            "telefone": format!("119{:08}", number * 37),
            "email": format!("p{number}@example.com"),
        })
    };
    let inside = json!({
        "data": {
            "answers": person("B", 1),
            "contact": [person("C", 2), person("D", 3), person("E", 4)],
            "id": "t",
        },
        "telefones": person("F", 5),
    });
    for name in ["items", "dados", "contatos", "contact"] {
        refused(&json!({name: inside}), &[&format!("{name}.data.contact")]);
    }
    let answers = json!({"id": "t", "answers": ana(), "contact": bia()});
    refused(
        &json!({"x": {"data": answers}}),
        &["x.data.answers", "x.data.contact"],
    );
    let text = json!({"id": "t", "text": "Olá", "lead": ana(), "contact": bia()});
    refused(
        &json!({"data": {"message": text}}),
        &["data.message.contact", "data.message.lead"],
    );
    // The people in an answer are not the lead.
    let family = json!([{"question": "Familia", "answers": [ana(), bia()]}]);
    left_out(&with_own("answers", family), &["Familia"]);
}

#[test]
fn every_part_that_is_read_is_compared() {
    // A list that is read as the lead's, though its name may refer to another person.
    refused(
        &json!({"x": ana(), "userdata": [bia()]}),
        &["userdata", "x"],
    );
    refused(&with_own("name", ana()), &["name"]);
    // Parts without a contact do not use up the comparisons.
    let empty = vec![json!({}); 200];
    refused(
        &json!({"answers": empty, "contact": ana(), "lead": bia()}),
        &["contact", "lead"],
    );
    let name = json!({"first": "Ana", "last": "Prado", "email": "ana@example.com"});
    let body = json!({"name": name, "email": "ana@example.com"});
    gives(&body, &["Ana Prado"], &[]);
}

#[test]
fn a_person_with_dependants_is_the_lead_under_any_name() {
    for name in ["r", "ficha"] {
        let body = json!({name: with_own("dep", json!([ana(), bia()]))});
        let note = format!("the lead is taken from `{name}`");
        left_out(&body, &[&format!("{name}.dep")]);
        assert!(leads(&body.to_string()).1.contains(&note));
    }
    let xml = "<r><nome>Caio Reis</nome><telefone>11900000043</telefone>\
        <dep><nome>Ana</nome><telefone>11900000041</telefone></dep>\
        <dep><nome>Bia</nome><telefone>11900000042</telefone></dep></r>";
    let (names, notes) = leads(xml);
    assert_eq!(names, ["Caio Reis"]);
    assert_eq!(notes.len(), 2, "{notes:?}");
    // Values beside the person belong to the lead.
    let (items, _) = converted(json!({}), &json!({"id": 7, "x": {"y": ana()}}).to_string());
    assert_eq!(items[0]["lead"]["externalId"], "7");
}

#[test]
fn people_under_names_for_other_people_are_not_leads() {
    refused(&json!({"corretores": [ana(), bia()]}), &["corretores"]);
    refused(
        &json!({"evento": "x", "proprietarios": [ana()]}),
        &["proprietarios"],
    );
    refused(&json!({"conjuge": ana()}), &["conjuge"]);
    refused(&json!({"corretor": ana()}), &[]);
    // A person in an event may be the one who caused it.
    refused(&json!({"evento": "x", "quem": ana()}), &["quem"]);
}

#[test]
fn the_place_of_leads_is_noted_unless_they_are_expected_there() {
    let list = |path: &str| format!("the leads are taken from the list `{path}`");
    let payload = |value: Value| json!({"payload": value.to_string()});
    for (body, path) in [
        (json!({"dados": [ana()]}), "dados"),
        (json!({"contatos": [ana()]}), "contatos"),
        (json!({"data": {"leads": [ana()]}}), "data.leads"),
        (payload(json!([ana()])), "payload"),
        (payload(json!({"leads": [ana()]})), "payload.leads"),
        (json!({"x": [[ana()]]}), "x.0"),
    ] {
        gives(&body, &["Ana Prado"], &[&list(path)]);
    }
    let one = json!({"x": {"y": ana()}});
    gives(&one, &["Ana Prado"], &["the lead is taken from `x.y`"]);
    for quiet in [
        json!([ana()]),
        json!({"leads": [ana()]}),
        json!({"contact": ana()}),
        payload(ana()),
    ] {
        gives(&quiet, &["Ana Prado"], &[]);
    }
}

#[test]
fn contact_like_values_under_meaningless_names_stay() {
    let list = json!([{"c1": "A", "c2": "+5511900000041"}, {"c2": "ana@example.com"}]);
    let (items, notes) = converted(json!({}), &with_own("dados", list.clone()).to_string());
    assert_eq!(items[0]["lead"]["attributes"], json!([["dados", list]]));
    let note = "item 0: no field reads these values, which look like a phone or an e-mail address: `dados[0].c2`, `dados[1].c2`";
    assert_eq!(notes, [note]);
}

#[test]
fn answers_of_other_people_do_not_become_attributes() {
    let sheet = |question: &str, answer: &str| {
        let pair = |name: &str, value: &str| json!({question: name, answer: value});
        json!([
            pair("Nome", "Ana Prado"),
            pair("Telefone", "11900000041"),
            pair("E-mail", "ana@example.com")
        ])
    };
    for (question, answer) in [
        ("question", "answer"),
        ("name", "value"),
        ("pergunta", "resposta"),
    ] {
        let sheet = sheet(question, answer);
        let inside = json!({"answers": sheet});
        left_out(&with_own("outros", json!({"x": inside})), &["outros.x"]);
        left_out(
            &with_own("indicados", json!([inside, {"respostas": sheet}])),
            &["indicados"],
        );
        for name in ["referrals", "grupo", "familia"] {
            left_out(&with_own(name, sheet.clone()), &[name]);
        }
        let text = inside.to_string();
        left_out(&with_own("x", json!(text)), &["x"]);
    }
    left_out(
        &with_own(
            "indicados",
            json!([{"nome": "Ana", "contato": "11900000041"}]),
        ),
        &["indicados"],
    );
    left_out(
        &with_own("indicados", json!(["Ana Prado 11900000041"])),
        &["indicados"],
    );
    for name in ["telefone_indicado", "email do amigo"] {
        left_out(&with_own(name, json!("ana@example.com")), &[name]);
        let asked = json!([{"question": name, "answer": "11900000041"}]);
        left_out(&with_own("answers", asked), &[name]);
    }
    for (name, value, place) in [
        (
            "emergency_contact",
            json!("Ana Prado 11900000041"),
            "emergency_contact",
        ),
        (
            "contato de emergência",
            json!("Ana Prado, (11) 90000-0041"),
            "contato de emergência",
        ),
        (
            "conjuge",
            json!({"cpf": "111.444.777-35", "renda": 5}),
            "conjuge.cpf",
        ),
        ("indicado_por", json!("Ana Prado"), "indicado_por"),
        ("Quem indicou?", json!("Dra. Ana da Luz"), "Quem indicou?"),
        (
            "referrer",
            json!({"first_name": "Ana", "since": "2024"}),
            "referrer.first_name",
        ),
    ] {
        left_out(&with_own(name, value), &[place]);
    }
    for (name, value) in [
        ("referrer", json!("https://a.example/Ana")),
        ("referral_source", json!("Facebook Ads")),
        ("proprietario", json!("Sim")),
        ("indicado_por", json!("Google")),
    ] {
        let (items, notes) = converted(json!({}), &with_own(name, value).to_string());
        assert!(
            items[0]["lead"].is_object() && notes.is_empty(),
            "{name}: {items:?} {notes:?}"
        );
    }
    // Answers of the lead, and answers of no person, stay.
    for own in [
        json!([{"question": "Nome", "answer": "Caio"}, {"question": "Telefone", "answer": "(11) 90000-0043"}]),
        json!([{"question": "Cor", "answer": "azul"}, {"question": "Indicação", "answer": "site"}]),
    ] {
        let (items, notes) = converted(json!({}), &with_own("historico", own.clone()).to_string());
        assert_eq!(items[0]["lead"]["attributes"], json!([["historico", own]]));
        assert!(notes.is_empty(), "{notes:?}");
    }
}
