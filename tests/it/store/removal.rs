//! Permanent removal: people who want to be forgotten, deals, products.

use std::collections::BTreeSet;
use std::time::Duration;

use leadhost_domain::channel::Category;
use leadhost_domain::contact::{self, FoundBy};
use leadhost_domain::delivery::{DeliveryStatus, ItemStatus};
use leadhost_domain::exchange::HttpResponse;
use leadhost_domain::id::{ContactId, DealId, DealLogId, DeliveryId, ErasureId, KeyId};
use leadhost_domain::row::Entity;
use leadhost_store::*;
use leadhost_tests::seed::product;
use leadhost_tests::{On, has};
use serde_json::{Map, Value, json};
use sqlx::{AssertSqlSafe, Executor as _};
use uuid::Uuid;

use super::deals::noting::note_answer;
use super::deals::{acme, claim, past, patch, wish};
use super::messages::*;
use super::world::*;

/// Words that are in all data of the person, and nowhere else.
const MARKS: [&str; 4] = ["Zulmira", "zulmira@", "5511987654321", "551187654321"];

/// The whole content of the store, as bytes or as the texts of its rows.
async fn everything(world: &World) -> String {
    match &world.on {
        On::Sqlite => {
            let file = world.folder().join("leadhost.db");
            let mut bytes = std::fs::read(&file).expect("the file is there");
            let log = file.with_extension("db-wal");
            bytes.extend(std::fs::read(log).unwrap_or_default());
            String::from_utf8_lossy(&bytes).into_owned()
        }
        On::Postgres(database) => {
            let mut connection = database.connect().await;
            let set = connection.execute("set search_path = leadhost").await;
            set.expect("the server answers");
            let tables: Vec<String> = sqlx::query_scalar(
                "select relname::text from pg_class
                 where relnamespace = 'leadhost'::regnamespace and relkind = 'r'
                 and relname <> 'plugins'",
            )
            .fetch_all(&mut connection)
            .await
            .expect("the server lists its tables");
            let mut all = String::new();
            for table in tables {
                let sql =
                    format!("select coalesce(string_agg(t::text, chr(10)), '') from {table} as t");
                let text: String = sqlx::query_scalar(AssertSqlSafe(sql))
                    .fetch_one(&mut connection)
                    .await
                    .expect("rows have a text");
                all.push_str(&text);
            }
            // Bytes are shown in hexadecimal.
            let bodies: Vec<Vec<u8>> = sqlx::query_scalar(
                "select body from deliveries union all select response_body from answers
                 union all select state from fetches",
            )
            .fetch_all(&mut connection)
            .await
            .expect("it reads");
            for body in bodies {
                all.push_str(&String::from_utf8_lossy(&body));
            }
            all
        }
    }
}

/// Returns the person's words that are still stored. Search keys are never left without their body.
pub async fn marks(world: &World) -> Vec<&'static str> {
    let left = "select count(*) from delivery_keys where delivery_id not in (
        select id from deliveries where body_bytes > 0)";
    assert_eq!(count(world, left).await, 0);
    let all = everything(world).await;
    MARKS
        .into_iter()
        .filter(|mark| all.contains(mark))
        .collect()
}

async fn count(world: &World, sql: &'static str) -> i64 {
    world.on.count(world.folder(), sql).await
}

fn named(world: &World, external_id: &str, name: &str, phone: &str, email: &str) -> NewLead {
    let mut new = world.known_as(external_id);
    new.phones.push(number(phone));
    new.emails.push(email.to_owned());
    new.contact_keys = contact::keys(&new.phones, &new.emails);
    new.name = Some(name.to_owned());
    new.title = Some(format!("{name} asks"));
    new.deal_props = object(json!({"message": format!("it is {name}")}));
    new.contact_props = object(json!({"nick": name}));
    new
}

pub fn zulmira(world: &World, external_id: &str) -> NewLead {
    named(world, external_id, "Zulmira", PHONE, "zulmira@example.com")
}

fn bento(world: &World, external_id: &str) -> NewLead {
    named(
        world,
        external_id,
        "Bento",
        "+5521988880002",
        "bento@example.org",
    )
}

fn raw(world: &World, name: &str) -> NewDelivery {
    NewDelivery {
        query: vec![("who".to_owned(), name.to_owned())],
        headers: vec![("x-from".to_owned(), name.to_owned())],
        body: format!("{{\"name\":\"{name}\"}}").into_bytes().into(),
        ..world.delivery()
    }
}

async fn bring(world: &World, name: &str, items: Vec<ItemResult>) -> DeliveryOutcome {
    let mut write = world.accept_as(raw(world, name), items);
    if let Write::Accept(acceptance) = &mut write {
        acceptance.keys = vec![7, -8];
    }
    world.commit_one(write).await
}

