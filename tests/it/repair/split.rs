//! A repair parts the persons that only wrong values of a version made one, and its undo joins them
//! again.

use leadhost_domain::limits::REPAIR_PARTED_AT_ONCE;
use leadhost_tests::{Declared, Json, On, fields, guests, lacks};
use serde_json::{Value, json};

use super::{RIGHT, RepairedLead, Repairing, content, email, id, phone};

leadhost_tests::on_every_store! {
    people_whom_one_wrong_phone_made_one_come_apart,
    whoever_was_made_one_comes_apart_and_an_undo_brings_every_row_back,
    many_leads_of_many_people_come_apart_in_parts,
    a_stranger_who_wrote_first_keeps_the_conversation,
    a_wrong_number_that_a_person_with_other_leads_got_answers_from_leaves_the_repair_incomplete,
    a_cancelled_repair_is_finished_by_the_next_one,
    a_person_who_wants_no_messages_wants_none_afterwards,
    a_repair_that_only_counts_says_who_would_come_apart,
    the_owner_of_the_wrong_phone_keeps_it_with_what_is_theirs,
    a_wrong_phone_that_joined_nobody_leads_to_nobody_afterwards,
    a_conversation_about_a_lead_goes_with_it_and_comes_back,
    a_wrong_number_that_somebody_answered_from_leaves_the_repair_incomplete,
    an_erasure_afterwards_reaches_only_its_own_person,
    an_undo_brings_nothing_of_an_erased_first_person_back,
    an_undo_brings_nothing_of_an_erased_last_person_back,
}

/// The wrong version reads one number in each lead: the broker's.
const BROKER: usize = 9;
const WRONG: &str = r#"phones = "corretor""#;

/// A host on which these leads were converted with the broker's number, and whose active version reads
/// their own.
struct Joined {
    repairing: Repairing,
    declared: Declared,
}

impl Joined {
    async fn new(on: On) -> Self {
        let repairing = Repairing::new(on, 0).await;
        repairing.host.converter(guests::sandbox()).await;
        let declared = repairing.declare_instance(WRONG).await;
        repairing.activate_wrong().await;
        Self {
            repairing,
            declared,
        }
    }

    /// Sends a lead. Returns its deal.
    async fn tell(&self, name: &str, number: usize) -> String {
        let lead = json!({
            "id": format!("lead-{name}"), "nome": name, "fone": phone(number),
            "corretor": phone(BROKER),
        });
        let told = self.repairing.tell(&lead).await;
        self.repairing.host.advance(1).await;
        told.deal.to_string()
    }

    async fn correct(&self) {
        self.repairing.declare_instance(RIGHT).await;
        self.repairing.activate_right().await;
    }

    async fn rows(&self, entity: &str) -> Vec<Value> {
        let rows = self.repairing.host.rows(&self.repairing.declared, entity);
        content(rows.await)
    }

    /// The names that a search by this phone finds.
    async fn found(&self, number: usize) -> Vec<String> {
        let query = format!("phoneNumber={}", phone(number).replace('+', "%2B"));
        let deals = self.repairing.host.deals(&self.repairing.declared, &query);
        let deals = deals.await;
        let name = |deal: &Value| deal["person"]["name"].as_str().map(str::to_owned);
        let mut names: Vec<String> = deals.iter().filter_map(name).collect();
        names.sort();
        names
    }

    /// The contact of a deal: its id, name and phone.
    async fn person(&self, deal: &str) -> [Value; 3] {
        let deals = self.rows("deals").await;
        let deal = deals.iter().find(|row| row["id"] == deal);
        let person = deal.expect("the deal is exported")["person_id"].clone();
        let contacts = self.rows("contacts").await;
        let contact = contacts.iter().find(|row| row["id"] == person);
        let contact = contact.expect("the contact is exported");
        [
            person,
            contact["name"].clone(),
            contact["phone_number"].clone(),
        ]
    }

    async fn notify(&self, number: usize) -> String {
        self.repairing.notify(&self.declared, &phone(number)).await
    }

    async fn answers(&self, number: usize) {
        let event = json!({"inbound": {"from": phone(number), "text": "Who is it?"}});
        let ask = self.repairing.host.post(&self.declared.webhook("voice"));
        let ask = ask.json(&json!({"events": [event]}));
        ask.send().await.expect(200);
    }
}

