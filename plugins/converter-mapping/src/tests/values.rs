//! Values as people and programs write them: words for nothing, kinds of phones, times, references of HTML,
//! choices, and one path for one element and for many.

use leadhost_golden::{Call, Case};
use leadhost_sdk::serde_json::{Value, json};

use super::super::Mapping;
use super::converted;

/// Returns the first lead, read without a configuration, and the notes.
fn lead(body: &Value) -> (Value, Vec<String>) {
    let (items, notes) = converted(json!({}), &body.to_string());
    (items[0]["lead"].clone(), notes)
}

fn lead_of(config: &Value, content_type: &str, body: &str) -> Vec<Value> {
    let mut case = Case::new("a body", Call::Convert);
    case.delivery.headers = vec![("content-type".to_owned(), content_type.to_owned())];
    case.delivery.config = config.clone();
    case.body = body.as_bytes().to_vec();
    let answer = leadhost_sdk::testing::answer::<Mapping>(&case);
    let items = answer["ok"]["items"].as_array();
    let items = items.unwrap_or_else(|| panic!("{body}: {answer}")).iter();
    items.map(|item| item["outcome"]["lead"].clone()).collect()
}

#[test]
fn a_word_for_nothing_is_no_value_of_the_lead_and_stays_an_attribute() {
    let words = [
        "null",
        "undefined",
        "None",
        "<nil>",
        "NaN",
        "N/A",
        "-",
        "[object Object]",
        "{{lead.x}}",
        "%X%",
        "*|X|*",
    ];
    for word in words
        .map(Value::from)
        .into_iter()
        .chain([json!(0), json!(false)])
    {
        let body = json!({"id": word, "name": "Ana Souza", "phone": "(11) 90000-1000"});
        let (found, notes) = lead(&body);
        assert_eq!(found["externalId"], Value::Null, "{word}");
        assert_eq!(found["attributes"], json!([["id", word]]), "{word}");
        assert!(
            notes[0].contains("words for nothing") && notes[0].contains("`id`"),
            "{notes:?}"
        );
        let config = json!({"fields": {"externalId": ["id", "other"]}});
        let body =
            json!({"id": word, "other": "7", "name": "Ana Souza", "phone": "(11) 90000-1000"});
        let (items, notes) = converted(config, &body.to_string());
        assert_eq!(items[0]["lead"]["externalId"], "7", "{word}");
        assert!(notes[0].contains("`id`"), "{notes:?}");
    }
    for word in [
        "null",
        "undefined undefined",
        "{{first}} {{last}}",
        "[your-name]",
        "N/A",
    ] {
        let (found, _) = lead(&json!({
            "id": "7", "name": word, "message": word, "phone": word, "celular": "11 90000-1000", "email": word,
            "codigoImovel": word, "imovel": {"codigo": word, "id": "9"},
        }));
        assert_eq!(
            (&found["name"], &found["message"]),
            (&Value::Null, &Value::Null),
            "{word}"
        );
        assert_eq!(found["phones"], json!(["11 90000-1000"]), "{word}");
        assert_eq!(
            found["listings"].to_string(),
            r#"[{"kind":"portal","reference":"9"}]"#,
            "{word}"
        );
    }
    for (first, last, name) in [
        ("Ana", "Null", json!("Ana Null")),
        ("Nil", "Prado", json!("Nil Prado")),
        ("null", "Prado", json!("Prado")),
        ("Ana", "undefined", json!("Ana")),
        ("Null", "Null", Value::Null),
        ("Yuchen", "Chen", json!("Yuchen Chen")),
        ("Juliana", "Ana", json!("Juliana Ana")),
        ("Ana Prado", "Prado", json!("Ana Prado")),
    ] {
        let parts = json!({"firstName": first, "lastName": last});
        for body in [parts.clone(), json!({"name": parts})] {
            let mut body = body;
            body["phone"] = "11 90000-1000".into();
            assert_eq!(lead(&body).0["name"], name, "{body}");
        }
    }
}

