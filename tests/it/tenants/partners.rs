//! Several partners in one workspace: no answer shows a partner what only another one brought.

use leadhost_domain::key::{KeyKind, PlainKey};
use leadhost_tests::{Answer, Ask, Declared, Host, Json, On, fields, guests, lacks, until};
use serde_json::{Value, json};

use super::{text, whole};

leadhost_tests::on_every_store! {
    no_answer_shows_what_a_deal_of_another_partner_brought,
    no_answer_shows_what_a_message_of_another_partner_brought,
    no_answer_shows_what_a_lead_of_another_partner_brought,
    no_answer_shows_what_a_notification_of_another_partner_brought,
    a_partner_finds_and_sees_all_that_its_own_deals_and_notifications_said,
    a_ticket_belongs_to_the_partner_whose_notification_was_not_answered,
    a_search_passes_over_pages_of_deals_that_it_must_not_find,
    the_only_partner_of_a_workspace_sees_everything,
}

const FILE: &str = r#"
[[instances]]
name = "voice"
number = "+5511900000000"
adapter = "sandbox"
unanswered_after = "2h"
[[connections]]
name = "form"
partner = "acme"
plugin = "example-form"
[[owners]]
name = "Nilda Prado"
email = "nilda@example.com"
"#;

const BRAVO: &str = r#"
[[partners]]
name = "bravo"
[[connections]]
name = "form-of-bravo"
partner = "bravo"
plugin = "example-form"
"#;

/// A person as the partner `acme` knows it.
struct Person<'a> {
    name: &'a str,
    phone: &'a str,
    email: &'a str,
}

const FIRST: Person<'_> = Person {
    name: "Alba Segreda",
    phone: "+5511987650101",
    email: "alba.segreda@example.com",
};

const SECOND: Person<'_> = Person {
    name: "Zilda Matoso",
    phone: "+5511987650102",
    email: "zilda.matoso@example.com",
};

const NAME: &str = FIRST.name;
const PHONE: &str = FIRST.phone;
const EMAIL: &str = FIRST.email;
const INSTRUCTIONS: &str = "Alba prefere tardes";

/// A partner with its keys.
struct System {
    key: PlainKey,
    token: PlainKey,
}

struct Shared {
    host: Host,
    declared: Declared,
    acme: System,
    bravo: System,
}

impl Shared {
    async fn new(on: On) -> Self {
        Self::with(on, &format!("{FILE}{BRAVO}"), "bravo").await
    }

    async fn with(on: On, file: &str, second: &str) -> Self {
        let host = Host::working(on).await;
        host.converter(guests::sandbox()).await;
        host.converter(guests::example_form()).await;
        let declared = host.declare(file).await;
        let (acme, bravo) = (
            Self::system(&host, &declared, "acme").await,
            Self::system(&host, &declared, second).await,
        );
        Self {
            host,
            declared,
            acme,
            bravo,
        }
    }

    async fn system(host: &Host, declared: &Declared, name: &str) -> System {
        let report = &declared.report;
        let (workspace, partner) = (Some(report.workspace_id), Some(report.partners[name]));
        System {
            key: host.key(KeyKind::Partner, workspace, partner).await.0,
            token: host.key(KeyKind::AccessToken, workspace, partner).await.0,
        }
    }

    fn ask(&self, system: &System, method: &str, target: &str) -> Ask {
        self.host.ask(method, target).partner(&system.key)
    }

    fn desk(&self, system: &System, method: &str, target: &str) -> Ask {
        self.host.ask(method, target).bearer(&system.token)
    }

    /// Creates a deal. Returns its id.
    async fn deal(&self, system: &System, body: Value) -> String {
        let ask = self.ask(system, "POST", "/deal").json(&body);
        said(&ask.send().await.expect(201).json()["dealId"])
    }

    async fn lead(&self, form: &str, body: Value) -> String {
        let ask = self.host.post(&self.declared.address(form)).json(&body);
        said(&ask.send().await.expect(200).json()["leads"][0]["dealId"])
    }

