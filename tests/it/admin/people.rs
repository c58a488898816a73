//! Deals, contacts and tickets as operators find them, and the receipts of erasures: in the admin API and
//! in the console.

use leadhost_tests::{Json, On, fields, has, lacks};
use serde_json::{Value, json};

use super::console::Browser;
use super::roles::with_role;
use super::{Operator, TOKEN, workspace};

leadhost_tests::on_every_store! {
    a_deal_is_found_by_all_that_leads_to_it,
    deals_are_paged_and_bounded_by_a_workspace,
    a_deal_is_shown_with_the_names_of_what_it_refers_to,
    a_contact_is_shown_with_its_deals_conversations_and_tickets,
    tickets_are_found_by_status_contact_and_deal,
    a_receipt_says_who_erased_and_how_the_person_was_found,
    pages_of_deals_contacts_and_tickets_lead_to_each_other,
    a_receipt_has_a_page,
}

const PHONE: &str = "11%2098765-4321";
const NOBODY: &str = "0199c0de-0000-7000-8000-000000000001";

/// A workspace with an owner, a product and a sandbox, and one lead of Ada, which is handed over.
struct TwoWorkspaces {
    operator: Operator,
    report: Value,
    delivery: String,
    deal: String,
    contact: String,
}

impl TwoWorkspaces {
    async fn new(on: On) -> Self {
        let (operator, _) = Operator::with_workspace(on).await;
        operator.activate("adapter-sandbox").await;
        let mut file = workspace();
        file["instances"] =
            json!([{"name": "bot", "adapter": "sandbox", "number": "+5511900000000"}]);
        file["owners"] = json!([{"name": "Olga Reis", "email": "olga@example.com"}]);
        file["products"] = json!([{"external_id": "P-1", "name": "Garden flat"}]);
        file["keys"] = json!([{"kind": "partner", "partner": "crm", "label": "crm"}]);
        let report = operator.apply(&file).await.expect(200).json();
        let answer = operator.lead(&report, TOKEN, "L1").await.expect(200).json();
        let delivery = text(&answer["deliveryId"]);
        let deal = text(&answer["leads"][0]["dealId"]);
        let shown = operator.get(&format!("/deliveries/{delivery}")).await;
        let contact = text(&shown["items"][0]["contactId"]);
        let world = Self {
            operator,
            report,
            delivery,
            deal,
            contact,
        };
        let patch = json!({
            "ownerEmail": "olga@example.com", "propertyExternalId": "P-1", "stageCode": "transferred",
        });
        world.patch(&patch).await;
        world
    }

    async fn patch(&self, body: &Value) {
        let keys = self.report["keys"].list();
        let key = keys.iter().find(|key| key["kind"] == "partner");
        let key = text(&key.expect("it is made")["key"]);
        let host = &self.operator.host;
        let ask = host.ask("PATCH", &format!("/deal/{}", self.deal));
        let ask = ask.header("x-service-api-key", &key).json(body);
        ask.send().await.expect(202);
    }

    /// Another lead of the form, with these fields.
    async fn lead(&self, lead: &Value) -> Value {
        let form = text(&self.report["connections"]["form"]);
        let ask = self.operator.host.post(&format!("/ingest-lead/{form}"));
        let ask = ask.header("x-token", TOKEN).json(lead);
        ask.send().await.expect(200).json()
    }
}

fn text(value: &Value) -> String {
    value.text().to_owned()
}

fn ids(list: &Value) -> Vec<String> {
    let all = list.as_array().expect("a list");
    all.iter().map(|one| text(&one["id"])).collect()
}

async fn a_deal_is_found_by_all_that_leads_to_it(on: On) {
    let world = TwoWorkspaces::new(on).await;
    let with_email = json!({"id": "L2", "name": "Rui Sá", "email": "rui@example.com"});
    let other = text(&world.lead(&with_email).await["leads"][0]["dealId"]);
    for (q, expect) in [
        (world.deal.as_str(), Some(&world.deal)),
        (&world.contact, Some(&world.deal)),
        ("L1", Some(&world.deal)),
        (PHONE, Some(&world.deal)),
        ("%2B5511987654321", Some(&world.deal)),
        ("Rui@Example.com", Some(&other)),
        ("L2", Some(&other)),
        (NOBODY, None),
        ("nobody@example.com", None),
        ("11%2098765-4322", None),
    ] {
        let found = world.operator.get(&format!("/deals?q={q}")).await;
        let expect: Vec<String> = expect.into_iter().cloned().collect();
        assert_eq!(ids(&found["deals"]), expect, "{q}");
        let within = format!("/deals?q={q}&workspace=acme");
        let found = world.operator.get(&within).await;
        assert_eq!(ids(&found["deals"]), expect, "{q}");
    }
    let viewer = with_role(&world.operator, "viewer").await;
    for path in [
        "/deals",
        "/tickets",
        &format!("/contacts/{}", world.contact),
    ] {
        let ask = world
            .operator
            .host
            .admin("GET", &format!("/admin/v1{path}"));
        ask.bearer(&viewer).send().await.expect(200);
    }
}

