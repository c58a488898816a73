//! Golden cases, damaged deliveries, and the recipes of the README.

#![allow(clippy::unwrap_used)]

mod answers;
mod bodies;
mod credentials;
mod people;
mod values;

use leadhost_golden::{Call, Case};
use leadhost_input::Schema;
use leadhost_sdk::serde_json::{self, Value, json};

use super::{Config, Mapping};

const CASES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/golden");

#[test]
fn golden_cases_hold() {
    leadhost_sdk::testing::run_golden::<Mapping>(CASES);
}

#[test]
fn damaged_deliveries_do_not_panic() {
    leadhost_sdk::testing::run_damaged::<Mapping>(CASES);
}

/// Returns the configurations in the README, each with the text that introduces it.
fn recipes() -> Vec<(&'static str, &'static str)> {
    let readme = include_str!("../README.md");
    let mut recipes = Vec::new();
    let mut rest = readme;
    while let Some((before, after)) = rest.split_once("```json\n") {
        let (recipe, after) = after.split_once("```").expect("the block is closed");
        let title = before.rsplit("**").nth(1).unwrap_or_default();
        recipes.push((title, recipe));
        rest = after;
    }
    recipes
}

#[test]
fn every_recipe_of_the_readme_is_a_configuration() {
    let schema = Schema::read(crate::config::SCHEMA).unwrap();
    let recipes = recipes();
    assert!(recipes.len() >= 10, "{}", recipes.len());
    for (title, recipe) in recipes {
        let value: Value = serde_json::from_str(recipe).unwrap();
        assert!(schema.fits(&value), "{title}");
        let read = serde_json::from_str::<Config>(recipe);
        assert!(read.is_ok(), "{title}: {read:?}");
    }
}

#[test]
fn the_schema_and_the_reader_accept_the_same_configurations() {
    let schema = Schema::read(crate::config::SCHEMA).unwrap();
    let cases = leadhost_golden::load_dir(std::path::Path::new(CASES)).unwrap();
    let known = cases.iter().map(|case| case.delivery.config_text());
    let wrong = [
        r#"{"fields": {"nome": "a"}}"#,
        r#"{"fields": {"name": {"paths": ["a"], "when": 1}}}"#,
        r#"{"fields": {"name": 1}}"#,
        r#"{"fields": {"name": {"join": ["a"], "constant": "b"}}}"#,
        r#"{"fields": {"name": {"join": ["a"], "path": "b"}}}"#,
        r#"{"fields": {"name": {"constant": "a", "path": ["b"]}}}"#,
        r#"{"fields": {"name": {"constant": "a", "header": "b"}}}"#,
        r#"{"fields": {"name": {"path": "a", "with": "-"}}}"#,
        r#"{"fields": {"name": {"path": "a", "format": "epoch"}}}"#,
        r#"{"fields": {"occurredAt": {"path": "a", "kind": "portal"}}}"#,
        r#"{"fields": {"phones": ["a", {"path": "a", "kind": "portal"}]}}"#,
        r#"{"fields": {"campaign": {"form-id": {"path": "a", "kind": "x"}}}}"#,
        r#"{"fields": {"name": {"path": "a", "digits": true}}}"#,
        r#"{"fields": {"emails": ["b", {"path": "a", "digits": true}]}}"#,
        r#"{"fields": {"name": {}}}"#,
        r#"{"fields": {"name": {"join": []}}}"#,
        r#"{"fields": {"name": {"paths": []}}}"#,
        r#"{"only": []}"#,
        r#"{"only": [{"path": "a"}]}"#,
        r#"{"only": [{"path": "a", "equals": []}]}"#,
        r#"{"only": [{"path": "a", "equals": [1], "exists": false}]}"#,
        r#"{"explain": "yes"}"#,
        r#"{"item": ["a"]}"#,
        r#"{"format": "yaml"}"#,
        r#"{"attributes": "some"}"#,
        r#"{"only": [{"equals": [1]}]}"#,
        r#"{"pairs": {"in": "a"}}"#,
    ];
    let right = [
        r#"{"fields": {"name": {"path": "a", "digits": false}, "phones": {"path": "a", "digits": true}}}"#,
        r#"{"fields": {"occurredAt": {"path": "a", "format": "epoch"}, "listings": {"path": "b", "kind": "c"}}}"#,
        r#"{"fields": {"name": {"join": ["a"], "with": "-"}, "phones": []}}"#,
        r#"{"only": [{"path": "a", "equals": [1], "exists": true}]}"#,
    ];
    let others = wrong.iter().chain(&right).map(ToString::to_string);
    for text in known.chain(others) {
        let value: Value = serde_json::from_str(&text).unwrap();
        let read = serde_json::from_str::<Config>(&text);
        assert_eq!(schema.fits(&value), read.is_ok(), "{text}: {read:?}");
    }
}