#[test]
fn the_kind_of_a_phone_decides_as_its_name_does() {
    let (fixed, mobile) = ("11 4002-8904", "11 90001-6101");
    for (kind, number) in [
        ("type", "number"),
        ("label", "value"),
        ("VALUE_TYPE", "VALUE"),
        ("@type", "#text"),
        ("rel", "phone"),
    ] {
        for (word, expect) in [
            ("fax", json!([mobile])),
            ("Pager", json!([mobile])),
            ("home", json!([mobile, fixed])),
            ("Work", json!([mobile, fixed])),
        ] {
            let list = json!([{kind: word, number: fixed}, {kind: "Mobile", number: mobile}]);
            for name in ["phones", "PHONE"] {
                let body = json!({"id": "7", "name": "Ana Souza", name: list});
                assert_eq!(lead(&body).0["phones"], expect, "{body}");
                let paths = [name.to_owned(), format!("{name}[*].{number}")];
                for path in paths {
                    let config = json!({"fields": {"phones": path}});
                    let (items, _) = converted(config, &body.to_string());
                    assert_eq!(items[0]["lead"]["phones"], expect, "{path} of {body}");
                }
            }
        }
    }
    let (ana, bia) = ("ana@example.com", "bia@example.com");
    let body = json!({
        "phones": [{"type": "mobile", "number": mobile}, {"type": "home", "primary": true, "number": fixed}],
        "emails": [{"value": bia}, {"value": ana, "isPrimary": "true"}],
    });
    let (first, _) = lead(&body);
    assert_eq!(first["phones"], json!([fixed, mobile]));
    assert_eq!(first["emails"], json!([ana, bia]));
    let members =
        json!({"name": "Ana", "phones": {"fax": fixed, "home": "11 4002-8905", "cel": mobile}});
    assert_eq!(lead(&members).0["phones"], json!([mobile, "11 4002-8905"]));
    let chosen = json!({"fields": {"phones": "phones[?type=fax].number"}});
    let body = json!({"name": "Ana", "phones": [{"type": "fax", "number": fixed}]});
    assert_eq!(
        converted(chosen, &body.to_string()).0[0]["lead"]["phones"],
        json!([fixed])
    );
    let adf = "<adf><prospect><id>7</id><customer><contact><name part=\"full\">Ana</name><phone type=\"fax\">11 4002-8910</phone>\
        <phone type=\"cellphone\">11 90001-6106</phone></contact></customer></prospect></adf>";
    assert_eq!(
        lead_of(&json!({}), "text/xml", adf)[0]["phones"],
        json!(["11 90001-6106"])
    );
}

#[test]
fn times_are_read_as_programs_print_them_and_the_time_zero_is_none() {
    for (value, expect) in [
        (
            json!("Mon Mar 02 2026 09:15:30 GMT-0300 (Horário Padrão de Brasília)"),
            json!("2026-03-02T09:15:30-03:00"),
        ),
        (
            json!("/Date(1772453730000-0300)/"),
            json!("2026-03-02T12:15:30Z"),
        ),
        (
            json!({"_seconds": 1_772_453_730, "_nanoseconds": 0}),
            json!("2026-03-02T12:15:30Z"),
        ),
        (json!("0001-01-01T00:00:00Z"), Value::Null),
        (json!("1899-12-30T00:00:00"), Value::Null),
        (json!("1900-01-01"), Value::Null),
        (json!("1970-01-01T00:00:00Z"), Value::Null),
        (json!("1969-12-31T21:00:00-03:00"), Value::Null),
        (json!("0000-00-00 00:00:00"), Value::Null),
    ] {
        let body = json!({"phone": "11 90000-1000", "createdAt": value, "timestamp": null});
        assert_eq!(lead(&body).0["occurredAt"], expect, "{value}");
        let config = json!({"fields": {"occurredAt": ["createdAt", "other"]}});
        let (items, _) = converted(
            config,
            &json!({"phone": "11 90000-1000", "createdAt": value, "other": "2026-03-03"})
                .to_string(),
        );
        let expect = if expect.is_null() {
            json!("2026-03-03T00:00:00")
        } else {
            expect
        };
        assert_eq!(
            items[0]["lead"]["occurredAt"], expect,
            "configured: {value}"
        );
    }
}

#[test]
fn addresses_and_references_of_html_are_read_as_they_are_meant() {
    for email in [
        "Ana <ana@example.com>",
        "\"Souza, Ana\" <ana@example.com>",
        "ana@example.com; bia@example.com",
        "ana@example.com (Ana)",
    ] {
        let (found, _) = lead(&json!({"name": "Ana", "phone": "11 90000-1000", "email": email}));
        assert_eq!(found["emails"], json!([email]));
    }
    let form = "application/x-www-form-urlencoded";
    let of = |body: &str| lead_of(&json!({}), form, body)[0].clone();
    let plus = of(
        "nome=Ana&telefone=11900008190&email=ana+imovel90@example.com&recado=ligue+ana@example.com",
    );
    assert_eq!(plus["emails"], json!(["ana+imovel90@example.com"]));
    assert_eq!(
        plus["attributes"],
        json!([["recado", "ligue ana@example.com"]])
    );
    let name =
        of("nome=Jo%26atilde%3Bo+D%26%23039%3BAvila&telefone=11900015120&mensagem=B%26amp%3Blt%3B");
    assert_eq!(
        (&name["name"], &name["message"]),
        (&json!("João D'Avila"), &json!("B&lt;"))
    );
    let xml = "<lead><name>Jo&atilde;o &amp;eacute;</name><phone>11900015120</phone></lead>";
    assert_eq!(
        lead_of(&json!({}), "text/xml", xml)[0]["name"],
        "João &eacute;"
    );
}