async fn deals_are_paged_and_bounded_by_a_workspace(on: On) {
    let world = TwoWorkspaces::new(on).await;
    let (operator, report) = (&world.operator, &world.report);
    operator.host.advance(1).await;
    let second = operator.lead(report, TOKEN, "L2").await.expect(200).json();
    let second = text(&second["leads"][0]["dealId"]);
    operator
        .apply(&json!({"workspace": {"slug": "empty", "name": "Empty"}}))
        .await
        .expect(200);
    for filter in ["", "&workspace=acme", &format!("&q={PHONE}")] {
        let page = operator.get(&format!("/deals?limit=1{filter}")).await;
        let expect = std::slice::from_ref(&second);
        assert_eq!(ids(&page["deals"]), expect, "{filter}");
        let next = text(&page["next"]);
        let older = format!("/deals?limit=1{filter}&before={next}");
        let page = operator.get(&older).await;
        let expect = std::slice::from_ref(&world.deal);
        assert_eq!(ids(&page["deals"]), expect, "{filter}");
        let next = text(&page["next"]);
        let older = format!("/deals?limit=1{filter}&before={next}");
        let page = operator.get(&older).await;
        fields!(page, {"deals": [], "next": null}; "{filter}");
    }
    let page = operator.get("/deals?workspace=empty").await;
    assert_eq!(page["deals"], json!([]));
    for (wrong, status) in [
        ("before=x", 400),
        ("limit=many", 400),
        ("workspace=nope", 404),
    ] {
        let ask = operator.ask("GET", &format!("/deals?{wrong}"));
        ask.send().await.expect(status);
    }
}

async fn a_deal_is_shown_with_the_names_of_what_it_refers_to(on: On) {
    let world = TwoWorkspaces::new(on).await;
    let deal = world.operator.get(&format!("/deals/{}", world.deal)).await;
    fields!(deal, {
        "workspace": "acme", "stage": "transferred", "externalId": "L1",
        "contact.id": world.contact.as_str(), "contact.name": "Ada Prado",
        "contact.phoneNumber": "+5511987654321", "owner.name": "Olga Reis",
        "product.name": "Garden flat", "instance.name": "bot", "connection": "form",
        "props.source": "form", "deliveryId": world.delivery.as_str(),
    });
    let expect = std::slice::from_ref(&world.delivery);
    assert_eq!(ids(&deal["deliveries"]), expect);
    fields!(deal, {"tickets.0.status": "open", "tickets.0.contact.name": "Ada Prado"});
    let changes = deal["history"][0]["changes"].list();
    let named = |field: &str| {
        let change = changes.iter().find(|one| one["field"] == field);
        change.map(|one| (one["beforeName"].clone(), one["afterName"].clone()))
    };
    assert_eq!(named("owner_id"), Some((json!(null), json!("Olga Reis"))));
    let expect = Some((json!(null), json!("Garden flat")));
    assert_eq!(named("product_id"), expect);
    assert_eq!(named("stage_code"), Some((json!(null), json!(null))));
    for unknown in [NOBODY, "x"] {
        let ask = world.operator.ask("GET", &format!("/deals/{unknown}"));
        ask.send().await.expect(404);
    }
}