async fn find(world: &World, by: PersonBy) -> Option<Person> {
    world.person(world.workspace, &by).await.unwrap()
}

pub async fn person(world: &World) -> Person {
    let by = PersonBy::Key(contact::phone_key("+551187654321"));
    find(world, by).await.expect("the person is there")
}

async fn begin_erasing(world: &World, person: &Person) -> Erasure {
    let new = NewErasure {
        id: ErasureId::new(world.now()),
        workspace: person.workspace,
        contact: person.id,
        found_by: FoundBy::Phone,
        key: KeyId(Uuid::from_u128(9)),
        began_at: world.now(),
    };
    world.begin_erasure(&new).await.expect("it begins")
}

/// Runs one step, and retries it if another write touches the rows that it removes.
async fn step(world: &World, person: &Person, erasure: ErasureId, extent: Extent<'_>) -> EraseStep {
    for _ in 0..200 {
        match world.erase_step(person, erasure, extent).await {
            Ok(step) => return step,
            Err(StoreError::Contended) => tokio::task::yield_now().await,
            Err(error) => panic!("{error}"),
        }
    }
    panic!("it gets nowhere");
}

/// Erases to the end. Returns the record.
pub async fn erase(world: &World, person: &Person) -> Erasure {
    let begun = begin_erasing(world, person).await;
    let remaining = RemainingData::default();
    for _ in 0..1_000 {
        let done = step(world, person, begun.id, Extent::Whole(&remaining))
            .await
            .done;
        if done {
            let all = erasures(world).await;
            let ended = all.into_iter().find(|erasure| erasure.id == begun.id);
            return ended.expect("it is recorded");
        }
    }
    panic!("it does not end");
}

async fn erasures(world: &World) -> Vec<Erasure> {
    let filter = ErasureFilter {
        workspace: Some(world.workspace),
        before: None,
        limit: 100,
    };
    world.erasures(&filter).await.expect("it lists")
}

/// Empties or removes these deliveries for an erasure. Returns what is gone.
async fn empty(world: &World, erasure: ErasureId, ids: &[DeliveryId]) -> Erased {
    let gone = world.erase_deliveries(world.workspace, erasure, ids).await;
    gone.expect("it removes")
}

async fn unlinked(world: &World, contact: ContactId, after: Option<DeliveryId>) -> UnlinkedPage {
    let page = world
        .unlinked_deliveries(world.workspace, contact, after)
        .await;
    page.expect("it reads")
}

/// Everything that is exported.
async fn exported(world: &World) -> Vec<Value> {
    let mut all = Vec::new();
    for entity in Entity::EXPORTED {
        all.extend(world.all(entity).await);
    }
    all.extend(errors(world).await);
    all
}

/// A source's id of a lead. It is not personal: it identifies a repeat, and stays.
fn external_id(name: &str, number: u8) -> String {
    format!("{}-{number}", &name[..1])
}