async fn people_whom_one_wrong_phone_made_one_come_apart(on: On) {
    let joined = Joined::new(on).await;
    let mut deals = Vec::new();
    for (name, number) in [("Ana", 1), ("Bia", 2), ("Caio", 3)] {
        deals.push((joined.tell(name, number).await, name, number));
    }
    assert_eq!(joined.rows("contacts").await.len(), 1);
    joined.correct().await;
    let repaired = joined.repairing.repaired(json!({"apply": true})).await;
    assert_eq!(repaired["unsplit"], 0);
    for (deal, name, number) in &deals {
        let [_, found, stands] = joined.person(deal).await;
        assert_eq!((found, stands), (json!(name), json!(phone(*number))));
        assert_eq!(joined.found(*number).await, [*name]);
    }
    assert_eq!(joined.rows("contacts").await.len(), 3);
    // The wrong number no longer leads to any of them.
    assert_eq!(joined.found(BROKER).await, [""; 0]);
    let other = joined.tell("Broker", BROKER).await;
    assert_eq!(joined.person(&other).await[1], "Broker");
    assert_eq!(joined.rows("contacts").await.len(), 4);
    // A repeat changes nothing.
    let again = joined.repairing.repaired(json!({"apply": true})).await;
    assert_eq!(again["deals"]["rows"], 0, "{again:#}");
}