#[test]
fn a_value_that_does_not_fit_its_field_becomes_an_attribute() {
    let config = json!({
        "defaults": false,
        "fields": {
            "emails": "mail", "phones": ["celular", "zap"], "region": "pais",
            "occurredAt": {"path": "quando", "format": "%d/%m/%Y"}
        }
    });
    let body = json!({
        "celular": "(11) 90000-0001", "mail": "lia@example.com", "pais": "Brasil",
        "quando": "2026-03-02", "zap": "123"
    });
    let (items, _) = converted(config, &body.to_string());
    let lead = &items[0]["lead"];
    assert_eq!(lead["phones"], json!(["(11) 90000-0001"]));
    assert_eq!(lead["occurredAt"], Value::Null);
    assert_eq!(lead["region"], Value::Null);
    let attributes = json!([["pais", "Brasil"], ["quando", "2026-03-02"], ["zap", "123"]]);
    assert_eq!(lead["attributes"], attributes);
}

#[test]
fn a_value_of_which_the_options_leave_nothing_is_left_unread() {
    let message = |options: Value, text: &str| {
        let mut source = json!({"path": "recado"});
        let own = options.as_object().unwrap().clone();
        source.as_object_mut().unwrap().extend(own);
        let config = json!({"fields": {"message": source}, "explain": true});
        let body = json!({"phone": "(11) 90000-0001", "recado": text});
        let (items, notes) = converted(config, &body.to_string());
        let kept = items[0]["lead"]["attributes"].as_array().unwrap().len();
        (kept, notes.iter().any(|note| note.contains("does not fit")))
    };
    assert_eq!(message(json!({"digits": true}), "Oi"), (1, true));
    assert_eq!(message(json!({"trim": "-"}), "--"), (1, true));
    assert_eq!(message(json!({"digits": true}), "7"), (0, false));
    // `map` may empty a text on purpose.
    let emptied = json!({"lower": true, "map": {"oi": ""}});
    assert_eq!(message(emptied, "Oi"), (0, false));
}

#[test]
fn a_refusal_names_usual_fields_whose_values_are_no_contacts() {
    let refused = |body: Value| {
        let (items, _) = converted(json!({}), &body.to_string());
        items[0]["invalid"]["message"].as_str().unwrap().to_owned()
    };
    let said = refused(json!({"Celular": "call me", "email": "ana at example.com", "note": "x"}));
    assert!(
        said.contains("can be read from what is under `Celular`, `email`,"),
        "{said}"
    );
    let said = refused(json!({"email": "null", "telefone": "", "note": "x"}));
    assert!(
        said.starts_with("no phone, e-mail address or id is under a usual name;"),
        "{said}"
    );
}

#[test]
fn an_id_beside_contacts_that_are_not_read_is_no_pointer() {
    let outcome = |body: Value| {
        let (items, notes) = converted(json!({}), &body.to_string());
        (items[0].clone(), notes)
    };
    let person = json!({"nome": "Pat", "email": "pat@example.com", "telefone": "11987654321"});
    for name in ["user", "client", "corretor"] {
        let (outcome, _) = outcome(json!({"id": "9", name: person}));
        let problem = outcome["invalid"]["message"].as_str().unwrap();
        assert!(problem.contains(&format!("`{name}.email`")), "{problem}");
        assert!(problem.contains("say so under `fields`"), "{problem}");
    }
    // What is known to be no person's does not count.
    let (quiet, notes) = outcome(json!({"id": "9", "imovel": {"contato": "(11) 3000-0001"}}));
    assert!(quiet["ignored"].is_string(), "{quiet}");
    assert!(notes.is_empty(), "{notes:?}");
    let (event, notes) = outcome(json!({"event": "moved", "id": "9", "user": person}));
    assert!(event["ignored"].is_string(), "{event}");
    assert!(notes[0].contains("`user.email`"), "{notes:?}");
}