    /// A notification with these values of the person.
    async fn notify(&self, system: &System, body: Value) -> Answer {
        let mut whole = json!({"instanceId": self.declared.instance("voice"), "source": "site",
            "template": {"name": "welcome", "language": {"code": "pt_BR"}}});
        let fields = whole.as_object_mut().expect("an object");
        fields.extend(body.as_object().expect("an object").clone());
        let ask = self.ask(system, "POST", "/send-notification");
        let key = whole["phoneNumber"].text().to_owned();
        let ask = ask.header("idempotency-key", &key).json(&whole);
        ask.send().await.expect(200)
    }

    async fn find(&self, system: &System, query: &str) -> Vec<Value> {
        let ask = self.ask(system, "GET", &format!("/deal?{query}"));
        let found = ask.send().await.expect(200).json();
        found.as_array().expect("a list").clone()
    }

    async fn tickets(&self, system: &System) -> Vec<Value> {
        let ask = self.desk(system, "GET", "/tickets");
        let page = ask.send().await.expect(200).json();
        page["tickets"].list().clone()
    }
}

fn said(value: &Value) -> String {
    value.text().to_owned()
}

fn encoded(value: &str) -> String {
    value.replace('+', "%2B").replace('@', "%40")
}

/// The ways by which a person comes in.
const WAYS: [&str; 4] = ["deal", "deal with a message", "lead", "notification"];

async fn bring(world: &Shared, way: &str, person: &Person<'_>) {
    let acme = &world.acme;
    let Person { name, phone, email } = person;
    let person = json!({"name": name, "phoneNumber": phone, "email": email});
    let with = |more: Value| {
        let mut body = person.clone();
        let fields = body.as_object_mut().expect("an object");
        fields.extend(more.as_object().expect("an object").clone());
        body
    };
    match way {
        "deal" => drop(world.deal(acme, person).await),
        "deal with a message" => {
            let more = json!({"instanceId": world.declared.instance("voice"),
                "specialInstructions": INSTRUCTIONS,
                "template": {"name": "welcome", "language": {"code": "pt_BR"}}});
            world.deal(acme, with(more)).await;
        }
        "lead" => {
            let lead = json!({"id": format!("L-{email}"), "nome": name, "telefone": phone, "email": email});
            world.lead("form", lead).await;
        }
        _ => {
            let more = json!({"specialInstructions": INSTRUCTIONS});
            world.notify(acme, with(more)).await;
        }
    }
}

async fn no_answer_shows_what_a_deal_of_another_partner_brought(on: On) {
    shows_nothing_of(on, "deal").await;
}

async fn no_answer_shows_what_a_message_of_another_partner_brought(on: On) {
    shows_nothing_of(on, "deal with a message").await;
}

async fn no_answer_shows_what_a_lead_of_another_partner_brought(on: On) {
    shows_nothing_of(on, "lead").await;
}

async fn no_answer_shows_what_a_notification_of_another_partner_brought(on: On) {
    shows_nothing_of(on, "notification").await;
}