#[test]
fn a_ticked_box_is_ticked_and_a_choice_is_shown_by_its_label() {
    let config = json!({"fields": {"consents": {"marketing": "opt"}, "isTest": "test"}});
    let form = "application/x-www-form-urlencoded";
    for (body, is_granted) in [
        ("opt=0&opt=1", true),
        ("opt=1&opt=0", true),
        ("opt=0", false),
        ("opt=no&opt=off", false),
    ] {
        let body = format!("nome=Ana&telefone=11900008190&{body}&test=0");
        let lead = &lead_of(&config, form, &body)[0];
        assert_eq!(lead["consents"][0]["granted"], is_granted, "{body}");
    }
    let choice = |value: Value| {
        let options = json!([{"id": "o1", "text": "Comprar"}, {"id": "o2", "text": "Alugar"}]);
        lead(&json!({"data": {"fields": [
            {"key": "q1", "label": "Telefone", "type": "INPUT_PHONE_NUMBER", "value": "+5511900001000"},
            {"key": "q2", "label": "Interesse", "type": "MULTIPLE_CHOICE", "value": value, "options": options},
        ]}})).0["attributes"].clone()
    };
    assert_eq!(choice(json!(["o1"])), json!([["Interesse", "Comprar"]]));
    assert_eq!(
        choice(json!(["o2", "o1"])),
        json!([["Interesse", ["Alugar", "Comprar"]]])
    );
    assert_eq!(choice(json!("o3")), json!([["Interesse", "o3"]]));
}

#[test]
fn one_path_leads_to_one_element_and_to_many() {
    let one = "<n:Notification><n:object><sf:Id>%</sf:Id><sf:FirstName>Ana</sf:FirstName><sf:Phone>11 90000-100%</sf:Phone></n:object></n:Notification>";
    for count in [1, 2] {
        let elements: String = (1..=count)
            .map(|at: usize| one.replace('%', &at.to_string()))
            .collect();
        let body = format!("<s:Envelope xmlns:s=\"u\"><s:Body>{elements}</s:Body></s:Envelope>");
        for items in [
            "Envelope.Body.Notification[*].object",
            "Envelope.Body.Notification.object",
            "s:Envelope.s:Body.n:Notification.n:object",
        ] {
            let leads = lead_of(&json!({"items": [items]}), "text/xml", &body);
            assert_eq!(leads.len(), count, "{items}");
            for (at, lead) in leads.iter().enumerate() {
                assert_eq!(lead["externalId"], (at + 1).to_string(), "{items}");
                assert_eq!(
                    (&lead["name"], &lead["phones"][0]),
                    (&json!("Ana"), &json!(format!("11 90000-100{}", at + 1)))
                );
            }
        }
    }
}

#[test]
fn a_configured_field_changes_only_itself() {
    let core = |id: u8| json!({"firstname": {"value": "Ana"}, "lastname": {"value": "Prado"}, "mobile": {"value": format!("+55 11 90000-070{id}")}, "email": {"value": format!("ana{id}@example.com")}});
    let record = |id: u8| json!({"person": {"id": format!("P-{id}"), "core": core(id)}});
    let body = |ids: &[u8]| {
        json!({"batch": ids.iter().map(|id| record(*id)).collect::<Vec<_>>()}).to_string()
    };
    let without_id = |lead: &Value| {
        let mut lead = lead["lead"].clone();
        lead["externalId"].take();
        lead["attributes"].take();
        lead
    };
    let (guessed, _) = converted(json!({}), &body(&[1, 2]));
    for (config, ids, is_known) in [
        (
            json!({"fields": {"externalId": "batch[0].person.id"}}),
            &[1][..],
            true,
        ),
        (
            json!({"items": ["batch[*]"], "fields": {"externalId": "person.id"}}),
            &[1, 2],
            true,
        ),
        (
            json!({"items": ["batch"], "fields": {"externalId": "person.id"}}),
            &[1],
            true,
        ),
        (
            json!({"fields": {"externalId": "person.id"}}),
            &[1, 2],
            true,
        ),
        (
            json!({"fields": {"source": {"constant": "x"}, "name": "person.nothing"}}),
            &[1, 2],
            false,
        ),
    ] {
        let (items, notes) = converted(config.clone(), &body(ids));
        assert_eq!(items.len(), ids.len(), "{config}");
        for (at, item) in items.iter().enumerate() {
            assert!(
                !is_known || item["lead"]["externalId"] == format!("P-{}", at + 1),
                "{config}: {item}"
            );
            assert!(
                !is_known || without_id(item) == without_id(&guessed[at]),
                "{config}: {item}"
            );
            assert_eq!(
                item["lead"]["phones"], guessed[at]["lead"]["phones"],
                "{config}"
            );
        }
        assert!(
            notes.iter().all(|note| !note.contains("say so")),
            "{config}: {notes:?}"
        );
    }
}
