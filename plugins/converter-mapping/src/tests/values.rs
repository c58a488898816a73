//! Values as people and programs write them: words for nothing, kinds of phones, times, references of HTML,
//! choices, and one path for one element and for many.

use leadhost_golden::{Call, Case};
use leadhost_sdk::serde_json::{self, Value, json};

use super::super::Mapping;
use super::converted;

const FORM: &str = "application/x-www-form-urlencoded";

/// Returns the leads of a body, read with a configuration.
fn leads(config: &str, content_type: &str, body: &str) -> Vec<Value> {
    let mut case = Case::new("a body", Call::Convert);
    case.delivery.headers = vec![("content-type".to_owned(), content_type.to_owned())];
    case.delivery.config = serde_json::from_str(config).unwrap();
    case.body = body.as_bytes().to_vec();
    let answer = leadhost_sdk::testing::answer::<Mapping>(&case);
    let items = answer["ok"]["items"].as_array().unwrap().iter();
    items.map(|item| item["outcome"]["lead"].clone()).collect()
}

/// Asserts members of the first lead of a JSON body. A row is `body => members`, and each `#` stands for the word.
fn check(config: &str, rows: &str, word: &str) {
    for row in rows.lines().filter(|row| !row.trim().is_empty()) {
        let (body, expect) = row.split_once(" => ").expect("a row");
        let lead = &leads(config, "application/json", &body.replace('#', word))[0];
        let expect: Value = serde_json::from_str(&expect.replace('#', word)).unwrap();
        for (member, value) in expect.as_object().unwrap() {
            assert_eq!(&lead[member], value, "{word}: {row}");
        }
    }
}