/// Makes something of every kind: deals with a history, messages in both directions, a
/// failure, a ticket, a waiting send, answers of a source and for a partner.
async fn live(world: &World, new: fn(&World, &str) -> NewLead, name: &str, phone: &str) {
    let item = bring(world, name, vec![lead(new(world, &external_id(name, 1)))]).await;
    let deal = item.items[0].deal_id.expect("a deal");
    let by = acme(world).await;
    let change = DealPatch {
        product: Some("P-1".to_owned()),
        ..wish(by, deal)
    };
    patch(world, change).await;
    world
        .commit(&[Write::LogDeal(Box::new(NewDealLog {
            by,
            deal,
            id: DealLogId::new(world.now()),
            kind: "call".to_owned(),
            subject: format!("{name} called"),
            description: Some(format!("{name} will come")),
            metadata: Map::new(),
            idempotency: None,
            answer: note_answer,
        }))])
        .await;
    let of_two = bring(world, name, vec![fetch(world.fetch(&external_id(name, 2)))]).await;
    assert_eq!(of_two.status, DeliveryStatus::Queued);
    let held = world.claim(10).await.into_iter().find_map(|job| match job {
        Job::Fetch(held) => Some(held),
        _ => None,
    });
    let held = held.expect("the fetch is due");
    let response = HttpResponse {
        status: 200,
        headers: vec![("x-of".to_owned(), name.to_owned())],
        body: format!("it is {name}").into_bytes(),
    };
    let answer = Write::Answer(Box::new(answered(&held, response)));
    world.commit(&[answer]).await;
    let fetched = lead(new(world, &external_id(name, 2)));
    world
        .commit(&[settle(&held, FetchOutcome::Items(vec![fetched]))])
        .await;
    // Sent, with its statuses; refused; and waiting.
    let message = |text: &str| NewMessage {
        content: Some(format!("Hello, {name}: {text}")),
        payload: json!({"name": "welcome", "text": name}).to_string(),
        ..message(world)
    };
    let asked = |text: &str| Notification {
        message: message(text),
        details: NotificationDetails {
            name: name.to_owned(),
            special_instructions: Some(format!("{name} sleeps long")),
            ..urgent(world, phone).details
        },
        ..urgent(world, phone)
    };
    let out = super::messages::store(world, asked("one")).await;
    let id = format!("wamid.{name}");
    let settlement = sent(line(world), out.message, 0, accepted_by(world, &id, phone));
    world.commit(&[settlement]).await;
    // As a host of the former release keeps it.
    let kept = format!(
        "insert into kept_sends (workspace_id, message_id, conversation_id, connection_id, sent_at, until_at,
           digest, outcome, recipient, payload)
         select workspace_id, id, conversation_id, 'line', created_at, created_at,
           'd1', 'accepted', '{phone}', '{{\"name\": \"{name}\"}}'
         from messages where id = {}",
        world.on.id(out.message)
    );
    world.change(&kept).await;
    let reported = status(
        world,
        &id,
        at(leadhost_domain::message::MessageState::Read, world.now()),
    );
    bring(world, name, vec![reported]).await;
    let refused = super::messages::store(world, asked("two")).await;
    let why = error(&format!("131-{name}"), Category::Recipient);
    settle_send(world, refused.message, 0, SendOutcome::Refused(why)).await;
    super::messages::store(
        world,
        Notification {
            lease_until: None,
            ..asked("three")
        },
    )
    .await;
    let mut reply = inbound(world, &format!("in.{name}"));
    reply.sender_id = phone.trim_start_matches('+').to_owned();
    reply.contact_keys = contact::channel_keys("whatsapp", &reply.sender_id);
    reply.phone = Some(number(phone));
    reply.name = Some(name.to_owned());
    reply.content = Some(format!("this is {name}"));
    let event = event(line(world), Event::Inbound(Box::new(reply)));
    bring(world, name, vec![event]).await;
    let change = DealPatch {
        stage: leadhost_domain::deal::DealStage::from_text("transferred"),
        ..wish(by, deal)
    };
    patch(world, change).await;
}

fn accepted_by(world: &World, external_id: &str, phone: &str) -> SendOutcome {
    match accepted(world, external_id) {
        SendOutcome::Accepted {
            external_ids,
            progress,
            word,
            ..
        } => SendOutcome::Accepted {
            external_ids,
            recipient_id: Some(phone.trim_start_matches('+').to_owned()),
            progress,
            word,
        },
        other => other,
    }
}

pub async fn a_person_is_erased_with_all_its_data_and_no_other_person_is(world: &World) {
    live(world, bento, "Bento", "+5521988880002").await;
    let others = exported(world).await;
    let tickets = count(world, "select count(*) from tickets").await;
    live(world, zulmira, "Zulmira", PHONE).await;
    assert_eq!(marks(world).await, MARKS);
    let person = person(world).await;
    let would = world.count_person(&person).await.expect("it counts");
    let record = erase(world, &person).await;
    assert_eq!(marks(world).await, [""; 0]);
    assert_eq!(exported(world).await, others, "others are as they were");
    assert_eq!(count(world, "select count(*) from tickets").await, tickets);
    assert!(everything(world).await.contains("this is Bento"));
    let gone = &record.erased;
    assert_eq!((gone.contacts, gone.deals, gone.conversations), (1, 2, 1));
    assert_eq!((gone.messages, gone.message_errors), (4, 1));
    assert_eq!((gone.sends, gone.channel_refs), (1, 2));
    assert_eq!(
        (gone.deal_logs, gone.fetch_answers, gone.tickets),
        (1, 1, 1)
    );
    assert!(gone.deal_changes >= 2 && gone.contact_keys >= 3, "{gone:?}");
    assert_eq!((gone.deliveries, gone.shared_deliveries), (4, 0));
    assert_eq!(would, *gone, "the counts before were correct");
    // Internal followers get the removal of each row.
    for (sql, expect) in [
        ("select count(*) from tombstones where entity = 1", 1),
        ("select count(*) from tombstones where entity = 2", 4),
        ("select count(*) from tombstones where entity = 3", 1),
        ("select count(*) from tombstones where entity = 4", 2),
        ("select count(*) from tombstones where entity = 5", 1),
        ("select count(*) from tombstones where entity = 6", 1),
    ] {
        assert_eq!(count(world, sql).await, expect, "{sql}");
    }
    assert!(record.done_at.is_some());
    assert_eq!(record.contact_id, person.id);
}