#[test]
fn usual_names_in_more_languages_are_read() {
    let lead = |body: Value| converted(json!({}), &body.to_string()).0[0]["lead"].clone();
    for (names, email) in [
        (["prenom", "nom"], "courriel"),
        (["vorname", "nachname"], "E-Mail"),
        (["nome", "cognome"], "contactMail"),
    ] {
        let body = json!({names[0]: "Ana", names[1]: "Costa", email: "ana@example.com"});
        let lead = lead(body);
        assert_eq!(lead["name"], "Ana Costa", "{names:?}");
        assert_eq!(lead["emails"], json!(["ana@example.com"]), "{email}");
    }
    // `nom` alone may be a thing's name.
    assert_eq!(
        lead(json!({"nom": "Villa", "courriel": "ana@example.com"}))["name"],
        Value::Null
    );
    for name in [
        "contactMessage",
        "inquiryMessage",
        "Nachricht",
        "messaggio",
        "txtMensagem",
    ] {
        let lead = lead(json!({"telefon": "+49 30 90000001", name: "Hallo"}));
        assert_eq!(lead["message"], "Hallo", "{name}");
    }
    for (body, kind) in [
        (json!({"Qual o código do imóvel?": "AP1"}), "client"),
        (json!({"agencyReference": "AP1"}), "client"),
        (json!({"imóvel de interesse": "AP1"}), "client"),
        (json!({"item_id": "AP1"}), "client"),
        (json!({"expose": {"exposeId": "AP1"}}), "portal"),
        (json!({"adCode": "AP1"}), "portal"),
    ] {
        let mut with_person = json!({"phone": "(11) 90000-0001"});
        let own = body.as_object().unwrap().clone();
        with_person.as_object_mut().unwrap().extend(own);
        let listings = lead(with_person)["listings"].clone();
        assert!(listings.to_string().contains("AP1"), "{body}");
        assert!(listings.to_string().contains(kind), "{body}: {listings}");
    }
}

#[test]
fn a_configured_path_that_ends_at_the_number_has_the_country_beside_it() {
    let phones = |path: &str, body: Value| {
        let config = json!({"fields": {"externalId": "id", "phones": path}});
        let (items, _) = converted(config, &body.to_string());
        items[0]["lead"]["phones"].clone()
    };
    let object = json!({"country": "ES", "number": "34912345678"});
    let spain = json!(["34912345678;phone-context=ES"]);
    let (one, several) = (
        json!({"id": 7, "of": object}),
        json!({"id": 7, "of": [object]}),
    );
    assert_eq!(phones("of.number", one), spain);
    assert_eq!(phones("of[*].number", several), spain);
    let beside = json!({"id": 7, "phone": "912345678", "country": "PT"});
    let portugal = json!(["912345678;phone-context=PT"]);
    assert_eq!(phones("phone", beside), portugal);
    // The country of an address, and one of a number that has its own.
    let address = json!({"id": 7, "phone": "912345678", "city": "Porto", "country": "PT"});
    assert_eq!(phones("phone", address), json!(["912345678"]));
    let whole = json!({"id": 7, "phone": "+34 912 345 678", "country": "PT"});
    assert_eq!(phones("phone", whole), json!(["+34 912 345 678"]));
}

