//! The contact of a lead: one person is one contact, however the phone is
//! written.

use std::collections::BTreeSet;

use leadhost_tests::{Json, On, fields};
use serde_json::Value;

use super::{form, lead};

leadhost_tests::on_every_store! {
    the_ninth_digit_makes_no_second_person_and_a_landline_is_another,
    exports_have_a_row_of_each_deal_and_contact,
    a_word_for_nothing_is_no_id_and_no_name_of_any_converter,
    every_address_of_a_text_finds_the_person_and_a_lead_without_a_contact_says_so,
}

async fn the_ninth_digit_makes_no_second_person_and_a_landline_is_another(on: On) {
    let (host, declared) = form(on).await;
    let phones = [
        ("m-1", "(11) 98765-4321"),
        ("m-2", "(11) 8765-4321"),
        ("l-1", "(11) 3456-7890"),
        ("l-2", "(11) 93456-7890"),
    ];
    let mut contacts = Vec::new();
    for (id, phone) in phones {
        let answer = host
            .deliver_json(&declared, "form", &lead(id, "Nara Lima", phone))
            .await
            .json();
        assert_eq!(answer["status"], "converted", "{phone}");
        contacts.push(answer["leads"][0]["contactId"].text().to_owned());
    }
    assert_eq!(contacts[0], contacts[1]);
    assert_eq!(contacts.iter().collect::<BTreeSet<_>>().len(), 3);

    for spelling in ["11987654321", "1187654321", "%2B5511987654321"] {
        let found = host
            .deals(&declared, &format!("phoneNumber={spelling}"))
            .await;
        let ids: BTreeSet<&str> = found
            .iter()
            .map(|view| view["deal"]["props"]["externalIntegrationId"].text())
            .collect();
        assert_eq!(ids, BTreeSet::from(["m-1", "m-2"]), "{spelling}");
    }
    for (spelling, id) in [("1134567890", "l-1"), ("11934567890", "l-2")] {
        let found = host.deals(&declared, &format!("phone={spelling}")).await;
        assert_eq!(found.len(), 1, "{spelling}");
        assert_eq!(found[0]["deal"]["props"]["externalIntegrationId"], id);
    }
}

async fn a_word_for_nothing_is_no_id_and_no_name_of_any_converter(on: On) {
    let (host, declared) = form(on).await;
    let words = ["null", "0", "false", "{{lead.id}}"];
    for (at, word) in words.into_iter().enumerate() {
        for person in 0..2 {
            let phone = format!("(11) 98765-43{at}{person}");
            let mut sent = lead(word, "undefined undefined", &phone);
            sent["email"] = "undefined@example.com".into();
            let answer = host.deliver_json(&declared, "form", &sent).await.json();
            fields!(answer["leads"][0], {"status": "converted", "externalId": null});
            let deals = host
                .deals(&declared, &format!("phone=1198765-43{at}{person}"))
                .await;
            fields!(deals[0], {"person.name": null, "deal.props.attributes.externalId": word});
        }
    }
    let nobodys = host.deals(&declared, "email=undefined@example.com").await;
    assert!(nobodys.is_empty(), "{nobodys:?}");
}

async fn every_address_of_a_text_finds_the_person_and_a_lead_without_a_contact_says_so(on: On) {
    let (host, declared) = form(on).await;
    let mut sent = lead("e-1", "Nara Lima", "0000 0000");
    let answer = host.deliver_json(&declared, "form", &sent).await.json();
    let lead = &answer["leads"][0];
    assert_eq!(lead["status"], "converted");
    assert!(
        lead["message"]
            .text()
            .contains("no phone number and no e-mail address"),
        "{lead}"
    );
    sent["id"] = "e-2".into();
    sent["email"] = "\"Lima, Nara\" <Nara@example.com>; nara.lima@exam\u{ad}ple.com.".into();
    let answer = host.deliver_json(&declared, "form", &sent).await.json();
    fields!(answer["leads"][0], {"status": "converted", "message": null});
    for email in ["nara@example.com", "nara.lima@example.com"] {
        let found = host.deals(&declared, &format!("email={email}")).await;
        assert_eq!(found.len(), 1, "{email}");
    }
}

async fn exports_have_a_row_of_each_deal_and_contact(on: On) {
    let (host, declared) = form(on).await;
    let answer = host
        .deliver_json(
            &declared,
            "form",
            &lead("f-1", "Nara Lima", "(11) 98765-4321"),
        )
        .await
        .json();
    let (deals, contacts) = (
        host.rows(&declared, "deals").await,
        host.rows(&declared, "contacts").await,
    );
    assert_eq!((deals.len(), contacts.len()), (1, 1));
    assert_eq!(deals[0]["id"], answer["leads"][0]["dealId"]);
    fields!(contacts, {"0.id": answer["leads"][0]["contactId"], "0.name": "Nara Lima"});
    for row in [&deals[0], &contacts[0]] {
        assert!(row["cursor_at"].is_string(), "{row}");
        let columns = row.as_object().unwrap().iter();
        for (column, value) in columns.filter(|(column, _)| column.ends_with("_at")) {
            let length = value.as_str().map_or(27, str::len);
            assert_eq!(length, 27, "{column} of {row}");
        }
    }
    let props = match &deals[0]["props"] {
        Value::String(text) => serde_json::from_str(text).unwrap(),
        other => other.clone(),
    };
    assert_eq!(props["message"], "Posso visitar?", "{props}");
}