pub async fn a_source_that_repeats_a_lead_brings_no_person_back(world: &World) {
    let first = bring(world, "Zulmira", vec![lead(zulmira(world, "L1"))]).await;
    let erased = person(world).await;
    erase(world, &erased).await;
    // Its own delivery is gone; a repeat is a duplicate, whatever action the source
    // requests.
    let held = world.store.claim_delivery(
        first.delivery,
        world.now(),
        world.now().plus(Duration::from_mins(1)),
    );
    assert!(held.await.expect("it looks").is_none());
    for action in [
        leadhost_domain::lead::Action::Create,
        leadhost_domain::lead::Action::Update,
        leadhost_domain::lead::Action::Delete,
    ] {
        let mut again = zulmira(world, "L1");
        again.action = action;
        let repeat = bring(world, "Zulmira", vec![lead(again)]).await;
        assert_eq!(repeat.items[0].status, ItemStatus::Duplicate, "{action:?}");
    }
    // Nor does the replay of a repeat.
    let repeat = bring(world, "Zulmira", vec![lead(zulmira(world, "L1"))]).await;
    let mode = Mode::Replay { apply: true };
    let replayed = world
        .replay(repeat.delivery, mode, vec![lead(zulmira(world, "L1"))])
        .await;
    assert_eq!(replayed.items[0].status, ItemStatus::Duplicate);
    let waiting = world.item(fetch(world.fetch("L1"))).await;
    assert_eq!(waiting.status, ItemStatus::Duplicate);
    assert!(world.all(Entity::Contacts).await.is_empty());
    assert!(world.all(Entity::Deals).await.is_empty());
    // The id still finds the deliveries of the repeats.
    assert!(!marks(world).await.is_empty());
    let known = find(world, PersonBy::Id(erased.id))
        .await
        .expect("it was there");
    assert_eq!(erase(world, &known).await.erased.deliveries, 5);
    assert_eq!(marks(world).await, [""; 0]);
    // Another lead is a new request of the person.
    let new = world.bring(zulmira(world, "L2")).await;
    assert_eq!(new.status, ItemStatus::Converted);
}

pub async fn an_interrupted_erasure_continues_and_a_repeat_finds_nothing(world: &World) {
    live(world, zulmira, "Zulmira", PHONE).await;
    let found = person(world).await;
    let mut begun = Vec::new();
    let mut steps = 0;
    // Each step in its own run, which finds the person again by the phone.
    let ended = loop {
        let found = person(world).await;
        let erasure = begin_erasing(world, &found).await;
        begun.push(erasure.id);
        steps += 1;
        let done = step(world, &found, erasure.id, Extent::ButContact)
            .await
            .done;
        if done {
            let all = RemainingData::default();
            step(world, &found, erasure.id, Extent::Whole(&all)).await;
            break erasure.id;
        }
    };
    assert!(steps > 4, "{steps}");
    assert!(
        begun.iter().all(|id| *id == ended),
        "one record of all runs"
    );
    let records = erasures(world).await;
    assert_eq!(records.len(), 1);
    assert_eq!(records[0].erased.messages, 4);
    assert_eq!(records[0].erased.contacts, 1);
    assert_eq!(marks(world).await, [""; 0]);
    let by = PersonBy::Key(contact::phone_key("+551187654321"));
    assert!(find(world, by).await.is_none());
    // By its id the erasure is still known; nothing more is removed.
    let known = find(world, PersonBy::Id(found.id))
        .await
        .expect("it was there");
    assert_eq!(known.keys, [""; 0]);
    let again = erase(world, &known).await;
    assert!(again.erased.is_empty(), "{:?}", again.erased);
    let unknown = PersonBy::Id(ContactId::new(world.now()));
    assert!(find(world, unknown).await.is_none());
}

pub async fn people_who_share_an_address_are_found_by_it_one_after_the_other(world: &World) {
    let shared = "family@example.com";
    let mut people = Vec::new();
    for number in 1..=3 {
        let (id, phone) = (format!("L{number}"), format!("+55219888800{number}0"));
        let item = world
            .bring(named(world, &id, "Zulmira", &phone, shared))
            .await;
        people.push(item.contact_id.expect("a person"));
        world.advance(1).await;
    }
    let by = || PersonBy::Key(contact::email_key(shared));
    for (place, expect) in people.iter().enumerate() {
        let found = find(world, by()).await.expect("a person has this address");
        assert_eq!(found.id, *expect);
        assert_eq!(found.others, people[place + 1..]);
        erase(world, &found).await;
        is_whole(world).await;
    }
    assert!(find(world, by()).await.is_none());
    assert_eq!(marks(world).await, [""; 0]);
}