#[test]
fn a_word_for_nothing_is_no_value_of_the_lead_and_stays_an_attribute() {
    let words =
        r#"null undefined None <nil> NaN N/A - [object_Object] {{lead.x}} %X% *|X|* ${x} [your-x]"#;
    for word in words
        .split(' ')
        .map(|word| format!("{word:?}").replace("t_O", "t O"))
    {
        let rows = r##"
{"id": #, "name": "Ana", "phone": "11 90000-1000"} => {"externalId": null, "attributes": [["id", #]]}
{"id": "7", "name": #, "message": #, "phone": #, "celular": "11 90000-1000", "email": #} => {"name": null, "message": null, "phones": ["11 90000-1000"], "emails": []}
{"phone": "11 90000-1000", "codigoImovel": #, "imovel": {"codigo": #, "id": "9"}} => {"listings": [{"kind": "portal", "reference": "9"}]}
"##;
        check("{}", rows, &word);
    }
    for word in ["0", "false", "\"null\"", "\"{{first}} {{last}}\""] {
        let row = r##"{"id": #, "b": "7", "name": "Ana", "phone": "11 90000-1000"} => {"externalId": "7", "attributes": [["id", #]]}"##;
        check(r#"{"fields": {"externalId": ["id", "b"]}}"#, row, word);
        let (_, notes) = converted(
            json!({}),
            &format!(r#"{{"id": {word}, "phone": "11 90000-1000"}}"#),
        );
        assert!(
            notes[0].contains("words for nothing") && notes[0].contains("`id`"),
            "{notes:?}"
        );
    }
    for id in ["0", "\"null\"", "\"undefined\"", "\"{{id}}\""] {
        check(
            r#"{"fields": {"externalId": {"path": "id", "prefix": "crm-"}}}"#,
            r##"
{"id": #, "phone": "11 90000-1000"} => {"externalId": null}
{"id": "7", "phone": "11 90000-1000"} => {"externalId": "crm-7"}
"##,
            id,
        );
    }
    let zero = r#"{"phone": "11 90000-1000", "codigoImovel": "0", "imovel": {"id": 0}} => {"listings": []}"#;
    check("{}", zero, "");
    for address in [
        "undefined@example.com",
        "{{email}}@example.com",
        "%email%@x.com",
        "null@null.com",
    ] {
        let row = r##"{"phone": "11 90000-1000", "email": "#"} => {"emails": [], "attributes": [["email", "#"]]}"##;
        check("{}", row, address);
        let body = json!({"phone": "11 90000-1000", "email": address}).to_string();
        let (_, notes) = converted(json!({}), &body);
        assert!(notes[0].contains("words for nothing"), "{notes:?}");
    }
    for names in "Ana,Null,Ana Null;Nil,Prado,Nil Prado;null,Prado,Prado;Ana,undefined,Ana;Null,Null,;Yuchen,Chen,Yuchen Chen;\
        Juliana,Ana,Juliana Ana;Ana Prado,Prado,Ana Prado".split(';') {
        let [first, last, whole] = names.split(',').collect::<Vec<_>>()[..] else { panic!("{names}") };
        let parts = json!({"firstName": first, "lastName": last, "phone": "11 90000-1000"});
        let name = if whole.is_empty() { Value::Null } else { whole.into() };
        for body in [parts.clone(), json!({"name": parts, "phone": "11 90000-1000"})] {
            assert_eq!(leads("{}", "", &body.to_string())[0]["name"], name, "{body}");
        }
    }
}

#[test]
fn the_kind_of_a_phone_decides_as_its_name_does() {
    for kinds in [
        "type,number",
        "label,value",
        "VALUE_TYPE,VALUE",
        "@type,#text",
        "rel,phone",
    ] {
        let (kind, number) = kinds.split_once(',').unwrap();
        for (word, expect) in [
            ("fax", json!(["M"])),
            ("Pager", json!(["M"])),
            ("home", json!(["M", "F"])),
            ("Work", json!(["M", "F"])),
        ] {
            let long = |text: &str| {
                text.replace('F', "11 4002-8904")
                    .replace('M', "11 90001-6101")
            };
            let expect: Value = serde_json::from_str(&long(&expect.to_string())).unwrap();
            let list =
                json!([{kind: word, number: long("F")}, {kind: "Mobile", number: long("M")}]);
            for name in ["phones", "PHONE"] {
                let body = json!({"id": "7", "name": "Ana", name: list}).to_string();
                for path in [
                    "{}",
                    r#"{"fields": {"phones": "%"}}"#,
                    r#"{"fields": {"phones": "%[*].$"}}"#,
                ] {
                    let config = path.replace('%', name).replace('$', number);
                    assert_eq!(
                        leads(&config, "", &body)[0]["phones"],
                        expect,
                        "{config} of {body}"
                    );
                }
            }
        }
    }
    check(
        "{}",
        r#"
{"phones": [{"type": "mobile", "number": "11 90001-6101"}, {"type": "home", "primary": true, "number": "11 4002-8904"}]} => {"phones": ["11 4002-8904", "11 90001-6101"]}
{"emails": [{"value": "bia@example.com"}, {"value": "ana@example.com", "isPrimary": "true"}]} => {"emails": ["ana@example.com", "bia@example.com"]}
{"name": "Ana", "phones": [{"types": ["work", "fax"], "number": "11 4002-8904"}, {"number": "11 90001-6101"}]} => {"phones": ["11 90001-6101"]}
{"name": "Ana", "phones": [{"phoneType": {"id": 3, "name": "Fax"}, "number": "11 4002-8904"}, {"number": "11 90001-6101"}]} => {"phones": ["11 90001-6101"]}
{"name": "Ana", "phones": [{"fax": true, "number": "11 4002-8904"}, {"number": "11 90001-6101"}]} => {"phones": ["11 90001-6101"]}
{"name": "Ana", "phones": [{"number": "11 4002-8904"}, {"isMobile": "true", "number": "11 90001-6101"}]} => {"phones": ["11 90001-6101", "11 4002-8904"]}
{"name": "Ana", "phones": {"fax": "11 4002-8904", "home": "11 4002-8905", "cel": "11 90001-6101"}} => {"phones": ["11 90001-6101", "11 4002-8905"]}
{"name": "Ana", "phones": {"home": "11 4002-8905", "mobile": "11 90001-6101"}} => {"phones": ["11 90001-6101", "11 4002-8905"]}
{"name": "Ana", "custom_fields_values": [{"field_code": "PHONE", "values": [{"value": "11 4002-8904", "enum_code": "FAX"}, {"value": "11 4002-8905", "enum_code": "WORK"}, {"value": "11 90001-6101", "enum_code": "MOB"}]}]} => {"phones": ["11 90001-6101", "11 4002-8905"]}
{"name": "Ana", "email": "ana@example.com", "phones": [{"number": "11 4002-8904", "isPrimaryNumber": false}, {"number": "11 90001-6101", "IsPrimaryNumber": true}]} => {"phones": ["11 90001-6101", "11 4002-8904"]}
"#,
        "",
    );
    for (word, is_mobile) in [
        "Mobil",
        "Mobiltelefon",
        "Mobilfunk",
        "GSM",
        "whats",
        "SMS",
        "TLM",
        "MOB",
    ]
    .map(|word| (word, true))
    .into_iter()
    .chain(["FX", "BIP", "Fernkopierer", "Fax"].map(|word| (word, false)))
    {
        for key in "type enum tag usage desc title class role subtype code context medium channel ContactType".split(' ') {
            let body = json!({"name": "Ana", "phones": [{"number": "11 4002-8904"}, {key: word, "number": "11 90001-6101"}]});
            let expect = match is_mobile {
                true => json!(["11 90001-6101", "11 4002-8904"]),
                false => json!(["11 4002-8904"]),
            };
            for config in ["{}", r#"{"fields": {"phones": "phones[*].number"}}"#] {
                let lead = &leads(config, "", &body.to_string())[0];
                assert_eq!(lead["phones"], expect, "{config} of {body}");
            }
        }
    }
    let form = "contacts[add][0][name]=Ana&contacts[add][0][id]=7&contacts[add][0][custom_fields][0][code]=PHONE&\
        contacts[add][0][custom_fields][0][values][0][value]=1140028904&contacts[add][0][custom_fields][0][values][0][enum]=FAX&\
        contacts[add][0][custom_fields][0][values][1][value]=11900016101&contacts[add][0][custom_fields][0][values][1][enum]=MOB";
    assert_eq!(leads("{}", FORM, form)[0]["phones"], json!(["11900016101"]));
    for key in "main is_main primaryPhone preferido predeterminado favorite".split(' ') {
        let row = r##"{"name": "Ana", "phones": [{"number": "11 90001-6101"}, {"#": true, "number": "11 4002-8904"}]} => {"phones": ["11 4002-8904", "11 90001-6101"]}"##;
        check("{}", row, key);
    }
    // The words of the lead are not the phone's.
    check(
        r#"{"fields": {"phones": "telefone"}}"#,
        r#"{"nome": "Ana", "telefone": "11 90001-6101", "interesse": "FX"} => {"phones": ["11 90001-6101"]}"#,
        "",
    );
    let chosen = r#"{"name": "Ana", "phones": [{"type": "fax", "number": "11 4002-8904"}]} => {"phones": ["11 4002-8904"]}"#;
    check(
        r#"{"fields": {"phones": "phones[?type=fax].number"}}"#,
        chosen,
        "",
    );
    let adf = "<adf><prospect><id>7</id><customer><contact><name part='full'>Ana</name><phone type='fax'>11 4002-8910</phone>\
        <phone type='cellphone'>11 90001-6106</phone></contact></customer></prospect></adf>";
    assert_eq!(
        leads("{}", "text/xml", adf)[0]["phones"],
        json!(["11 90001-6106"])
    );
}

#[test]
fn the_name_of_a_phone_says_whether_it_is_a_fax_or_a_mobile() {
    for fax in [
        "phone_fax",
        "telefone_fax",
        "fone_fax",
        "Phone (Fax)",
        "phoneFax",
        "Telefone/Fax",
        "fax_phone",
        "Fax phone number",
    ] {
        for row in [
            r##"{"name": "Ana", "email": "ana@example.com", "#": "+55 11 4002-8904"} => {"phones": []}"##,
            r##"{"name": "Ana", "email": "ana@example.com", "fields": [{"name": "#", "type": "phone", "value": "+55 11 4002-8904"}]} => {"phones": []}"##,
            r##"{"email": "ana@example.com", "fields": [{"name": "phone_2", "label": "#", "value": "+55 11 4002-8904"}]} => {"phones": []}"##,
            r##"{"answers": {"#": "+55 11 4002-8904", "whatsapp": "11 90001-6101"}} => {"phones": ["11 90001-6101"]}"##,
        ] {
            check("{}", row, fax);
        }
    }
    for (fixed, mobile) in [
        ("phone_work", "phone_cell"),
        ("phone_home", "phone_cel"),
        ("Telefon", "Handy"),
        ("Telefon", "Mobiltelefon"),
        ("phone_work", "phone_mobile"),
        ("phone", "work_cell"),
        ("telefone", "cel"),
        ("telefone", "número do zap"),
        ("phone", "Handynummer"),
    ] {
        let row = r##"{"name": "Ana", "F": "11 4002-8904", "#": "11 90001-6101"} => {"phones": ["11 90001-6101", "11 4002-8904"]}"##;
        check("{}", &row.replace('F', fixed), mobile);
    }
    // Whose these are, nobody says.
    for other in ["celular da mãe", "emergency_mobile"] {
        let row = r##"{"name": "Ana", "phone": "11 4002-8904", "#": "11 90001-6101"} => {"phones": ["11 4002-8904"]}"##;
        check("{}", row, other);
    }
}

#[test]
fn times_are_read_as_programs_print_them_and_the_time_zero_is_none() {
    let times = r#""Mon Mar 02 2026 09:15:30 GMT-0300 (Horário Padrão de Brasília)" => "2026-03-02T09:15:30-03:00"
"/Date(1772453730000-0300)/" => "2026-03-02T12:15:30Z"
"Mon Mar 02 09:15:30 BRT 2026" => "2026-03-02T09:15:30-03:00"
{"date": "2026-03-02 09:15:30.000000", "timezone_type": 3, "timezone": "America/Sao_Paulo"} => "2026-03-02T09:15:30.000000[America/Sao_Paulo]"
{"_seconds": 1772453730, "_nanoseconds": 0} => "2026-03-02T12:15:30Z"
"0001-01-01T00:00:00Z" => null
"1899-12-30T00:00:00" => null
"1900-01-01" => null
"1970-01-01T00:00:00Z" => null
"1969-12-31T21:00:00-03:00" => null
"0000-00-00 00:00:00" => null"#;
    for (value, expect) in times.lines().map(|row| row.split_once(" => ").unwrap()) {
        let row = |expect| {
            format!(
                r#"{{"phone": "11 90000-1000", "createdAt": {value}, "b": "2026-03-03"}} => {{"occurredAt": {expect}}}"#
            )
        };
        check("{}", &row(expect), "");
        let expect = if expect == "null" {
            "\"2026-03-03T00:00:00\""
        } else {
            expect
        };
        check(
            r#"{"fields": {"occurredAt": ["createdAt", "b"]}}"#,
            &row(expect),
            "",
        );
    }
}

#[test]
fn addresses_and_references_of_html_are_read_as_they_are_meant() {
    for email in [
        "Ana <ana@example.com>",
        "Souza, Ana <ana@example.com>",
        "ana@example.com; bia@example.com",
        "ana@example.com (Ana)",
    ] {
        let row = r##"{"name": "Ana", "phone": "11 90000-1000", "email": "#"} => {"emails": ["#"], "attributes": []}"##;
        check("{}", row, email);
    }
    let plus = &leads(
        "{}",
        FORM,
        "nome=Ana&telefone=11900008190&email=ana+imovel90@example.com&recado=ligue+ana@example.com",
    )[0];
    assert_eq!(plus["emails"], json!(["ana+imovel90@example.com"]));
    assert_eq!(
        plus["attributes"],
        json!([["recado", "ligue ana@example.com"]])
    );
    let name = &leads(
        "{}",
        FORM,
        "nome=Jo%26atilde%3Bo+D%26%23039%3BAvila&telefone=11900015120&mensagem=B%26amp%3Blt%3B",
    )[0];
    assert_eq!(
        (&name["name"], &name["message"]),
        (&json!("João D'Avila"), &json!("B&lt;"))
    );
    let xml = "<lead><name>Jo&atilde;o &amp;eacute;</name><phone>11900015120</phone></lead>";
    assert_eq!(leads("{}", "text/xml", xml)[0]["name"], "João é");
    let cdata =
        "<lead><name><![CDATA[Jo&atilde;o &amp; Lu]]></name><phone>11900015120</phone></lead>";
    assert_eq!(leads("{}", "text/xml", cdata)[0]["name"], "João & Lu");
}

#[test]
fn a_ticked_box_is_ticked_and_a_choice_is_shown_by_its_label() {
    for (boxes, is_granted) in [
        ("opt=0&opt=1", true),
        ("opt=1&opt=0", true),
        ("opt=0", false),
        ("opt=no&opt=off", false),
    ] {
        let body = format!("nome=Ana&telefone=11900008190&{boxes}");
        let lead = &leads(
            r#"{"fields": {"consents": {"marketing": "opt"}}}"#,
            FORM,
            &body,
        )[0];
        assert_eq!(lead["consents"][0]["granted"], is_granted, "{boxes}");
    }
    for (chosen, label) in [
        (r#"["o1"]"#, json!("Comprar")),
        (r#"["o2", "o1"]"#, json!(["Alugar", "Comprar"])),
        ("\"o3\"", json!("o3")),
        ("\"o2, o1\"", json!("Alugar, Comprar")),
        (r#"{"id": "o1"}"#, json!("Comprar")),
        (r#"[{"id": "o1"}, "outra"]"#, json!(["Comprar", "outra"])),
        (r#""o1, sim""#, json!("o1, sim")),
    ] {
        let body = r##"{"data": {"fields": [{"key": "q1", "label": "Telefone", "type": "INPUT_PHONE_NUMBER", "value": "+5511900001000"},
            {"key": "q2", "label": "Interesse", "value": #, "options": [{"id": "o1", "text": "Comprar"}, {"id": "o2", "text": "Alugar"}]}]}}"##;
        let lead = &leads("{}", "application/json", &body.replace('#', chosen))[0];
        assert_eq!(
            lead["attributes"],
            json!([["Interesse", label]]),
            "{chosen}"
        );
    }
}

#[test]
fn one_path_leads_to_one_element_and_to_many() {
    let one = "<n:Notification><n:object><sf:Id>%</sf:Id><sf:FirstName>Ana</sf:FirstName><sf:Phone>11 90000-100%</sf:Phone></n:object></n:Notification>";
    let paths = "Envelope.Body.Notification[*].object Envelope.Body.Notification.object s:Envelope.s:Body.n:Notification.n:object";
    for (count, path) in [1, 2]
        .into_iter()
        .flat_map(|count| paths.split(' ').map(move |path| (count, path)))
    {
        let elements: String = (1..=count)
            .map(|at: usize| one.replace('%', &at.to_string()))
            .collect();
        let body = format!("<s:Envelope xmlns:s=\"u\"><s:Body>{elements}</s:Body></s:Envelope>");
        let found = leads(&json!({"items": [path]}).to_string(), "text/xml", &body);
        let read = found
            .iter()
            .map(|lead| json!([lead["externalId"], lead["name"], lead["phones"]]));
        let expect =
            (1..=count).map(|at| json!([at.to_string(), "Ana", [format!("11 90000-100{at}")]]));
        assert!(
            read.clone().eq(expect),
            "{path}: {:?}",
            read.collect::<Vec<_>>()
        );
    }
}

#[test]
fn a_configured_field_changes_only_itself() {
    let core = r##"{"firstname": {"value": "Ana"}, "lastname": {"value": "Prado"}, "mobile": {"value": "+55 11 90000-070#"}, "email": {"value": "ana#@example.com"}}"##;
    let body = |ids: &str| {
        let records = ids
            .split(',')
            .map(|id| format!(r#"{{"person": {{"id": "P-#", "core": {core}}}}}"#).replace('#', id));
        format!(
            r#"{{"batch": [{}]}}"#,
            records.collect::<Vec<_>>().join(",")
        )
    };
    let but_id = |lead: &Value| {
        ["name", "phones", "emails", "listings", "message"].map(|field| lead[field].clone())
    };
    let guessed = leads("{}", "", &body("1,2"));
    for (config, ids) in [
        (r#"{"fields": {"externalId": "batch[0].person.id"}}"#, "1"),
        (r#"{"fields": {"externalId": "person.id"}}"#, "1,2"),
        (
            r#"{"items": ["batch[*]"], "fields": {"externalId": "person.id"}}"#,
            "1,2",
        ),
        (
            r#"{"items": ["batch"], "fields": {"externalId": "person.id", "source": {"constant": "x"}}}"#,
            "1",
        ),
    ] {
        let (items, notes) = converted(serde_json::from_str(config).unwrap(), &body(ids));
        assert_eq!(items.len(), ids.split(',').count(), "{config}");
        for (item, (id, guessed)) in items.iter().zip(ids.split(',').zip(&guessed)) {
            assert_eq!(item["lead"]["externalId"], format!("P-{id}"), "{config}");
            assert_eq!(but_id(&item["lead"]), but_id(guessed), "{config}");
        }
        assert!(
            notes.iter().all(|note| !note.contains("say so")),
            "{config}: {notes:?}"
        );
    }
    // A contact in another place than the only person is another person's.
    let rows = r##"{"client": {"phone": "11 90000-1000"}, "quem": {"core": #}} => {"phones": ["11 90000-1000"], "emails": [], "name": null}"##;
    check(
        r#"{"fields": {"phones": "client.phone"}}"#,
        rows,
        &core.replace('#', "1"),
    );
    let rows = r##"{"quem": {"core": #}} => {"phones": ["+55 11 90000-0701"], "emails": ["ana1@example.com"], "name": "Ana Prado"}"##;
    check(
        r#"{"fields": {"emails": "quem.core.email.value"}}"#,
        rows,
        &core.replace('#', "1"),
    );
}

#[test]
fn the_first_of_several_values_that_says_something_counts() {
    for nothing in ["", "undefined", "{{x}}", "null"] {
        let row = r##"{"nome": ["#", "Ana"], "telefone": ["#", "11 90000-1000"], "mensagem": ["#", "Oi"], "codigoImovel": ["#", "AP1"], "createdAt": ["#", "2026-03-02"], "leadId": ["#", "7"]} => {"name": "Ana", "phones": ["11 90000-1000"], "message": "Oi", "listings": [{"kind": "client", "reference": "AP1"}], "occurredAt": "2026-03-02T00:00:00", "externalId": "7"}"##;
        check("{}", row, nothing);
        let body = format!("nome={nothing}&nome=Ana&telefone=11900008190&teste=0&teste=1");
        let lead = &leads("{}", FORM, &body)[0];
        assert_eq!(
            (&lead["name"], &lead["isTest"]),
            (&json!("Ana"), &json!(true))
        );
        let answers =
            json!({"answers": {"Qual o seu nome?": [nothing, "Ana"], "Telefone": "11900008190"}});
        assert_eq!(leads("{}", "", &answers.to_string())[0]["name"], "Ana");
    }
    let config = r#"{"fields": {"phones": "tel[*]", "name": "quem[*]"}}"#;
    check(
        config,
        r#"{"quem": "Ana", "tel": "11 90000-1000"} => {"name": "Ana", "phones": ["11 90000-1000"]}"#,
        "",
    );
}

#[test]
fn a_name_is_read_without_what_nobody_is_called() {
    for (name, expect) in [
        ("Olá {{name}}", Value::Null),
        ("[Nome]", Value::Null),
        ("[Cliente]", Value::Null),
        ("Sr. undefined", Value::Null),
        ("Null", Value::Null),
        ("null;", Value::Null),
        (".", Value::Null),
        ("0", Value::Null),
        ("false", Value::Null),
        ("Souza, null", json!("Souza")),
        ("undefined Souza", json!("Souza")),
        ("Ana {{last}}", json!("Ana")),
        ("\u{feff}An\u{feff}a", json!("Ana")),
        ("Ana &#150; Lima", json!("Ana – Lima")),
    ] {
        for (field, config) in [
            ("nome", "{}"),
            ("fullName", "{}"),
            ("quem", r#"{"fields": {"name": "quem"}}"#),
        ] {
            let body = json!({field: name, "telefone": "11 90000-1000"}).to_string();
            let (items, notes) = converted(serde_json::from_str(config).unwrap(), &body);
            assert_eq!(items[0]["lead"]["name"], expect, "{config} of {body}");
            let is_noted = notes
                .iter()
                .any(|note| note.contains(&format!("`{field}`")));
            assert_eq!(is_noted, expect.is_null(), "{body}: {notes:?}");
        }
    }
    let parts = json!({"firstName": "Ana", "lastName": "[Sobrenome]", "telefone": "11 90000-1000"});
    assert_eq!(leads("{}", "", &parts.to_string())[0]["name"], "Ana");
    let text = json!({"payload": "\u{feff}{\"nome\":\"Ana\",\"telefone\":\"11 90000-1000\"}"});
    assert_eq!(leads("{}", "", &text.to_string())[0]["name"], "Ana");
    let xml = r#"<lead xmlns="urn:x" xmlns:xsi="u"><nome>Ana</nome><telefone>11900000043</telefone></lead>"#;
    assert_eq!(leads("{}", "text/xml", xml)[0]["attributes"], json!([]));
}

#[test]
fn a_plus_of_a_form_is_put_back_into_each_address() {
    for (sent, expect) in [
        ("Ana+<ana+x@example.com>", "Ana <ana+x@example.com>"),
        (
            "ana+x@example.com,+bia@example.com",
            "ana+x@example.com, bia@example.com",
        ),
        (
            "ana@example.com,+bia+y@example.com",
            "ana@example.com, bia+y@example.com",
        ),
        ("Ana+en3@example.com", "Ana en3@example.com"),
        (
            "ana@example.com+e+bia@example.com",
            "ana@example.com e bia@example.com",
        ),
    ] {
        let body = format!("nome=Ana&email={sent}");
        assert_eq!(
            leads("{}", FORM, &body)[0]["emails"],
            json!([expect]),
            "{sent}"
        );
    }
}