async fn a_contact_is_shown_with_its_deals_conversations_and_tickets(on: On) {
    let world = TwoWorkspaces::new(on).await;
    let operator = &world.operator;
    let said = json!({"to": "+5511987654321", "text": "Oi", "instance": "bot"});
    operator.posted("/outbox/reply", &said, 200).await;
    for (q, found_by) in [
        (PHONE, "phone"),
        (world.contact.as_str(), "id"),
        ("%2B5511987654321", "phone"),
    ] {
        let found = operator.get(&format!("/contacts?q={q}")).await;
        let expect = std::slice::from_ref(&world.contact);
        assert_eq!(ids(&found["contacts"]), expect, "{q}");
        assert_eq!(found["contacts"][0]["foundBy"], found_by);
    }
    for nobody in ["11%2098765-4322", "nobody%40example.com", NOBODY] {
        let found = operator.get(&format!("/contacts?q={nobody}")).await;
        assert_eq!(found["contacts"], json!([]), "{nobody}");
    }
    operator.ask("GET", "/contacts").send().await.expect(400);
    let contact = operator.get(&format!("/contacts/{}", world.contact)).await;
    fields!(contact, {"name": "Ada Prado", "phoneNumber": "+5511987654321"});
    has!(contact["keys"].to_string(), "phone:+551187654321");
    assert_eq!(ids(&contact["deals"]), std::slice::from_ref(&world.deal));
    assert_eq!(contact["tickets"][0]["dealId"], world.deal.as_str());
    let conversation = &contact["conversations"][0];
    assert_eq!(conversation["instance"]["name"], "bot");
    let of_contact = format!("/outbox?contact={}", world.contact);
    let messages = operator.get(&of_contact).await;
    fields!(conversation, {"id": messages["messages"][0]["conversationId"]});
    for unknown in [NOBODY, "x"] {
        let ask = operator.ask("GET", &format!("/contacts/{unknown}"));
        ask.send().await.expect(404);
    }
}

async fn tickets_are_found_by_status_contact_and_deal(on: On) {
    let world = TwoWorkspaces::new(on).await;
    let all = world.operator.get("/tickets").await;
    assert_eq!(ids(&all["tickets"]).len(), 1, "{all}");
    let ticket = text(&all["tickets"][0]["id"]);
    let (deal, contact) = (&world.deal, &world.contact);
    for (query, is_found) in [
        ("status=open".to_owned(), true),
        ("status=resolved".to_owned(), false),
        (format!("deal={deal}"), true),
        (format!("deal={NOBODY}"), false),
        (format!("contact={contact}&status=open"), true),
        (format!("contact={contact}&status=answered"), false),
        (format!("contact={PHONE}&deal={deal}"), true),
        ("contact=11%2098765-4322".to_owned(), false),
        ("workspace=acme".to_owned(), true),
        (format!("before={ticket}"), false),
    ] {
        let found = world.operator.get(&format!("/tickets?{query}")).await;
        assert_eq!(!ids(&found["tickets"]).is_empty(), is_found, "{query}");
    }
    let shown = world.operator.get(&format!("/tickets/{ticket}")).await;
    fields!(shown, {"workspace": "acme", "contact.name": "Ada Prado"});
    for (wrong, status) in [
        ("?status=odd", 400),
        ("?deal=x", 400),
        ("?before=x", 400),
        ("?workspace=nope", 404),
        ("/x", 404),
        (&format!("/{NOBODY}"), 404),
    ] {
        let ask = world.operator.ask("GET", &format!("/tickets{wrong}"));
        ask.send().await.expect(status);
    }
}

async fn a_receipt_says_who_erased_and_how_the_person_was_found(on: On) {
    let world = TwoWorkspaces::new(on).await;
    let operator = &world.operator;
    let wrong = json!({"workspace": "acme", "phone": "+5511987654321", "foundBy": "id"});
    operator.posted("/contacts/erase", &wrong, 400).await;
    let found = json!({"id": world.contact, "foundBy": "phone"});
    let erased = operator.post("/contacts/erase", &found).await.expect(200);
    let erased = erased.json();
    assert_eq!(erased["foundBy"], "phone");
    let id = text(&erased["id"]);
    let receipt = operator.get(&format!("/erasures/{id}")).await;
    let listed = operator.get("/erasures").await;
    for field in "id contactId foundBy keyId key beganAt erased workspace".split(' ') {
        assert_eq!(receipt[field], listed["erasures"][0][field], "{field}");
    }
    fields!(receipt, {"foundBy": "phone", "workspace": "acme"});
    assert!(receipt["key"].is_string(), "{receipt}");
    assert_eq!(receipt["notReached"], erased["notReached"]);
    lacks!(receipt.to_string(), "98765", "Ada");
    for unknown in [NOBODY, "x"] {
        let ask = operator.ask("GET", &format!("/erasures/{unknown}"));
        ask.send().await.expect(404);
    }
    let gone = operator.ask("GET", &format!("/contacts/{}", world.contact));
    gone.send().await.expect(404);
}