pub async fn a_shared_delivery_is_emptied_and_the_other_people_stay(world: &World) {
    let both = vec![lead(zulmira(world, "L1")), lead(bento(world, "L2"))];
    let shared = bring(world, "Zulmira and Bento", both).await;
    let waiting = vec![lead(zulmira(world, "L3")), fetch(world.fetch("L4"))];
    let half = bring(world, "Zulmira and a pointer", waiting).await;
    let own = bring(world, "Zulmira", vec![lead(zulmira(world, "L5"))]).await;
    let person = person(world).await;
    let would = world.count_person(&person).await.expect("it counts");
    let record = erase(world, &person).await;
    assert_eq!(would, record.erased);
    assert_eq!(record.erased.shared_deliveries, 2);
    assert_eq!(record.erased.deliveries, 1);
    assert_eq!(marks(world).await, [""; 0]);
    let detail = world.detail(shared.delivery).await;
    assert!(detail.request.body.is_empty() && detail.request.headers.is_empty());
    assert!(detail.request.query.is_empty());
    assert!(detail.notes[0].starts_with("emptied"), "{:?}", detail.notes);
    assert_eq!(detail.items.len(), 1, "that of the other one");
    assert_eq!(detail.items[0].index, 1);
    assert!(world.store.delivery(own.delivery).await.unwrap().is_none());
    // The waiting fetch continues.
    assert_eq!(world.status(half.delivery).await, DeliveryStatus::Queued);
    let held = world.claim_fetch().await;
    let fetched = lead(named(
        world,
        "L4",
        "Carla",
        "+5521988880003",
        "carla@example.org",
    ));
    let done = world
        .commit_one(settle(&held, FetchOutcome::Items(vec![fetched])))
        .await;
    assert_eq!(done.status, DeliveryStatus::Converted);
    assert_eq!(world.all(Entity::Deals).await.len(), 2);
}

pub async fn data_that_arrives_meanwhile_is_erased_too(world: &World) {
    live(world, zulmira, "Zulmira", PHONE).await;
    let found = person(world).await;
    let erasure = begin_erasing(world, &found).await;
    let mut number = 0;
    loop {
        let done = step(world, &found, erasure.id, Extent::ButContact)
            .await
            .done;
        if number < 8 {
            number += 1;
            let mut new = inbound(world, &format!("meanwhile-{number}"));
            new.content = Some("Zulmira again".to_owned());
            let item = receive(world, new).await;
            assert_eq!(item.contact_id, Some(found.id));
        } else if done {
            break;
        }
    }
    erase(world, &found).await;
    assert_eq!(marks(world).await, [""; 0]);
    assert!(exported(world).await.is_empty());
    // From now on it is a new person.
    let item = receive(world, inbound(world, "later")).await;
    assert_eq!(item.status, ItemStatus::Converted);
    assert_ne!(item.contact_id, Some(found.id));
}

/// Checks that no row refers to a removed one.
async fn is_whole(world: &World) {
    for sql in [
        "select count(*) from deals as d left join contacts as c on c.id = d.person_id
         where c.id is null",
        "select count(*) from conversations as v left join contacts as c on c.id = v.contact_id
         where c.id is null",
        "select count(*) from messages as m left join conversations as v
         on v.id = m.conversation_id where v.id is null",
        "select count(*) from contact_keys as k left join contacts as c on c.id = k.contact_id
         where c.id is null",
        "select count(*) from shared_keys as k left join contacts as c on c.id = k.contact_id
         where c.id is null",
        "select count(*) from tickets as t left join contacts as c on c.id = t.contact_id
         where c.id is null",
        "select count(*) from sends as s left join messages as m on m.id = s.message_id
         where m.id is null",
    ] {
        assert_eq!(count(world, sql).await, 0, "{sql}");
    }
}

