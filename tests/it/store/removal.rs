//! Permanent removal: people who want to be forgotten, deals, products.

use leadhost_domain::contact::{self, FoundBy};
use leadhost_tests::seed::product;
use sqlx::{AssertSqlSafe, Executor as _};

use super::deals::noting::{note_answer, note_write};
use super::deals::{acme, claim, past, patch, to_stage, wish};
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
    assert_eq!(world.rows(left).await, 0);
    let all = everything(world).await;
    MARKS
        .into_iter()
        .filter(|mark| all.contains(mark))
        .collect()
}

fn named(world: &World, external_id: &str, name: &str, phone: &str, email: &str) -> NewLead {
    let new = titled(world.known_as(external_id), &format!("{name} asks"));
    let mut new = with_email(new, email);
    new.phones.push(number(phone));
    new.contact_keys = contact::keys(&new.phones, &new.emails);
    new.name = Some(name.to_owned());
    new.deal_props = object(json!({"message": format!("it is {name}")}));
    new.contact_props = object(json!({"nick": name}));
    new
}

pub fn zulmira(world: &World, external_id: &str) -> NewLead {
    named(world, external_id, "Zulmira", PHONE, "zulmira@example.com")
}

const OF_BENTO: &str = "+5521988880002";

fn bento(world: &World, external_id: &str) -> NewLead {
    named(world, external_id, "Bento", OF_BENTO, "bento@example.org")
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

async fn find_zulmira(world: &World) -> Option<Person> {
    find(world, PersonBy::Key(contact::phone_key("+551187654321"))).await
}

pub async fn person(world: &World) -> Person {
    find_zulmira(world).await.expect("the person is there")
}

/// A delivery of this lead alone, with her name in the raw data.
async fn bring_zulmira(world: &World, external_id: &str) -> DeliveryOutcome {
    bring(world, "Zulmira", vec![lead(zulmira(world, external_id))]).await
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

/// One step of the whole. Returns whether it was the last.
async fn step_of_all(world: &World, person: &Person, erasure: ErasureId) -> bool {
    let remaining = RemainingData::default();
    step(world, person, erasure, Extent::Whole(&remaining))
        .await
        .done
}

/// Erases to the end. Returns the record.
pub async fn erase(world: &World, person: &Person) -> Erasure {
    let begun = begin_erasing(world, person).await;
    for _ in 0..1_000 {
        if step_of_all(world, person, begun.id).await {
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
    let page = world.unlinked_deliveries(world.workspace, contact, after);
    page.await.expect("it reads")
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

/// A source's id of a lead, which may name the person.
fn external_id(name: &str, number: u8) -> String {
    format!("{name}-{number}")
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
    let note = NewDealLog {
        by,
        deal,
        id: DealLogId::new(world.now()),
        kind: "call".to_owned(),
        subject: format!("{name} called"),
        description: Some(format!("{name} will come")),
        metadata: Map::new(),
        idempotency: None,
        answer: note_answer,
    };
    world.write(note_write(note)).await;
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
    let fetched = vec![lead(new(world, &external_id(name, 2)))];
    let found = settle(&held, FetchOutcome::Items(fetched));
    for write in [answer, found] {
        world.write(write).await;
    }
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
    let out = store(world, asked("one")).await.message;
    let id = format!("wamid.{name}");
    let outcome = accepted_at(&[&id], Some(&phone[1..]), world.now());
    settle_send(world, out, 0, outcome).await;
    // As a host of the former release keeps it.
    let kept = format!(
        "insert into kept_sends (workspace_id, message_id, conversation_id, connection_id, sent_at, until_at,
           digest, outcome, recipient, payload)
         select workspace_id, id, conversation_id, 'line', created_at, created_at,
           'd1', 'accepted', '{phone}', '{{\"name\": \"{name}\"}}'
         from messages where id = {}",
        world.on.id(out)
    );
    world.change(&kept).await;
    let reported = status(world, &id, at(MessageState::Read, world.now()));
    bring(world, name, vec![reported]).await;
    let refused = store(world, asked("two")).await.message;
    let why = error(&format!("131-{name}"), Category::Recipient);
    settle_send(world, refused, 0, SendOutcome::Refused(why)).await;
    let waiting = Notification {
        lease_until: None,
        ..asked("three")
    };
    store(world, waiting).await;
    let mut reply = inbound_from(world, &format!("in.{name}"), phone);
    reply.name = Some(name.to_owned());
    reply.content = Some(format!("this is {name}"));
    bring(world, name, vec![inbound_event(world, reply)]).await;
    patch(world, to_stage(by, deal, DealStage::Transferred)).await;
}

pub async fn a_person_is_erased_with_all_its_data_and_no_other_person_is(world: &World) {
    live(world, bento, "Bento", OF_BENTO).await;
    let others = exported(world).await;
    let tickets = world.rows("select count(*) from tickets").await;
    live(world, zulmira, "Zulmira", PHONE).await;
    assert_eq!(marks(world).await, MARKS);
    let person = person(world).await;
    let would = world.count_person(&person).await.expect("it counts");
    let record = erase(world, &person).await;
    assert_eq!(marks(world).await, [""; 0]);
    assert_eq!(exported(world).await, others, "others are as they were");
    assert_eq!(world.rows("select count(*) from tickets").await, tickets);
    assert!(everything(world).await.contains("this is Bento"));
    let gone = &record.erased;
    assert_eq!((gone.contacts, gone.deals, gone.conversations), (1, 2, 1));
    assert_eq!((gone.messages, gone.message_errors), (4, 1));
    assert_eq!((gone.sends, gone.channel_refs), (1, 2));
    assert_eq!((gone.deal_logs, gone.fetch_answers), (1, 1));
    assert_eq!(gone.tickets, 1);
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
        assert_eq!(world.rows(sql).await, expect, "{sql}");
    }
    assert!(record.done_at.is_some());
    assert_eq!(record.contact_id, person.id);
}

pub async fn a_source_that_repeats_a_lead_brings_no_person_back(world: &World) {
    let first = bring_zulmira(world, "L1").await;
    let erased = person(world).await;
    erase(world, &erased).await;
    // Its own delivery is gone; a repeat is a duplicate, whatever action the source
    // requests.
    assert!(world.try_claim(first.delivery).await.is_none());
    for action in [Action::Create, Action::Update, Action::Delete] {
        let mut again = zulmira(world, "L1");
        again.action = action;
        let repeat = bring(world, "Zulmira", vec![lead(again)]).await;
        assert_eq!(repeat.items[0].status, ItemStatus::Duplicate, "{action:?}");
    }
    // Nor does the replay of a repeat.
    let repeat = bring_zulmira(world, "L1").await.delivery;
    let items = vec![lead(zulmira(world, "L1"))];
    let replayed = world.replay(repeat, APPLY, items).await;
    assert_eq!(replayed.items[0].status, ItemStatus::Duplicate);
    let waiting = world.item(fetch(world.fetch("L1"))).await;
    assert_eq!(waiting.status, ItemStatus::Duplicate);
    assert!(world.all(Entity::Contacts).await.is_empty());
    assert!(world.all(Entity::Deals).await.is_empty());
    // The id still finds the deliveries of the repeats.
    assert!(!marks(world).await.is_empty());
    let known = find(world, PersonBy::Id(erased.id)).await;
    let again = erase(world, &known.expect("it was there")).await;
    assert_eq!(again.erased.deliveries, 5);
    assert_eq!(marks(world).await, [""; 0]);
    // The id still shows that a lead is known, and does not name it.
    assert_eq!(
        world
            .rows("select count(*) from dedupe where key = 'id:L1'")
            .await,
        0
    );
    // Another lead is a new request of the person.
    let new = world.bring(zulmira(world, "L2")).await;
    assert_eq!(new.status, ItemStatus::Converted);
}

/// A removed lead is known by hashes of its person's phones and addresses alone.
pub async fn another_persons_lead_under_a_removed_id_is_kept(world: &World) {
    let long = "9".repeat(600);
    for (id, is_erased) in [("L1", false), (&long, false), ("L2", true)] {
        let item = world.bring(zulmira(world, id)).await;
        let changed = with_phone(updating(world.known_as(id)), "+5511900002000");
        world.bring(changed.clone()).await;
        if is_erased {
            erase(world, &person(world).await).await;
            assert_eq!(marks(world).await, [""; 0]);
        } else {
            let removed = world.remove_deal(world.workspace, item.deal_id.expect("a deal"));
            assert!(removed.await.expect("it removes"));
        }
        let by_address = with_email(world.known_as(id), "zulmira@example.com");
        let of_bento = [bento(world, id), updating(bento(world, id))];
        let own = world.bring(of_bento[0].clone()).await;
        assert_eq!(own.status, ItemStatus::Converted);
        assert_ne!(own.deal_id, item.deal_id);
        for (known, of) in [
            (zulmira(world, id), item.deal_id),
            (updating(zulmira(world, id)), item.deal_id),
            (changed, item.deal_id),
            (by_address, item.deal_id),
            (of_bento[0].clone(), own.deal_id),
            (of_bento[1].clone(), own.deal_id),
        ] {
            let repeat = world.bring(known.clone()).await;
            let expect = (ItemStatus::Duplicate, of);
            assert_eq!((repeat.status, repeat.deal_id), expect, "{known:?}");
        }
        // The second one's lead is removed, too.
        let changed = with_phone(updating(bento(world, id)), "+5511900002001");
        world.bring(changed).await;
        let removed = world.remove_deal(world.workspace, own.deal_id.expect("a deal"));
        assert!(removed.await.expect("it removes"));
        let by_phone = with_phone(world.known_as(id), "+5511900002001");
        for known in [bento(world, id), by_phone, zulmira(world, id)] {
            let status = world.bring(known).await.status;
            assert_eq!(status, ItemStatus::Duplicate);
        }
        let third = named(world, id, "Caio", "+5521988880003", "caio@example.org");
        let change = updating(third.clone());
        for (new, expect) in [
            (change, ItemStatus::Converted),
            (third, ItemStatus::Duplicate),
        ] {
            assert_eq!(world.bring(new).await.status, expect);
        }
    }
    assert_eq!(world.all(Entity::Deals).await.len(), 3);
    assert_eq!(marks(world).await, [""; 0]);
}

pub async fn what_a_channel_reports_about_an_erased_person_is_not_kept(world: &World) {
    let bring_failure = async |id: &str| {
        let failed = failed(world, "131026", Category::Recipient);
        bring(world, "Zulmira", vec![status(world, id, failed)]).await
    };
    // One message is with the channel, and one is on its way there.
    let out = store(world, urgent(world, PHONE)).await.message;
    settle_send(
        world,
        out,
        0,
        accepted_at(&["wamid.Zulmira"], None, world.now()),
    )
    .await;
    let on_its_way = store(world, urgent(world, PHONE)).await.message;
    erase(world, &person(world).await).await;
    let accepted = accepted_at(&["wamid.Zulmira.2"], None, world.now());
    let settled = settle_send(world, on_its_way, 0, accepted).await;
    assert!(matches!(settled, WriteOutcome::Stale));
    for id in ["wamid.Zulmira", "wamid.Zulmira.2"] {
        let reported = bring_failure(id).await;
        assert_eq!(reported.items[0].status, ItemStatus::Ignored, "{id}");
        bring(
            world,
            "Zulmira",
            vec![status(world, id, at(MessageState::Read, world.now()))],
        )
        .await;
    }
    assert_eq!(marks(world).await, [""; 0]);
    assert!(world.all(Entity::MessageErrors).await.is_empty());
}

pub async fn reports_about_somebody_who_is_no_contact_are_erased_by_the_number(world: &World) {
    let failed = failed(world, "131026", Category::Recipient);
    let reported = bring(world, "Zulmira", vec![status(world, "wamid.other", failed)]).await;
    assert!(find_zulmira(world).await.is_none());
    let number = Some(PHONE.to_owned());
    let person = Person::unknown(world.workspace, (number, None));
    let would = world.count_person(&person).await.expect("it counts");
    assert_eq!((would.message_errors, would.channel_refs), (1, 1));
    let begun = begin_erasing(world, &person).await;
    let deliveries = [reported.delivery];
    let gone = world.erase_deliveries(world.workspace, begun.id, &deliveries);
    assert_eq!(gone.await.unwrap().deliveries, 1);
    let record = erase(world, &person).await.erased;
    assert_eq!((record.message_errors, record.channel_refs), (1, 1));
    assert!(world.all(Entity::MessageErrors).await.is_empty());
    assert_eq!(marks(world).await, [""; 0]);
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
        let part = step(world, &found, erasure.id, Extent::ButContact);
        if part.await.done {
            step_of_all(world, &found, erasure.id).await;
            break erasure.id;
        }
    };
    assert!(steps > 4, "{steps}");
    let is_one = begun.iter().all(|id| *id == ended);
    assert!(is_one, "one record of all runs");
    let records = erasures(world).await;
    assert_eq!(records.len(), 1);
    assert_eq!(records[0].erased.messages, 4);
    assert_eq!(records[0].erased.contacts, 1);
    assert_eq!(marks(world).await, [""; 0]);
    assert!(find_zulmira(world).await.is_none());
    // By its id the erasure is still known; nothing more is removed.
    let known = find(world, PersonBy::Id(found.id))
        .await
        .expect("it was there");
    assert_eq!(known.keys, [""; 0]);
    let again = erase(world, &known).await;
    assert!(again.erased.is_empty(), "{:?}", again.erased);
    let unknown = PersonBy::Id(ContactId::random());
    assert!(find(world, unknown).await.is_none());
}

pub async fn people_who_share_an_address_are_found_by_it_one_after_the_other(world: &World) {
    let shared = "family@example.com";
    let mut people = Vec::new();
    for number in 1..=3 {
        let (id, phone) = (format!("L{number}"), format!("+55219888800{number}0"));
        let new = named(world, &id, "Zulmira", &phone, shared);
        let item = world.bring(new).await;
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
    let own = bring_zulmira(world, "L5").await;
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
    assert_eq!(detail.items.len(), 1, "the other delivery's");
    assert_eq!(detail.items[0].index, 1);
    assert!(!world.is_kept(own.delivery).await);
    // The waiting fetch continues.
    assert_eq!(world.status(half.delivery).await, DeliveryStatus::Queued);
    let held = world.claim_fetch().await;
    let carla = ("Carla", "+5521988880003", "carla@example.org");
    let carla = named(world, "L4", carla.0, carla.1, carla.2);
    let found = FetchOutcome::Items(vec![lead(carla)]);
    let done = world.commit_one(settle(&held, found)).await;
    assert_eq!(done.status, DeliveryStatus::Converted);
    assert_eq!(world.all(Entity::Deals).await.len(), 2);
}

pub async fn a_shared_delivery_without_a_body_loses_its_query_and_its_headers(world: &World) {
    let request = NewDelivery {
        body: Vec::new().into(),
        ..raw(world, "Zulmira")
    };
    let both = vec![lead(zulmira(world, "L1")), lead(bento(world, "L2"))];
    let shared = world.commit_one(world.accept_as(request, both)).await;
    erase(world, &person(world).await).await;
    let kept = world.detail(shared.delivery).await.request;
    assert_eq!((kept.query, kept.headers), (Vec::new(), Vec::new()));
}

pub async fn data_that_arrives_meanwhile_is_erased_too(world: &World) {
    live(world, zulmira, "Zulmira", PHONE).await;
    let found = person(world).await;
    let erasure = begin_erasing(world, &found).await;
    let mut number = 0;
    loop {
        let part = step(world, &found, erasure.id, Extent::ButContact);
        let done = part.await.done;
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
        "select count(*) from deals where person_id not in (select id from contacts)",
        "select count(*) from conversations where contact_id not in (select id from contacts)",
        "select count(*) from messages where conversation_id not in (select id from conversations)",
        "select count(*) from contact_keys where contact_id not in (select id from contacts)",
        "select count(*) from shared_keys where contact_id not in (select id from contacts)",
        "select count(*) from tickets where contact_id not in (select id from contacts)",
        "select count(*) from sends where message_id not in (select id from messages)",
    ] {
        assert_eq!(world.rows(sql).await, 0, "{sql}");
    }
}

pub async fn a_person_who_sends_and_gets_messages_during_the_erasure_leaves_nothing_behind(
    world: &World,
) {
    live(world, bento, "Bento", OF_BENTO).await;
    let writes = async {
        let mut written = 0;
        for round in 0..60 {
            let mut new = inbound(world, &format!("race-{round}"));
            new.content = Some(format!("Zulmira {round}"));
            let of_lead = vec![lead(zulmira(world, &format!("race-{round}")))];
            let batch = [
                world.accept_as(raw(world, "Zulmira"), vec![inbound_event(world, new)]),
                world.accept_as(raw(world, "Zulmira"), of_lead),
                notify_write(notification(world, PHONE)),
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
        for _ in 0..12 {
            let Some(found) = find_zulmira(world).await else {
                tokio::task::yield_now().await;
                continue;
            };
            let begun = begin_erasing(world, &found).await;
            // As many steps as succeed during the writes.
            for _ in 0..12 {
                if step_of_all(world, &found, begun.id).await {
                    break;
                }
            }
        }
    };
    let (written, ()) = tokio::join!(writes, erases);
    assert_eq!(written, 60);
    is_whole(world).await;
    if let Some(found) = find_zulmira(world).await {
        erase(world, &found).await;
    }
    is_whole(world).await;
    let left = world.all(Entity::Contacts).await;
    assert!(left.iter().all(|contact| contact["name"] == "Bento"));
    assert!(!left.is_empty());
}

pub async fn deliveries_that_led_to_no_person_are_listed_whole_and_removed_by_their_ids(
    world: &World,
) {
    bring(world, "Bento", vec![lead(bento(world, "L1"))]).await;
    let unknown = ContactId::random();
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
                presented: Some(b"Zulmira's".to_vec()),
                ..ended(status)
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
    let found = page.deliveries.iter();
    let found: Vec<_> = found
        .map(|one| (one.standing.id, one.standing.status))
        .collect();
    assert_eq!(found, expect);
    assert_eq!(page.deliveries[0].body, b"{\"name\":\"Zulmira\"}");
    has!(page.deliveries[0].headers, "Zulmira");
    let after = unlinked(world, unknown, Some(expect[1].0)).await;
    assert_eq!(after.deliveries.len(), 2);
    bring_zulmira(world, "L2").await;
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
    bring_zulmira(world, "L1").await;
    let person = person(world).await;
    let items = vec![
        ItemResult::Ignored("Zulmira's is no lead".to_owned()),
        lead(bento(world, "L2")),
    ];
    let part = bring(world, "Zulmira and Bento", items).await;
    let page = unlinked(world, person.id, None).await;
    let [found] = &page.deliveries[..] else {
        panic!("{}", page.deliveries.len());
    };
    assert_eq!(found.standing.id, part.delivery);
    assert!(found.standing.is_shared);
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
    bring_zulmira(world, "L2").await;
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
    assert_eq!(record.erased.deliveries, 1);
    assert_eq!(record.erased.shared_deliveries, 0);
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
    let silent = "no answer".to_owned();
    let mut requests = Vec::new();
    for (key, status, outcome) in [
        ("k-taken", Some(200), accepted(world, "w1")),
        (
            "k-refused",
            Some(400),
            SendOutcome::Refused(error("131", Category::Recipient)),
        ),
        ("k-silent", None, SendOutcome::Unknown { reason: silent }),
    ] {
        let mut claim = claim(world, "send-notification", "ab").await;
        claim.key.key = key.to_owned();
        let new = || Notification {
            idempotency: Some(claim.clone()),
            ..urgent(world, PHONE)
        };
        let answer = status.map(|status| {
            let body = json!({"success": status == 200, "message": "Zulmira cannot be reached"});
            let answer = StoredAnswer {
                status,
                headers: Vec::new(),
                body: body.to_string(),
            };
            (claim.key.clone(), answer)
        });
        let message = store(world, new()).await.message;
        settle_with(world, message, 0, outcome, |sent| sent.answer = answer).await;
        requests.push((key, status, new()));
    }
    erase(world, &person(world).await).await;
    for (key, status, new) in requests {
        let outcome = match notify(world, new).await {
            Notified::Replayed(answer) => answer,
            other => panic!("{key}: {other:?}"),
        };
        let is_taken = status == Some(200);
        assert_eq!(outcome.is_erased(), !is_taken, "{key}: {outcome:?}");
        assert_eq!(outcome.status, if is_taken { 200 } else { 400 }, "{key}");
    }
    let contacts = world.all(Entity::Contacts).await;
    assert!(contacts.is_empty(), "no erased person is back");
}

pub async fn erasures_are_listed_newest_first_without_names(world: &World) {
    assert_eq!(erasures(world).await, []);
    bring_zulmira(world, "L1").await;
    let first = erase(world, &person(world).await).await;
    world.advance(60).await;
    bring_zulmira(world, "L2").await;
    let found = person(world).await;
    let second = begin_erasing(world, &found).await;
    let all = erasures(world).await;
    let ids: Vec<_> = all.iter().map(|one| one.id).collect();
    assert_eq!(ids, [second.id, first.id]);
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
        workspace: Some(WorkspaceId(Uuid::from_u128(3))),
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
    let deal: DealId = conversations[0]["deal_id"].text().parse().expect("an id");
    let failures = errors(world).await;
    assert_eq!(failures[0]["deal_id"], conversations[0]["deal_id"]);
    world.advance(1).await;
    let remove = async |workspace, id| world.remove_deal(workspace, id).await.expect("it removes");
    assert!(remove(world.workspace, deal).await);
    assert!(!remove(world.workspace, deal).await, "it is gone");
    let elsewhere = WorkspaceId(Uuid::from_u128(3));
    let other = kept.items[0].deal_id.expect("a deal");
    assert!(!remove(elsewhere, other).await, "of another workspace");
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
    for (sql, expect) in [
        (
            "select count(*) from tickets
             where deal_id is not null and deal_id not in (select id from deals)",
            0,
        ),
        ("select count(*) from tombstones where entity = 4", 1),
        // The person stays.
        ("select count(*) from contacts", 2),
    ] {
        assert_eq!(world.rows(sql).await, expect, "{sql}");
    }
    // The source's lead is still known.
    for number in [1, 2] {
        let again = world
            .bring(zulmira(world, &external_id("Zulmira", number)))
            .await;
        assert_eq!(again.status, ItemStatus::Duplicate);
    }
    // A person can still be erased.
    erase(world, &person(world).await).await;
    assert_eq!(world.all(Entity::Deals).await.len(), 1);
    assert_eq!(past(world, other).await.logs, []);
}

pub async fn products_are_removed_by_their_names(world: &World) {
    let products = [
        product("H-1", "House one"),
        product("H-2", "House two"),
        product("H/3 é", "House three"),
    ];
    let id = ImportId(world.now());
    let made = world.import_products(world.workspace, id, &products).await;
    assert_eq!(made.expect("it imports").created, 3);
    let before = changes(world, 0).await;
    let remove = async |ids: &[&str]| {
        let ids: Vec<String> = ids.iter().map(|id| (*id).to_owned()).collect();
        let removed = world.remove_products(world.workspace, &ids).await;
        removed.expect("it removes")
    };
    assert_eq!(remove(&[]).await, 0);
    assert_eq!(remove(&["nothing"]).await, 0);
    assert_eq!(remove(&["H-1", "H/3 é", "H-1", "nothing"]).await, 2);
    let reported = changes(world, before.clock).await;
    assert_eq!(reported.changes.len(), 2);
    assert!(reported.changes.iter().all(|change| change.name.is_none()));
    assert_eq!(remove(&["H-1"]).await, 0, "it is gone");
    let left = changes(world, 0).await;
    let names = left.changes.iter().filter_map(|c| c.name.as_deref());
    let names: Vec<_> = names.collect();
    assert!(names.contains(&"House two") && !names.contains(&"House one"));
}

async fn changes(world: &World, after: i64) -> ProductChanges {
    let changes = world.product_changes(world.workspace, after, 100).await;
    changes.expect("it tells")
}