#[test]
fn a_country_beside_a_number_is_its_region_or_its_code() {
    let phones = |config: Value, body: &Value| {
        let (items, _) = converted(config, &body.to_string());
        items[0]["lead"]["phones"].clone()
    };
    for (phone, expect) in [
        (
            json!({"country": "PT", "number": "912345678"}),
            "912345678;phone-context=PT",
        ),
        (
            json!({"number": "912345678", "countryIso2": "pt"}),
            "912345678;phone-context=pt",
        ),
        (
            json!({"country": {"iso2": "pt", "name": "Portugal"}, "number": "912345678"}),
            "912345678;phone-context=pt",
        ),
        (
            json!({"country": "ES", "number": "34912345678"}),
            "34912345678;phone-context=ES",
        ),
        (
            json!({"country": "CH", "number": "41912345678"}),
            "41912345678;phone-context=CH",
        ),
        (
            json!({"country": "34", "number": "34912345678"}),
            "34912345678;phone-context=+34",
        ),
        (
            json!({"country": "351", "area": "91", "phone": "2345678"}),
            "+351 (91) 2345678",
        ),
        (
            json!({"country": "+351", "number": "912345678"}),
            "+351 912345678",
        ),
        (
            json!({"countryCode": "PT", "phone": "912345678", "e164Phone": "+351912345678"}),
            "+351912345678",
        ),
        (
            json!({"country": "PT", "number": "912345678", "internationalNumber": "+351 912 345 678"}),
            "+351 912 345 678",
        ),
        (
            json!({"country": "PT", "number": "+351912345678"}),
            "+351912345678",
        ),
        (
            json!({"country": "BR", "number": "(11) 90000-0001"}),
            "(11) 90000-0001;phone-context=BR",
        ),
        (
            json!({"country": "Portugal", "number": "912345678"}),
            "912345678",
        ),
        (json!({"country": null, "number": "912345678"}), "912345678"),
    ] {
        let is = json!([expect]);
        let mut body = json!({"id": 77, "name": "Rui Costa", "emailAddress": "rui@example.com"});
        body["phoneNumber"] = phone.clone();
        assert_eq!(phones(json!({}), &body), is, "{phone}");
        let field = json!({"fields": {"phones": "phoneNumber"}});
        assert_eq!(phones(field, &body), is, "configured: {phone}");
        body["phoneNumber"] = Value::Null;
        body["phones"] = json!([phone]);
        assert_eq!(phones(json!({}), &body), is, "in a list: {phone}");
        let answers = json!({"answers": [
            {"name": "phone", "answer": phone}, {"name": "name", "answer": "Rui Costa"},
        ]});
        assert_eq!(phones(json!({}), &answers), is, "an answer: {phone}");
    }
    for (body, expect) in [
        (
            json!({"phone": "912345678", "country": "PT"}),
            "912345678;phone-context=PT",
        ),
        (
            json!({"phone": "912345678", "phoneCountry": "pt"}),
            "912345678;phone-context=pt",
        ),
        (
            json!({"phone": "912345678", "countryCode": "PT"}),
            "912345678;phone-context=PT",
        ),
        (
            json!({"countryCode": "PT", "phone": "912345678", "e164Phone": "+351912345678"}),
            "+351912345678",
        ),
        // The country of an address.
        (
            json!({"phone": "11900000001", "country": "PT", "city": "Lisboa"}),
            "11900000001",
        ),
        (
            json!({"phone": "11900000001", "address": {"country": "PT"}}),
            "11900000001",
        ),
        (
            json!({"phone": {"number": "11900000001"}, "country": "PT"}),
            "11900000001",
        ),
    ] {
        assert_eq!(phones(json!({}), &body), json!([expect]), "{body}");
    }
}