pub async fn a_person_who_sends_and_gets_messages_during_the_erasure_leaves_nothing_behind(
    world: &World,
) {
    live(world, bento, "Bento", "+5521988880002").await;
    let writes = async {
        let mut written = 0;
        for round in 0..60 {
            let mut new = inbound(world, &format!("race-{round}"));
            new.content = Some(format!("Zulmira {round}"));
            let message = event(line(world), Event::Inbound(Box::new(new)));
            let batch = [
                world.accept_as(raw(world, "Zulmira"), vec![message]),
                world.accept_as(
                    raw(world, "Zulmira"),
                    vec![lead(zulmira(world, &format!("race-{round}")))],
                ),
                Write::Notify(Box::new(notification(world, PHONE))),
            ];
            // A batch that loses a conflict is retried, as the writer does.
            while let Err(error) = world.store.commit(&batch).await {
                assert!(matches!(error, StoreError::Contended), "{error}");
            }
            written += 1;
            tokio::task::yield_now().await;
        }
        written
    };
    let erases = async {
        let mut erased = 0;
        for _ in 0..12 {
            let by = PersonBy::Key(contact::phone_key("+551187654321"));
            match find(world, by).await {
                Some(found) => {
                    let begun = begin_erasing(world, &found).await;
                    let all = RemainingData::default();
                    // As many steps as succeed during the writes.
                    for _ in 0..12 {
                        if step(world, &found, begun.id, Extent::Whole(&all))
                            .await
                            .done
                        {
                            erased += 1;
                            break;
                        }
                    }
                }
                None => tokio::task::yield_now().await,
            }
        }
        erased
    };
    let (written, _) = tokio::join!(writes, erases);
    assert_eq!(written, 60);
    is_whole(world).await;
    if let Some(found) = find(world, PersonBy::Key(contact::phone_key("+551187654321"))).await {
        erase(world, &found).await;
    }
    is_whole(world).await;
    let left: BTreeSet<_> = world
        .all(Entity::Contacts)
        .await
        .iter()
        .map(|contact| contact["name"].to_string())
        .collect();
    assert_eq!(left, BTreeSet::from(["\"Bento\"".to_owned()]));
}

pub async fn deliveries_that_led_to_no_person_are_listed_whole_and_removed_by_their_ids(
    world: &World,
) {
    bring(world, "Bento", vec![lead(bento(world, "L1"))]).await;
    let unknown = ContactId::new(world.now());
    let mut expect = Vec::new();
    for status in [
        DeliveryStatus::Failed,
        DeliveryStatus::Quarantined,
        DeliveryStatus::Rejected,
    ] {
        let kept = Write::Accept(Box::new(Acceptance {
            keys: vec![7],
            delivery: raw(world, "Zulmira"),
            peer: None,
            result: ConversionResult {
                status: Some(status),
                presented: Some(b"Zulmira's".to_vec()),
                ..converted(Vec::new())
            },
        }));
        expect.push((world.commit_one(kept).await.delivery, status));
        world.advance(1).await;
    }
    let ignored = ItemResult::Ignored("no lead".to_owned());
    let ignored = bring(world, "Zulmira", vec![ignored]).await;
    expect.push((ignored.delivery, DeliveryStatus::Ignored));
    let page = unlinked(world, unknown, None).await;
    assert_eq!(page.next, None);
    let found: Vec<_> = page
        .deliveries
        .iter()
        .map(|one| (one.standing.id, one.standing.status))
        .collect();
    assert_eq!(found, expect);
    assert_eq!(page.deliveries[0].body, b"{\"name\":\"Zulmira\"}");
    has!(page.deliveries[0].headers, "Zulmira");
    let after = unlinked(world, unknown, Some(expect[1].0)).await;
    assert_eq!(after.deliveries.len(), 2);
    bring(world, "Zulmira", vec![lead(zulmira(world, "L2"))]).await;
    let person = person(world).await;
    let begun = begin_erasing(world, &person).await;
    let ids: Vec<DeliveryId> = expect.iter().map(|(id, _)| *id).collect();
    let gone = empty(world, begun.id, &ids).await;
    assert_eq!(gone.deliveries, 4);
    assert_eq!(erase(world, &person).await.erased.deliveries, 5);
    assert_eq!(marks(world).await, [""; 0]);
    let jobs = world.claim(10).await;
    assert!(jobs.is_empty(), "{jobs:?}");
}

pub async fn a_delivery_with_a_part_that_led_to_no_person_is_emptied(world: &World) {
    bring(world, "Zulmira", vec![lead(zulmira(world, "L1"))]).await;
    let person = person(world).await;
    let items = vec![
        ItemResult::Ignored("Zulmira's is no lead".to_owned()),
        lead(bento(world, "L2")),
    ];
    let part = bring(world, "Zulmira and Bento", items).await;
    let page = unlinked(world, person.id, None).await;
    let found: Vec<_> = page
        .deliveries
        .iter()
        .map(|one| (one.standing.id, one.standing.is_shared))
        .collect();
    assert_eq!(found, [(part.delivery, true)]);
    // A delivery of the person itself is removed anyway.
    let bento = world.detail(part.delivery).await.items[1].contact_id;
    let page = unlinked(world, bento.expect("a contact"), None).await;
    assert!(page.deliveries.is_empty());
    let begun = begin_erasing(world, &person).await;
    let gone = empty(world, begun.id, &[part.delivery]).await;
    assert_eq!((gone.deliveries, gone.shared_deliveries), (0, 1));
    let detail = world.detail(part.delivery).await;
    assert!(detail.request.body.is_empty() && detail.request.headers.is_empty());
    assert_eq!(detail.items.len(), 1);
    assert_eq!(detail.items[0].index, 1);
    assert_eq!(erase(world, &person).await.erased.shared_deliveries, 1);
    assert_eq!(marks(world).await, [""; 0]);
    assert_eq!(world.all(Entity::Deals).await.len(), 1);
}