/// Another partner knows of the person either the address or the phone.
async fn shows_nothing_of(on: On, way: &str) {
    let world = Shared::new(on).await;
    for (known, given, own) in [
        (&FIRST, json!({"email": FIRST.email}), "email"),
        (&SECOND, json!({"phoneNumber": SECOND.phone}), "phoneNumber"),
    ] {
        bring(&world, way, known).await;
        let part = match own {
            "email" => &known.phone["+5511".len()..],
            _ => known.email,
        };
        let hidden = [known.name, part, INSTRUCTIONS];
        let clean = |what: &str, answer: &Answer| {
            let shown = whole(answer);
            for word in hidden {
                lacks!(shown, word; "{way}, {own}: {what} shows");
            }
        };
        let bravo = &world.bravo;
        let mut body = given.clone();
        body["name"] = json!("Bruna");
        let create = || {
            let ask = world.ask(bravo, "POST", "/deal").json(&body);
            ask.header("idempotency-key", &format!("d-{own}")).send()
        };
        let made = create().await.expect(201);
        clean("POST /deal", &made);
        clean("its replay", &create().await.expect(201));
        let deal = said(&made.json()["dealId"]);
        let lead = match own {
            "email" => json!({"id": own, "nome": "Bruna", "email": known.email}),
            _ => json!({"id": own, "nome": "Bruna", "telefone": known.phone}),
        };
        let ask = world.host.post(&world.declared.address("form-of-bravo"));
        let ingested = ask.json(&lead).send().await.expect(200);
        clean("the answer to a lead", &ingested);

        let (phone, email) = (encoded(known.phone), encoded(known.email));
        for (query, count) in [
            (format!("dealId={deal}"), 1),
            (format!("externalId={own}"), 1),
            (
                format!("phoneNumber={phone}"),
                if own == "email" { 0 } else { 2 },
            ),
            (format!("email={email}"), if own == "email" { 2 } else { 0 }),
            (format!("email={email}&phoneNumber={phone}"), 0),
            (
                format!("email={email}&dealId={deal}"),
                usize::from(own == "email"),
            ),
        ] {
            let ask = world.ask(bravo, "GET", &format!("/deal?{query}"));
            let found = ask.send().await.expect(200);
            clean(&query, &found);
            let found = found.json();
            assert_eq!(
                found.as_array().map(Vec::len),
                Some(count),
                "{way}, {own}: {query}"
            );
            for deal in found.as_array().expect("a list") {
                assert_eq!(deal["person"]["name"], "Bruna");
                assert_eq!(deal["person"][own], given[own]);
            }
        }
        let one = format!("/deal/{deal}");
        clean(
            "GET /deal/{id}",
            &world.ask(bravo, "GET", &one).send().await.expect(200),
        );
        let log = json!({"type": "success", "subject": "Vendido"});
        let noted = world.desk(bravo, "POST", &format!("/api/v1/deals/{deal}/log"));
        clean("a note", &noted.json(&log).send().await.expect(201));
        if own == "phoneNumber" {
            let mut body = given.clone();
            body["name"] = json!("Bruna");
            clean("a notification", &world.notify(bravo, body.clone()).await);
            clean("its replay", &world.notify(bravo, body).await);
        }
        let name = world.ask(bravo, "GET", "/products-by-name?name=alba");
        clean("the product search", &name.send().await.expect(200));

        // The desk. Acme's conversation, if there is one, goes to people first.
        world.host.advance(7_201).await;
        let patch = world.ask(bravo, "PATCH", &one);
        let patched = patch.json(&json!({"stageCode": "transferred"}));
        clean("PATCH /deal", &patched.send().await.expect(202));
        let listed = until("the partner has its ticket", async || {
            let page = world.desk(bravo, "GET", "/tickets").send().await;
            let page = page.expect(200);
            clean("GET /tickets", &page);
            let tickets = page.json()["tickets"].list().clone();
            (!tickets.is_empty()).then_some(tickets)
        });
        for ticket in listed.await {
            let target = format!("/tickets/{}", said(&ticket["id"]));
            let given = "GET /tickets/{id}";
            clean(given, &world.desk(bravo, "GET", &target).send().await);
            let change = json!({"ownerEmail": "nilda@example.com"});
            let changed = world.desk(bravo, "PATCH", &target).json(&change);
            clean("PATCH /tickets/{id}", &changed.send().await.expect(200));
        }
    }
}

async fn a_partner_finds_and_sees_all_that_its_own_deals_and_notifications_said(on: On) {
    let world = Shared::new(on).await;
    for (number, way) in WAYS.iter().enumerate() {
        let phone = format!("+551198765020{number}");
        let email = format!("alba{number}@example.com");
        let known = Person {
            name: NAME,
            phone: &phone,
            email: &email,
        };
        // Another partner knew the person first, by another name.
        let other = json!({"name": "A. S.", "phoneNumber": phone});
        world.deal(&world.bravo, other).await;
        bring(&world, way, &known).await;
        if *way == "notification" {
            let only = json!({"name": "Alba", "phoneNumber": phone});
            world.deal(&world.acme, only).await;
        }
        for query in [
            format!("phoneNumber={}", encoded(&phone)),
            format!("email={}", encoded(&email)),
        ] {
            let found = world.find(&world.acme, &query).await;
            assert_eq!(found.len(), 1, "{way}: {query}");
            let person = &found[0]["person"];
            let name = if *way == "notification" { "Alba" } else { NAME };
            fields!(person, {"name": name, "email": email, "phoneNumber": phone}; "{way}");
        }
    }
}