async fn pages_of_deals_contacts_and_tickets_lead_to_each_other(on: On) {
    let world = TwoWorkspaces::new(on).await;
    let operator = &world.operator;
    let (deal, contact, delivery) = (&world.deal, &world.contact, &world.delivery);
    let browser = Browser::signed_in(operator).await;
    let link = |path: String| format!("href=\"/console{path}\"");
    let check = async |path: &str, parts: &[&str]| {
        let page = browser.page(path).await;
        for part in parts {
            has!(page, part; "{path}");
        }
    };
    let to_deal = link(format!("/deals/{deal}"));
    let to_contact = link(format!("/contacts/{contact}"));
    check(&format!("/deliveries/{delivery}"), &[&to_deal, &to_contact]).await;
    let found = format!("/deals?q={PHONE}");
    check(&found, &[&to_deal, &to_contact, "Olga Reis", "Garden flat"]).await;
    let answer = browser.get(&format!("/deals?q={deal}")).await.expect(303);
    assert_eq!(answer.header("location"), format!("/console/deals/{deal}"));
    let tickets = operator.get("/tickets").await;
    let ticket = text(&tickets["tickets"][0]["id"]);
    let to_ticket = link(format!("/tickets/{ticket}"));
    let to_delivery = link(format!("/deliveries/{delivery}"));
    let shown = [
        to_contact.as_str(),
        &to_ticket,
        &to_delivery,
        "Ada Prado",
        "Olga Reis",
        "partner crm",
    ];
    check(&format!("/deals/{deal}"), &shown).await;
    check(&format!("/deals?id={deal}"), &shown).await;
    let answer = browser.get(&format!("/contacts?q={PHONE}")).await;
    let answer = answer.expect(303);
    let to = format!("/console/contacts/{contact}?found=phone");
    assert_eq!(answer.header("location"), to);
    let page = format!("/contacts/{contact}?found=phone");
    let token = "name=\"found-by\" value=\"phone\"";
    check(&page, &[&to_deal, &to_ticket, token, "<h1>Ada Prado</h1>"]).await;
    check("/contacts?q=11%2098765-4322", &["No contact."]).await;
    check("/tickets?status=open", &[&to_ticket, &to_contact]).await;
    check("/tickets?status=resolved", &["No ticket."]).await;
    check(&format!("/tickets/{ticket}"), &[&to_deal, &to_contact]).await;

    let said = json!({"to": "+5511987654321", "text": "Oi", "instance": "bot"});
    operator.posted("/outbox/reply", &said, 200).await;
    let messages = operator.get("/outbox").await;
    let conversation = text(&messages["messages"][0]["conversationId"]);
    let to_conversation = link(format!("/conversations/{conversation}"));
    check("/messages", &[&to_contact]).await;
    check(&format!("/conversations/{conversation}"), &[&to_contact]).await;
    check(&page, &[&to_conversation]).await;

    let viewer = with_role(operator, "viewer").await;
    let browser = Browser::signed_in_with(operator, viewer.reveal()).await;
    let shown = browser.page(&page).await;
    assert_eq!(shown.matches("method=\"post\"").count(), 1, "{shown}");
}

async fn a_receipt_has_a_page(on: On) {
    let world = TwoWorkspaces::new(on).await;
    let operator = &world.operator;
    let browser = Browser::signed_in(operator).await;
    let fields = [
        ("workspace", "acme"),
        ("id", world.contact.as_str()),
        ("found-by", "phone"),
    ];
    let counted = browser.submit("/contacts/erase", &fields).await.expect(200);
    let token = "name=\"found-by\" value=\"phone\"";
    has!(counted, token);
    let mut fields = fields.to_vec();
    fields.push(("confirmed", "1"));
    let erased = browser.submit("/contacts/erase", &fields).await.expect(200);
    let listed = operator.get("/erasures").await;
    let id = text(&listed["erasures"][0]["id"]);
    let link = format!("href=\"/console/contacts/erasures/{id}\"");
    assert_eq!(erased.text().matches(&link).count(), 2, "{}", erased.text());
    let page = browser.page(&format!("/contacts/erasures/{id}")).await;
    has!(
        page,
        "<dt>Found by</dt><dd>phone</dd>",
        "<th scope=\"row\">Deals</th><td class=\"number\">1</td>",
        "Not reached",
        "backups of the store",
        &world.contact
    );
    let key = text(&listed["erasures"][0]["key"]);
    has!(page, &key);
    lacks!(page, "98765", "Ada Prado");
}