pub async fn a_delivery_with_an_unrouted_lead_is_left(world: &World) {
    let items = vec![
        lead(zulmira(world, "L1")),
        ItemResult::Unrouted("page 7".to_owned()),
    ];
    let part = bring(world, "Zulmira and a page", items).await;
    bring(world, "Zulmira", vec![lead(zulmira(world, "L2"))]).await;
    let person = person(world).await;
    let would = world.count_person(&person).await.expect("it counts");
    assert_eq!((would.deliveries, would.shared_deliveries), (1, 0));
    let page = unlinked(world, person.id, None).await;
    assert_eq!(page.deliveries.len(), 1);
    let found = &page.deliveries[0];
    assert_eq!(found.standing.id, part.delivery);
    assert!(found.is_own && found.standing.is_shared && found.standing.is_pending);
    let record = erase(world, &person).await;
    assert_eq!(record.erased.contacts, 1);
    assert_eq!(
        (record.erased.deliveries, record.erased.shared_deliveries),
        (1, 0)
    );
    let detail = world.detail(part.delivery).await;
    assert!(!detail.request.body.is_empty());
    assert_eq!(detail.items.len(), 2);
    // It is removed only if the operator asks for it.
    let gone = empty(world, record.id, &[part.delivery]).await;
    assert_eq!((gone.deliveries, gone.shared_deliveries), (0, 1));
    assert_eq!(erase(world, &person).await.erased.deliveries, 1);
    assert_eq!(marks(world).await, [""; 0]);
}

pub async fn a_repeated_request_does_not_get_the_erased_names(world: &World) {
    let mut names = Vec::new();
    for (key, outcome) in [
        ("k-taken", accepted(world, "w1")),
        (
            "k-refused",
            SendOutcome::Refused(error("131", Category::Recipient)),
        ),
        (
            "k-silent",
            SendOutcome::Unknown {
                reason: "no answer".to_owned(),
            },
        ),
    ] {
        let mut claim = claim(world, "send-notification", "ab").await;
        claim.key.key = key.to_owned();
        let new = Notification {
            idempotency: Some(claim.clone()),
            ..urgent(world, PHONE)
        };
        let stored = super::messages::store(world, new).await;
        let status = if key == "k-taken" { 200 } else { 400 };
        let answer = StoredAnswer {
            status,
            headers: Vec::new(),
            body: json!({"success": status == 200, "message": "Zulmira cannot be reached"})
                .to_string(),
        };
        let answer = (key != "k-silent").then(|| (claim.key.clone(), answer));
        world
            .commit(&[Write::Sent(Box::new(SendSettlement {
                channel: line(world),
                message: stored.message,
                lease: Lease(0),
                outcome,
                further_keys: Vec::new(),
                ran: None,
                holds: Vec::new(),
                pause: None,
                answer,
            }))])
            .await;
        names.push(claim);
    }
    erase(world, &person(world).await).await;
    for claim in names {
        let key = claim.key.key.clone();
        let new = Notification {
            idempotency: Some(claim),
            ..urgent(world, PHONE)
        };
        let outcome = match notify(world, new).await {
            Notified::Replayed(answer) => answer,
            other => panic!("{key}: {other:?}"),
        };
        let is_taken = key == "k-taken";
        assert_eq!(outcome.is_erased(), !is_taken, "{key}: {outcome:?}");
        let status = if is_taken { 200 } else { 400 };
        assert_eq!(outcome.status, status, "{key}");
    }
    assert!(
        world.all(Entity::Contacts).await.is_empty(),
        "no erased person is back"
    );
}

pub async fn erasures_are_listed_newest_first_without_names(world: &World) {
    assert_eq!(erasures(world).await, []);
    bring(world, "Zulmira", vec![lead(zulmira(world, "L1"))]).await;
    let first = erase(world, &person(world).await).await;
    world.advance(60).await;
    bring(world, "Zulmira", vec![lead(zulmira(world, "L2"))]).await;
    let found = person(world).await;
    let second = begin_erasing(world, &found).await;
    let all = erasures(world).await;
    assert_eq!(
        all.iter().map(|one| one.id).collect::<Vec<_>>(),
        [second.id, first.id]
    );
    assert_eq!(all[0].done_at, None);
    assert_eq!(all[1], first);
    let page = ErasureFilter {
        workspace: None,
        before: Some(second.id),
        limit: 1,
    };
    let older = world.erasures(&page).await.expect("it lists");
    assert_eq!(older, [first]);
    let elsewhere = ErasureFilter {
        workspace: Some(leadhost_domain::id::WorkspaceId(Uuid::from_u128(3))),
        before: None,
        limit: 10,
    };
    assert_eq!(world.erasures(&elsewhere).await.expect("it lists"), []);
    let text = serde_json::to_string(&all).expect("JSON");
    assert!(!MARKS.iter().any(|mark| text.contains(mark)), "{text}");
}