async fn a_ticket_belongs_to_the_partner_whose_notification_was_not_answered(on: On) {
    let world = Shared::new(on).await;
    bring(&world, "notification", &FIRST).await;
    world.host.advance(7_201).await;
    let ticket = until("the ticket is open", async || {
        world.tickets(&world.acme).await.pop()
    });
    let ticket = ticket.await;
    assert_eq!(ticket["person"]["phoneNumber"], PHONE);
    assert_eq!(ticket["person"]["email"], EMAIL);
    assert_eq!(ticket["specialInstructions"], INSTRUCTIONS);
    assert_eq!(world.tickets(&world.bravo).await, Vec::<Value>::new());
    let target = format!("/tickets/{}", said(&ticket["id"]));
    let unknown = "/tickets/00000000-0000-7000-8000-000000000000";
    for (method, body) in [
        ("GET", json!(null)),
        ("PATCH", json!({"status": "resolved"})),
    ] {
        let send = async |target: &str| {
            let ask = world.desk(&world.bravo, method, target).json(&body);
            text(&ask.send().await.expect(404).body)
        };
        assert_eq!(send(&target).await, send(unknown).await);
    }
    assert_eq!(world.tickets(&world.acme).await[0]["status"], "open");
}

async fn a_search_passes_over_pages_of_deals_that_it_must_not_find(on: On) {
    let world = Shared::new(on).await;
    let bravo = &world.bravo;
    let by_phone = |name: &str| json!({"name": name, "phoneNumber": PHONE});
    let first = world.deal(bravo, by_phone("Bruna")).await;
    // Another person, who has the address, and to whom acme gave the phone, too.
    let shared = json!({"name": NAME, "phoneNumber": "+5511987650199", "email": EMAIL});
    world.deal(&world.acme, shared).await;
    for number in 0..3 {
        let other = json!({"name": format!("C{number}"), "email": EMAIL});
        world.deal(bravo, other).await;
    }
    let query = format!("phoneNumber={}&limit=1", encoded("+5511987650199"));
    assert_eq!(world.find(bravo, &query).await, Vec::<Value>::new());
    let found = world
        .find(bravo, &format!("phoneNumber={}&limit=1", encoded(PHONE)))
        .await;
    assert_eq!(found[0]["deal"]["id"], first);
    let found = world
        .find(bravo, &format!("email={}", encoded(EMAIL)))
        .await;
    assert_eq!(found.len(), 3);
}

async fn the_only_partner_of_a_workspace_sees_everything(on: On) {
    let world = Shared::with(on, FILE, "acme").await;
    bring(&world, "notification", &FIRST).await;
    let event = json!({"inbound": {"from": "5511987650177", "name": "Caio", "text": "Oi"}});
    let ask = world.host.post(&world.declared.webhook("voice"));
    let ask = ask.json(&json!({"events": [event]}));
    ask.send().await.expect(200);
    world
        .deal(&world.acme, json!({"name": "x", "email": EMAIL}))
        .await;
    let found = world
        .find(&world.acme, &format!("email={}", encoded(EMAIL)))
        .await;
    fields!(found, {"0.person.name": NAME, "0.person.phoneNumber": PHONE});
    // A name that only the contact itself gave.
    let own = json!({"name": "C.", "phoneNumber": "+5511987650177"});
    let deal = world.deal(&world.acme, own).await;
    let found = world.find(&world.acme, &format!("dealId={deal}")).await;
    assert_eq!(found[0]["person"]["name"], "Caio");
}