/// A lead: its person, what it has of the phone (`p`, or `x` for one that cannot be read) and the e-mail
/// address (`e`, or `y`), and the number that the wrong version reads in place of its phone.
type Told = (usize, &'static str, usize);

/// Leads of the right version, then of the wrong one, then of the right one again before the repair.
struct Story {
    before: &'static [Told],
    wrong: &'static [Told],
    after: &'static [Told],
}

const ANA: usize = 1;
const BIA: usize = 2;
const CAIO: usize = 3;

/// One phone for all, and a changed digit: the number of the next person.
const STORIES: &[Story] = &[
    // Leads with the address alone, of people who were made one by other leads.
    Story {
        before: &[],
        wrong: &[
            (ANA, "pe", BROKER),
            (BIA, "pe", BROKER),
            (ANA, "e", 0),
            (BIA, "e", 0),
        ],
        after: &[],
    },
    Story {
        before: &[],
        wrong: &[
            (ANA, "e", 0),
            (BIA, "e", 0),
            (ANA, "pe", BROKER),
            (BIA, "pe", BROKER),
        ],
        after: &[],
    },
    // The wrong number of one is the right one of another, whose lead comes before, after, or meanwhile.
    Story {
        before: &[],
        wrong: &[(ANA, "e", 0), (BIA, "p", CAIO), (ANA, "pe", BIA)],
        after: &[],
    },
    Story {
        before: &[(ANA, "e", 0)],
        wrong: &[(ANA, "pe", BIA)],
        after: &[(BIA, "p", 0)],
    },
    Story {
        before: &[(BIA, "pe", 0)],
        wrong: &[(ANA, "pe", BIA)],
        after: &[],
    },
    Story {
        before: &[],
        wrong: &[(CAIO, "p", 4), (BIA, "p", CAIO), (ANA, "p", BIA)],
        after: &[(ANA, "pe", 0), (BIA, "pe", 0)],
    },
    // Leads between the rollback and the repair.
    Story {
        before: &[],
        wrong: &[(ANA, "pe", BROKER), (BIA, "pe", BROKER)],
        after: &[(ANA, "e", 0), (BIA, "e", 0)],
    },
    Story {
        before: &[],
        wrong: &[(ANA, "p", BROKER), (BIA, "p", BROKER)],
        after: &[(ANA, "p", 0), (BIA, "p", 0), (BROKER, "p", 0)],
    },
    // A lead with the address alone, of somebody whose next lead found nobody.
    Story {
        before: &[],
        wrong: &[(BIA, "p", BROKER), (ANA, "e", BROKER)],
        after: &[(ANA, "pe", 0)],
    },
    // The owner of the wrong number comes twice: the second lead is found by what the first one brought.
    Story {
        before: &[],
        wrong: &[(ANA, "pe", BIA)],
        after: &[(BIA, "pe", 0), (BIA, "e", 0)],
    },
    Story {
        before: &[],
        wrong: &[(ANA, "pe", BROKER), (CAIO, "p", BROKER)],
        after: &[(BROKER, "pe", 0), (BROKER, "e", 0), (CAIO, "pe", 0)],
    },
    // A number that the wrong version adds to a lead without one.
    Story {
        before: &[],
        wrong: &[(ANA, "e", BROKER)],
        after: &[],
    },
    Story {
        before: &[(BIA, "e", 0)],
        wrong: &[(ANA, "e", BROKER), (BIA, "e", BROKER)],
        after: &[(BROKER, "p", 0)],
    },
    // What they wrote themselves cannot be read.
    Story {
        before: &[],
        wrong: &[(ANA, "xe", BROKER), (BIA, "xe", BROKER)],
        after: &[(BROKER, "p", 0)],
    },
    Story {
        before: &[],
        wrong: &[
            (ANA, "py", BROKER),
            (BIA, "py", BROKER),
            (CAIO, "pe", BROKER),
        ],
        after: &[],
    },
    // One of them comes back.
    Story {
        before: &[(ANA, "pe", 0)],
        wrong: &[(BIA, "pe", BROKER), (ANA, "pe", BROKER)],
        after: &[],
    },
    Story {
        before: &[(ANA, "p", 0), (BROKER, "p", 0)],
        wrong: &[(BIA, "p", BROKER), (CAIO, "p", BROKER), (ANA, "p", BROKER)],
        after: &[],
    },
];

impl Joined {
    /// Tells the leads of a story, up to the moment before its repair, about people whose numbers follow
    /// this one. Returns the person of each deal.
    async fn happens(&self, story: &Story, first: usize) -> Vec<(String, usize)> {
        let mut deals = Vec::new();
        self.tell_all(story.before, first, &mut deals).await;
        self.repairing.declare_instance(WRONG).await;
        self.repairing.activate_wrong().await;
        self.tell_all(story.wrong, first, &mut deals).await;
        self.correct().await;
        self.tell_all(story.after, first, &mut deals).await;
        deals
    }

    async fn tell_all(&self, leads: &[Told], first: usize, deals: &mut Vec<(String, usize)>) {
        for (person, has, wrong) in leads {
            let told = (first + person, *has, first + wrong);
            let lead = self.tell_one(&told).await;
            deals.push((lead.deal.to_string(), told.0));
        }
    }

    async fn tell_one(&self, (person, has, wrong): &Told) -> RepairedLead {
        let has = |what: &str| has.contains(what);
        let lead = json!({
            "id": format!("lead-{}", self.repairing.host.now().0),
            "nome": format!("Person {person}"),
            "fone": if has("x") { Some("00000000000".to_owned()) } else { has("p").then(|| phone(*person)) },
            "corretor": (*wrong % 10 > 0).then(|| phone(*wrong)),
            "email": if has("y") { Some("none@home".to_owned()) } else { has("e").then(|| email(*person)) },
        });
        let told = self.repairing.tell(&lead).await;
        self.repairing.host.advance(1).await;
        told
    }

    /// Checks that each person has one contact, with their own values, and nobody else's deals.
    async fn check_people(&self, deals: &[(String, usize)], story: usize) {
        let mut people = std::collections::BTreeMap::new();
        for (deal, person) in deals {
            let [contact, name, stands] = self.person(deal).await;
            let known = people.entry(*person).or_insert_with(|| contact.clone());
            let expect = contact;
            assert_eq!(*known, expect, "{person} has two contacts in story {story}");
            assert_eq!(name, format!("Person {person}"), "story {story}");
            let is_own = stands.is_null() || stands == phone(*person);
            assert!(is_own, "{person} has {stands} in story {story}");
        }
        let contacts = self.rows("contacts").await;
        for (person, id) in &people {
            let contact = contacts.iter().find(|row| row["id"] == *id);
            let address = &contact.expect("it is exported")["email"];
            let is_own = address.is_null() || *address == email(*person);
            assert!(is_own, "{person} has {address} in story {story}");
        }
        let apart: std::collections::BTreeSet<String> =
            people.values().map(Value::to_string).collect();
        assert_eq!(apart.len(), people.len(), "story {story}: {people:#?}");
        // Nobody is found by the values of another one.
        for person in people.keys() {
            let name = format!("Person {person}");
            let found = self.found(*person).await;
            let is_so = found.iter().all(|one| *one == name);
            assert!(is_so, "story {story}: {found:?}");
        }
    }

    /// Returns the names that each number and address of the people finds.
    async fn all_found(&self, first: usize) -> Vec<Vec<String>> {
        let mut found = Vec::new();
        for person in first..first + 10 {
            found.push(self.found(person).await);
            let query = format!("email={}", email(person).replace('@', "%40"));
            let declared = &self.repairing.declared;
            let deals = self.repairing.host.deals(declared, &query).await;
            let names = deals.iter().map(|deal| deal["person"]["name"].to_string());
            found.push(names.collect());
        }
        found
    }
}

async fn whoever_was_made_one_comes_apart_and_an_undo_brings_every_row_back(on: On) {
    let joined = Joined::new(on).await;
    joined.correct().await;
    for (number, story) in STORIES.iter().enumerate() {
        let contacts = joined.rows("contacts").await.len();
        let deals = joined.happens(story, number * 10).await;
        let rows = async || {
            let rows = (joined.rows("contacts").await, joined.rows("deals").await);
            (rows, joined.all_found(number * 10).await)
        };
        let before = rows().await;
        let repaired = joined.repairing.repaired(json!({"apply": true})).await;
        joined.check_people(&deals, number).await;
        let people: std::collections::BTreeSet<usize> =
            deals.iter().map(|(_, person)| *person).collect();
        let more = joined.rows("contacts").await.len() - contacts;
        assert_eq!(more, people.len(), "story {number}");
        let undone = joined.repairing.undone(&id(&repaired)).await;
        let undo = &undone["undo"];
        for kind in ["changedSince", "stays", "left"] {
            assert_eq!(undo[kind], 0, "story {number}: {undone:#}");
        }
        assert_eq!(rows().await, before, "story {number}");
        // The repairs of the next stories have nothing to do for this one.
        joined.repairing.repaired(json!({"apply": true})).await;
    }
}

async fn many_leads_of_many_people_come_apart_in_parts(on: On) {
    let joined = Joined::new(on).await;
    let mut deals = Vec::new();
    let people = 10..10 + 2 * REPAIR_PARTED_AT_ONCE / 3;
    for has in ["pe", "p", "e"] {
        for person in people.clone() {
            joined
                .tell_all(&[(person, has, BROKER)], 0, &mut deals)
                .await;
        }
    }
    assert_eq!(joined.rows("contacts").await.len(), 1);
    joined.correct().await;
    joined.repairing.repaired(json!({"apply": true})).await;
    joined.check_people(&deals, 0).await;
}

async fn a_stranger_who_wrote_first_keeps_the_conversation(on: On) {
    let joined = Joined::new(on).await;
    let ana = joined.tell("Ana", 1).await;
    joined.answers(BROKER).await;
    let bia = joined.tell("Bia", 2).await;
    joined.correct().await;
    let before = joined.rows("conversations").await;
    let repaired = joined.repairing.repaired(json!({"apply": true})).await;
    let ([ana, ..], [bia, ..]) = (joined.person(&ana).await, joined.person(&bia).await);
    let after = joined.rows("conversations").await;
    let owner = after[0]["contact_id"].clone();
    assert!(ana != bia && ana != owner && bia != owner);
    assert_eq!(after[0]["deal_id"], Value::Null);
    joined.answers(BROKER).await;
    assert_eq!(joined.rows("conversations").await[0]["contact_id"], owner);
    joined.repairing.undone(&id(&repaired)).await;
    assert_eq!(
        joined.rows("conversations").await[0]["deal_id"],
        before[0]["deal_id"]
    );
}

async fn a_wrong_number_that_a_person_with_other_leads_got_answers_from_leaves_the_repair_incomplete(
    on: On,
) {
    let joined = Joined::new(on).await;
    joined.correct().await;
    let story = Story {
        before: &[(ANA, "pe", 0)],
        wrong: &[(BIA, "e", 0), (BIA, "pe", BROKER)],
        after: &[],
    };
    let deals = joined.happens(&story, 0).await;
    joined.notify(BROKER).await;
    joined.answers(BROKER).await;
    let begun = joined.repairing.begin(json!({"apply": true})).await;
    let ended = joined.repairing.ended(&begun).await;
    assert_eq!(ended["state"], "incomplete", "{ended:#}");
    let [bia, ..] = joined.person(&deals[2].0).await;
    let why = ended["why"].text();
    assert!(why.contains(bia.as_str().expect("an id")), "{why}");
}

async fn a_cancelled_repair_is_finished_by_the_next_one(on: On) {
    let mut joined = Joined::new(on).await;
    let mut deals = Vec::new();
    for told in [(ANA, "p", BROKER), (BIA, "p", BROKER), (CAIO, "p", BROKER)] {
        let lead = joined.tell_one(&told).await;
        deals.push((lead.deal.to_string(), told.0));
        joined.repairing.leads.push(lead);
    }
    joined.correct().await;
    let held = joined.repairing.hold(2).await;
    let cancelled = joined.repairing.begin(json!({"apply": true})).await;
    joined.repairing.has_replayed(&cancelled, 2).await;
    joined.repairing.act(&cancelled, "cancel").await.expect(200);
    joined.repairing.free(held).await;
    let rest = joined.repairing.repaired(json!({"apply": true})).await;
    assert_eq!(rest["found"], 1, "{rest:#}");
    joined.check_people(&deals, 0).await;
}

async fn a_person_who_wants_no_messages_wants_none_afterwards(on: On) {
    let joined = Joined::new(on).await;
    let ana = joined.tell("Ana", 1).await;
    let bia = joined.tell("Bia", 2).await;
    let event = json!({"optOut": {"from": phone(BROKER)}});
    let ask = joined
        .repairing
        .host
        .post(&joined.declared.webhook("voice"));
    let sent = ask.json(&json!({"events": [event]})).send().await;
    sent.expect(200);
    let banned = async || {
        let contacts = joined.rows("contacts").await;
        let banned = contacts.iter().filter(|row| !row["banned_at"].is_null());
        (contacts.len(), banned.count())
    };
    assert_eq!(banned().await, (1, 1));
    joined.correct().await;
    let repaired = joined.repairing.repaired(json!({"apply": true})).await;
    assert_ne!(joined.person(&ana).await[0], joined.person(&bia).await[0]);
    assert_eq!(banned().await, (2, 2));
    joined.repairing.undone(&id(&repaired)).await;
    assert_eq!(banned().await, (1, 1));
}

async fn a_repair_that_only_counts_says_who_would_come_apart(on: On) {
    let joined = Joined::new(on).await;
    for (name, number) in [("Ana", 1), ("Bia", 2)] {
        joined.tell(name, number).await;
    }
    joined.correct().await;
    let before = (joined.rows("contacts").await, joined.rows("deals").await);
    let counted = joined.repairing.repaired(json!({})).await;
    // The first one keeps the contact.
    assert_eq!(counted["deals"]["fields"]["person"], 1, "{counted:#}");
    assert_eq!(
        (joined.rows("contacts").await, joined.rows("deals").await),
        before
    );
}

async fn the_owner_of_the_wrong_phone_keeps_it_with_what_is_theirs(on: On) {
    let joined = Joined::new(on).await;
    let conversation = joined.notify(BROKER).await;
    joined.answers(BROKER).await;
    joined.repairing.host.advance(1).await;
    let ana = joined.tell("Ana", 1).await;
    let bia = joined.tell("Bia", 2).await;
    joined.correct().await;
    joined.repairing.repaired(json!({"apply": true})).await;
    let [ana, ..] = joined.person(&ana).await;
    let [bia, ..] = joined.person(&bia).await;
    let conversations = joined.rows("conversations").await;
    let owner = conversations[0]["contact_id"].clone();
    assert_eq!(conversations[0]["id"], conversation);
    assert!(ana != bia && ana != owner && bia != owner);
    // Their next message is theirs.
    joined.answers(BROKER).await;
    let conversations = joined.rows("conversations").await;
    assert_eq!(conversations.len(), 1);
    assert_eq!(conversations[0]["contact_id"], owner);
}

async fn a_wrong_phone_that_joined_nobody_leads_to_nobody_afterwards(on: On) {
    let joined = Joined::new(on).await;
    let deal = joined.tell("Ana", 1).await;
    let [person, ..] = joined.person(&deal).await;
    joined.correct().await;
    joined.repairing.repaired(json!({"apply": true})).await;
    let now = joined.person(&deal).await;
    assert_eq!(now, [person, json!("Ana"), json!(phone(1))]);
    let broker = joined.tell("Broker", BROKER).await;
    assert_ne!(joined.person(&broker).await[0], now[0]);
}

async fn a_conversation_about_a_lead_goes_with_it_and_comes_back(on: On) {
    let joined = Joined::new(on).await;
    let ana = joined.tell("Ana", 1).await;
    joined.notify(BROKER).await;
    joined.tell("Bia", 2).await;
    let before = joined.rows("conversations").await;
    assert_eq!(before[0]["deal_id"], ana);
    joined.correct().await;
    let repaired = joined.repairing.repaired(json!({"apply": true})).await;
    let [person, ..] = joined.person(&ana).await;
    fields!(joined.rows("conversations").await, {"0.contact_id": person, "0.deal_id": ana});
    joined.repairing.undone(&id(&repaired)).await;
    assert_eq!(joined.rows("conversations").await, before);
}

async fn a_wrong_number_that_somebody_answered_from_leaves_the_repair_incomplete(on: On) {
    let joined = Joined::new(on).await;
    let deal = joined.tell("Ana", 1).await;
    joined.notify(BROKER).await;
    joined.answers(BROKER).await;
    joined.correct().await;
    let begun = joined.repairing.begin(json!({"apply": true})).await;
    let ended = joined.repairing.ended(&begun).await;
    fields!(ended, {"state": "incomplete", "unsplit": 1});
    let [person, _, stands] = joined.person(&deal).await;
    assert_eq!(stands, phone(1));
    let why = ended["why"].text();
    assert!(why.contains(person.as_str().expect("an id")), "{why}");
}

async fn an_erasure_afterwards_reaches_only_its_own_person(on: On) {
    let joined = Joined::new(on).await;
    let ana = joined.tell("Ana", 1).await;
    let bia = joined.tell("Bia", 2).await;
    joined.correct().await;
    joined.repairing.repaired(json!({"apply": true})).await;
    let [person, ..] = joined.person(&ana).await;
    let ask = joined.repairing.ask("POST", "/contacts/erase");
    ask.json(&json!({"id": person})).send().await.expect(200);
    let deals = joined.rows("deals").await;
    assert!(deals.iter().all(|row| row["id"] != ana));
    let [_, name, stands] = joined.person(&bia).await;
    assert_eq!((name, stands), (json!("Bia"), json!(phone(2))));
}

async fn an_undo_brings_nothing_of_an_erased_first_person_back(on: On) {
    nothing_of_an_erased_person_comes_back(on, 0).await;
}

async fn an_undo_brings_nothing_of_an_erased_last_person_back(on: On) {
    nothing_of_an_erased_person_comes_back(on, 2).await;
}

async fn nothing_of_an_erased_person_comes_back(on: On, erased: usize) {
    let people = ["Ana", "Bia", "Caio"];
    let joined = Joined::new(on).await;
    let mut deals = Vec::new();
    for (number, name) in people.iter().enumerate() {
        deals.push(joined.tell(name, number).await);
    }
    joined.correct().await;
    let repaired = joined.repairing.repaired(json!({"apply": true})).await;
    let [person, ..] = joined.person(&deals[erased]).await;
    let ask = joined.repairing.ask("POST", "/contacts/erase");
    ask.json(&json!({"id": person})).send().await.expect(200);
    let changes = json!(joined.repairing.changes(&id(&repaired)).await).to_string();
    joined.repairing.undone(&id(&repaired)).await;
    let contacts = json!(joined.rows("contacts").await).to_string();
    for text in [people[erased], &phone(erased)] {
        lacks!(changes, text);
        lacks!(contacts, text);
    }
}