pub async fn a_removed_deal_is_referenced_by_nothing(world: &World) {
    let kept = bring(world, "Bento", vec![lead(bento(world, "L9"))]).await;
    live(world, zulmira, "Zulmira", PHONE).await;
    let conversations = world.all(Entity::Conversations).await;
    let deal: DealId = conversations[0]["deal_id"]
        .as_str()
        .and_then(|id| id.parse().ok())
        .expect("the conversation is about a deal");
    let failures = errors(world).await;
    assert_eq!(failures[0]["deal_id"], conversations[0]["deal_id"]);
    world.advance(1).await;
    let remove = async |id| world.remove_deal(world.workspace, id).await;
    assert!(remove(deal).await.expect("it removes"));
    assert!(!remove(deal).await.expect("it looks"), "it is gone");
    let elsewhere = leadhost_domain::id::WorkspaceId(Uuid::from_u128(3));
    let other = kept.items[0].deal_id.expect("a deal");
    let foreign = world.remove_deal(elsewhere, other).await;
    assert!(!foreign.expect("it looks"), "of another workspace");
    let deals = world.all(Entity::Deals).await;
    assert!(deals.iter().all(|row| row["id"] != json!(deal)));
    assert_eq!(deals.len(), 2);
    let gone = world.deal_past(world.workspace, deal, 10).await;
    assert!(gone.expect("it reads").is_none());
    let after = &world.all(Entity::Conversations).await[0];
    assert_eq!(after["deal_id"], Value::Null);
    assert!(after["cursor_at"].as_str() > conversations[0]["cursor_at"].as_str());
    let failure = &errors(world).await[0];
    assert_eq!(failure["deal_id"], Value::Null);
    assert!(failure["cursor_at"].as_str() > failures[0]["cursor_at"].as_str());
    assert_eq!(
        count(
            world,
            "select count(*) from tickets
             where deal_id is not null and deal_id not in (select id from deals)"
        )
        .await,
        0
    );
    assert_eq!(
        count(world, "select count(*) from tombstones where entity = 4").await,
        1
    );
    assert_eq!(
        world.all(Entity::Contacts).await.len(),
        2,
        "the person stays"
    );
    // The source's lead is still known.
    for id in ["Z-1", "Z-2"] {
        let again = world.bring(zulmira(world, id)).await;
        assert_eq!(again.status, ItemStatus::Duplicate);
    }
    // A person can still be erased.
    erase(world, &person(world).await).await;
    assert_eq!(world.all(Entity::Deals).await.len(), 1);
    assert_eq!(past(world, other).await.logs, []);
}

pub async fn products_are_removed_by_their_names(world: &World) {
    let made = world
        .import_products(
            world.workspace,
            ImportId(world.now()),
            &[
                product("H-1", "House one"),
                product("H-2", "House two"),
                product("H/3 é", "House three"),
            ],
        )
        .await;
    assert_eq!(made.expect("it imports").created, 3);
    let before = changes(world, 0).await;
    let remove = async |ids: &[&str]| {
        let ids: Vec<String> = ids.iter().map(|id| (*id).to_owned()).collect();
        world
            .remove_products(world.workspace, &ids)
            .await
            .expect("it removes")
    };
    assert_eq!(remove(&[]).await, 0);
    assert_eq!(remove(&["nothing"]).await, 0);
    assert_eq!(remove(&["H-1", "H/3 é", "H-1", "nothing"]).await, 2);
    let reported = changes(world, before.clock).await;
    assert_eq!(reported.changes.len(), 2);
    assert!(reported.changes.iter().all(|change| change.name.is_none()));
    assert_eq!(remove(&["H-1"]).await, 0, "it is gone");
    let left = changes(world, 0).await;
    let names: Vec<_> = left
        .changes
        .iter()
        .filter_map(|c| c.name.as_deref())
        .collect();
    assert!(names.contains(&"House two") && !names.contains(&"House one"));
}

async fn changes(world: &World, after: i64) -> ProductChanges {
    let changes = world.product_changes(world.workspace, after, 100).await;
    changes.expect("it tells")
}