#[test]
fn a_handle_with_a_number_at_its_end_is_that_handle() {
    let lead = |body: &Value| converted(json!({}), &body.to_string()).0[0]["lead"].clone();
    let person = json!({"first-name": "Ana", "last-name": "Souza"});
    for (fields, message) in [
        (
            json!({"name1": "Ana Souza", "questionOrRequest": "Quero"}),
            Value::Null,
        ),
        (
            json!({"name_1": "Ana Souza", "textarea_1": "Quero"}),
            json!("Quero"),
        ),
        (
            json!({"name-1": person, "textarea-1": "Quero"}),
            json!("Quero"),
        ),
        (
            json!({"nome1": "Ana Souza", "mensagem_1": "Quero"}),
            json!("Quero"),
        ),
        (
            json!({"full_name_2": "Ana Souza", "message2": "Quero"}),
            json!("Quero"),
        ),
        (
            json!({"first_name_1": "Ana", "last_name_1": "Souza"}),
            Value::Null,
        ),
        (
            json!({"name_2": "Rui Costa", "name_1": "Ana Souza"}),
            Value::Null,
        ),
        (
            json!({"name_10": "Rui Costa", "name_9": "Ana Souza"}),
            Value::Null,
        ),
        (json!({"name_1": "", "name_2": "Ana Souza"}), Value::Null),
        (
            json!({"name": "Ana Souza", "obs_1": "Quero"}),
            json!("Quero"),
        ),
        (
            json!({"name_1": "Rui Costa", "name": "Ana Souza"}),
            Value::Null,
        ),
        (
            json!({"message_1": "Oi", "message": "Quero", "name": "Ana Souza"}),
            json!("Quero"),
        ),
    ] {
        let mut body = json!({"email_1": "ana@example.com", "phone_1": "(11) 90000-0001"});
        body.as_object_mut()
            .unwrap()
            .extend(fields.as_object().unwrap().clone());
        let lead = lead(&body);
        assert_eq!(lead["name"], "Ana Souza", "{body}");
        assert_eq!(lead["message"], message, "{body}");
        assert_eq!(lead["phones"], json!(["(11) 90000-0001"]), "{body}");
        assert_eq!(lead["emails"], json!(["ana@example.com"]), "{body}");
    }
    for name in ["tel-1", "tel-619", "zap1", "cell_2", "wpp 1", "your-tel-3"] {
        let body = json!({"your-name": "Ana Souza", name: "(11) 90000-0001"});
        assert_eq!(lead(&body)["phones"], json!(["(11) 90000-0001"]), "{name}");
    }
    let body = json!({"name": "Ana Souza", "mail-2": "ana@example.com"});
    assert_eq!(lead(&body)["emails"], json!(["ana@example.com"]));
    // A number that has a meaning.
    for name in [
        "nome do filho 1",
        "nomedofilho1",
        "child_name_2",
        "text_1",
        "question1",
    ] {
        let body = json!({"phone": "(11) 90000-0001", name: "Ana Souza"});
        let lead = lead(&body);
        assert_eq!(
            (&lead["name"], &lead["message"]),
            (&Value::Null, &Value::Null),
            "{name}"
        );
        assert_eq!(lead["attributes"][0][0], name);
    }
    let mut case = Case::new("a form", Call::Convert);
    let form = "application/x-www-form-urlencoded";
    case.delivery.headers = vec![("content-type".to_owned(), form.to_owned())];
    case.body = b"name_1=Ana+Souza&email-1=ana%40example.com&textarea-1=Quero".to_vec();
    let answer = leadhost_sdk::testing::answer::<Mapping>(&case);
    let lead = &answer["ok"]["items"][0]["outcome"]["lead"];
    assert_eq!(
        (&lead["name"], &lead["message"]),
        (&json!("Ana Souza"), &json!("Quero"))
    );
}

#[test]
fn a_word_that_is_neither_yes_nor_no_is_left_unread() {
    let is_test = |value: Value| {
        let config = json!({"fields": {"isTest": "flag"}, "explain": true});
        let body = json!({"phone": "(11) 90000-0001", "flag": value});
        let (items, notes) = converted(config, &body.to_string());
        let lead = &items[0]["lead"];
        let kept = lead["attributes"].as_array().unwrap().len();
        let noted = notes.iter().any(|note| note.contains("`fields.isTest`"));
        (lead["isTest"].as_bool().unwrap(), kept, noted)
    };
    for (value, expect) in [
        (json!(true), (true, 0, false)),
        (json!("SIM"), (true, 0, false)),
        (json!(0), (false, 0, false)),
        (json!("Não"), (false, 0, false)),
        (json!("production"), (false, 0, false)),
        (json!("Mike Johnson"), (false, 1, true)),
    ] {
        assert_eq!(is_test(value.clone()), expect, "{value}");
    }
    let (_, notes) = converted(
        json!({"fields": {"isTest": {"constant": "maybe"}}, "explain": true}),
        r#"{"phone": "(11) 90000-0001"}"#,
    );
    assert!(notes[0].contains("`fields.isTest`"), "{notes:?}");
}

#[test]
fn an_explanation_says_what_was_read_from_where() {
    let config = json!({"explain": true, "fields": {"message": {"path": "texto"}}});
    let body = json!({
        "id": "f-1", "nome": "Lia Campos", "ddd": "11", "telefone": "90000-0001",
        "texto": "Oi", "a.b": ["lia@", "outra@example.com"], "andar": 3, "formId": 7, "adId": 7
    });
    let (items, notes) = converted(config, &body.to_string());
    assert_eq!(items[0]["lead"]["phones"], json!(["(11) 90000-0001"]));
    let explained: Vec<Value> = notes
        .iter()
        .map(|note| serde_json::from_str(note.strip_prefix("explain: ").unwrap()).unwrap())
        .collect();
    let field = |name: &str| explained.iter().find(|one| one["field"] == name).unwrap();
    let expect = json!({"item": 0, "field": "message", "from": ["texto"], "guessed": false});
    assert_eq!(field("message"), &expect);
    let mut phone = field("phones")["from"].as_array().unwrap().clone();
    phone.sort_by_key(ToString::to_string);
    assert_eq!(phone, [json!("ddd"), json!("telefone")]);
    assert_eq!(field("phones")["guessed"], true);
    assert_eq!(field("name")["from"], json!(["nome"]));
    assert_eq!(field("campaign")["from"], json!(["adId", "formId"]));
    assert_eq!(field("campaign")["parts"], json!(["ad-id", "form-id"]));
    let unread = |kind: &str| explained.iter().find_map(|one| one.get(kind)).unwrap();
    assert_eq!(unread("unreadContacts"), &json!(["\"a.b\"[1]"]));
    assert_eq!(unread("unread"), &json!(["\"a.b\"[0]", "andar"]));
}

#[test]
fn a_configured_field_without_a_value_is_explained_where_a_configuration_is_tried() {
    let fields = json!({
        "name": "nome", "message": ["recado", {"header": "x-note"}], "region": "pais",
        "source": [], "campaign": {"form-id": "form", "form-name": "titulo"},
    });
    let body = json!([
        {"nome": "Lia", "telefone": "(11) 90000-0001", "pais": "Brasil", "titulo": "A"},
        {"nome": "Rui", "telefone": "(11) 90000-0002", "recado": "Oi"},
    ]);
    let explained = |explain: bool| {
        let config = json!({"explain": explain, "fields": fields});
        let (_, notes) = converted(config, &body.to_string());
        let explained = notes.into_iter().filter(|note| note.contains("no value"));
        explained.collect::<Vec<_>>()
    };
    // One item has the message, and one the title.
    let expect = ["region", "campaign.form-id"].map(|field| {
        format!("`fields.{field}` is configured, and no value of this delivery fits it")
    });
    assert_eq!(explained(true), expect);
    assert!(explained(false).is_empty());
}

#[test]
fn a_contact_that_no_field_reads_is_noted_unless_it_is_known_whose_it_is() {
    let noted = |extra: Value| {
        let mut body =
            json!({"nome": "Lia", "telefone": "(11) 90000-0001", "email": "lia@example.com"});
        let own = extra.as_object().unwrap().clone();
        body.as_object_mut().unwrap().extend(own);
        converted(json!({}), &body.to_string()).1
    };
    let note = |places: &str| {
        let text =
            "item 0: no field reads these values, which look like a phone or an e-mail address: ";
        vec![format!("{text}{places}")]
    };
    assert_eq!(
        noted(json!({"recado": {"c2": "+55 11 90000-0002"}})),
        note("`recado.c2`")
    );
    assert_eq!(
        noted(json!({"c1": "rui@example.com", "c2": 7})),
        note("`c1`")
    );
    for unread in [
        "fale com bia@example.com",
        "bia @example.com",
        "bia%40example",
        "bia@example",
    ] {
        assert_eq!(
            noted(json!({"e-mail": unread})),
            note("`e-mail`"),
            "{unread}"
        );
    }
    for quiet in [
        json!({"c1": "LIA@example.com", "c2": "5511900000001"}),
        json!({"corretor": {"email": "outra@example.com", "telefone": "(11) 90000-0003"}}),
        json!({"email_corretor": "outra@example.com"}),
        json!({"imovel": {"contato": "(11) 3000-0001"}, "pedido": "20260302001"}),
    ] {
        assert!(noted(quiet.clone()).is_empty(), "{quiet}");
    }
    // The note is bounded, and only the first items have one.
    let many: serde_json::Map<String, Value> = (0..40)
        .map(|number| {
            (
                format!("x{number}"),
                json!(format!("x{number}@example.com")),
            )
        })
        .collect();
    let notes = noted(Value::Object(many));
    assert!(
        notes.len() == 1 && notes[0].ends_with("and 3 more"),
        "{notes:?}"
    );
}

/// Returns the items' outcomes and the notes for a body with this configuration.
fn converted(config: Value, body: &str) -> (Vec<Value>, Vec<String>) {
    let mut case = Case::new("body", Call::Convert);
    case.delivery.config = config;
    case.body = body.as_bytes().to_vec();
    let answer = leadhost_sdk::testing::answer::<Mapping>(&case);
    let items = answer["ok"]["items"].as_array().unwrap().iter();
    let notes = answer["ok"]["notes"].as_array().unwrap().iter();
    (
        items.map(|item| item["outcome"].clone()).collect(),
        notes
            .map(|note| note.as_str().unwrap().to_owned())
            .collect(),
    )
}
