//! A repeated lead is one lead.

use super::world::*;

const WINDOW: Duration = Duration::from_mins(10);

fn by_content(world: &World) -> NewLead {
    NewLead {
        dedupe: Some(DedupeKey {
            key: "content:abc".to_owned(),
            window: Some(WINDOW),
        }),
        ..world.lead()
    }
}

pub async fn a_repeat_is_a_duplicate_of_the_first(world: &World) {
    // A person whose phone was corrected is the same.
    let with = |phone| world.bring(person(world, "L1", "Rita", phone));
    let first = with("+551191").await;
    world.advance(365 * DAY).await;
    let again = with("+551192").await;
    assert_eq!(again.status, ItemStatus::Duplicate);
    assert_eq!(again.deal_id, first.deal_id);
    assert_eq!(again.contact_id, first.contact_id);
    assert_eq!(world.all(Entity::Deals).await.len(), 1);
    assert_eq!(world.all(Entity::Contacts).await.len(), 1);
}

pub async fn a_repeat_within_one_batch_or_one_delivery_is_a_duplicate(world: &World) {
    let new = || lead(world.known_as("L1"));
    let writes = [world.accept(vec![new(), new()]), world.accept(vec![new()])];
    let written = world.commit(&writes).await;
    let outcomes: Vec<_> = written.into_iter().map(done).collect();
    assert_eq!(outcomes[0].status, DeliveryStatus::Converted);
    assert_eq!(outcomes[1].status, DeliveryStatus::Duplicate);
    let first = &outcomes[0].items[0];
    for repeat in [&outcomes[0].items[1], &outcomes[1].items[0]] {
        assert_eq!(repeat.status, ItemStatus::Duplicate);
        assert_eq!(repeat.deal_id, first.deal_id);
    }
    assert_eq!(world.all(Entity::Deals).await.len(), 1);
}

pub async fn the_same_key_at_another_connection_is_another_lead(world: &World) {
    world.bring(world.known_as("L1")).await;
    let mut other = world.known_as("L1");
    other.connection = world.portal.clone();
    let item = world.bring(other).await;
    assert_eq!(item.status, ItemStatus::Converted);
    assert_eq!(world.all(Entity::Deals).await.len(), 2);
}

pub async fn leads_without_a_key_are_never_repeats(world: &World) {
    for _ in 0..2 {
        let item = world.bring(world.lead()).await;
        assert_eq!(item.status, ItemStatus::Converted);
    }
    assert_eq!(world.all(Entity::Contacts).await.len(), 2);
}

pub async fn a_content_key_holds_for_its_window_from_the_owners_time(world: &World) {
    let first = world.bring(by_content(world)).await;
    world.advance(599).await;
    let within = world.bring(by_content(world)).await;
    assert_eq!(within.status, ItemStatus::Duplicate);
    assert_eq!(within.deal_id, first.deal_id);
    // A repeat does not extend the window.
    world.advance(1).await;
    let past = world.bring(by_content(world)).await;
    assert_eq!(past.status, ItemStatus::Converted);
    assert_ne!(past.deal_id, first.deal_id);
    world.advance(300).await;
    let after = world.bring(by_content(world)).await;
    assert_eq!(after.deal_id, past.deal_id, "the key was taken over");
}

pub async fn an_update_changes_the_fields_that_the_source_sends(world: &World) {
    let new = titled(world.known_as("L1"), "Flat");
    let mut new = with_phone(new, "+551191");
    new.name = Some("Rita".to_owned());
    new.deal_props = object(json!({"message": "Oi", "budget": 1}));
    let first = world.bring(new.clone()).await;
    world.advance(60).await;
    let mut new = updating(new);
    new.name = Some("Rita Lima".to_owned());
    new.deal_props = object(json!({"message": "Alô", "floor": 3}));
    new.products = vec!["P-1".to_owned()];
    let update = world.bring(new.clone()).await;
    assert_eq!(update.status, ItemStatus::Updated);
    assert_eq!(update.deal_id, first.deal_id);
    let mut fields: Vec<_> = update.diff.iter().map(|d| d.field.as_str()).collect();
    fields.sort_unstable();
    let expect = [
        "contact.name",
        "deal.product",
        "deal.props.floor",
        "deal.props.message",
    ];
    assert_eq!(fields, expect);
    assert!(update.diff.iter().all(|d| d.applied && !d.edited_by_person));
    fields!(world.deal(first.deal_id.unwrap()).await, {
        "props": {"message": "Alô", "budget": 1, "floor": 3}, "title": "Flat",
        "cursor_at": world.now(), "updated_at": world.now(), "created_at": START,
    });
    assert_eq!(world.all(Entity::Contacts).await[0]["name"], "Rita Lima");
    // A repeated update changes nothing and stamps nothing.
    world.advance(60).await;
    let before = world.clock(Entity::Deals).await;
    let repeat = world.bring(new).await;
    assert_eq!(repeat.status, ItemStatus::Duplicate);
    assert!(repeat.diff.is_empty());
    assert_eq!(world.clock(Entity::Deals).await, before);
}

pub async fn an_update_that_does_not_fit_its_deal_is_reported_in_the_notes(world: &World) {
    let long = |bytes: usize| "x".repeat(bytes);
    let mut new = world.known_as("L1");
    new.deal_props = object(json!({"message": long(30_000), "attributes": {"a": long(20_000)}}));
    let first = world.bring(new.clone()).await;
    new.action = Action::Update;
    new.deal_props = object(json!({"attributes": {"a": long(40_000)}, "source": "site"}));
    let outcome = world.deliver(vec![lead(new.clone())]).await;
    assert_eq!(outcome.items[0].status, ItemStatus::Updated);
    let shown = async || world.deal(first.deal_id.unwrap()).await;
    fields!(shown().await, {
        "props.source": "site", "props.attributes.a": long(20_000), "props.message": long(30_000),
    });
    let notes = world.detail(outcome.delivery).await.notes;
    assert_eq!(
        notes,
        [
            "read as a form",
            "lead L1: some values are longer than a lead keeps (a deal's properties 65536 bytes, and its message 32768 of them), so these are only in the raw delivery: deal.props.attributes"
        ]
    );
    // A smaller value is always accepted.
    new.deal_props = object(json!({"message": "short", "attributes": {"a": long(40_000)}}));
    let outcome = world.deliver(vec![lead(new)]).await;
    let notes = world.detail(outcome.delivery).await.notes;
    assert_eq!(notes, ["read as a form"]);
    let shown = world.deal(first.deal_id.unwrap()).await;
    fields!(shown, {"props.message": "short", "props.attributes.a": long(40_000)});
}

pub async fn an_update_of_an_unknown_lead_creates_it(world: &World) {
    let item = world.bring(updating(world.known_as("L1"))).await;
    assert_eq!(item.status, ItemStatus::Converted);
    let repeat = world.bring(world.known_as("L1")).await;
    assert_eq!(repeat.deal_id, item.deal_id);
}

fn deleting(world: &World) -> NewLead {
    let action = Action::Delete;
    NewLead {
        action,
        ..world.known_as("L1")
    }
}

pub async fn a_delete_marks_the_deal_once(world: &World) {
    let first = world.bring(world.known_as("L1")).await;
    world.advance(1).await;
    let item = world.bring(deleting(world)).await;
    assert_eq!(item.status, ItemStatus::Updated);
    let deal = world.deal(first.deal_id.unwrap()).await;
    fields!(deal, {"props": {"sourceDeleted": true}, "cursor_at": world.now()});
    let again = world.bring(deleting(world)).await;
    assert_eq!(again.status, ItemStatus::Duplicate);
}

pub async fn a_delete_of_an_unknown_lead_is_ignored(world: &World) {
    let item = world.bring(deleting(world)).await;
    assert_eq!(item.status, ItemStatus::Ignored);
    assert!(item.message.is_some());
    assert!(world.all(Entity::Deals).await.is_empty());
}

fn named(new: NewLead, name: &str) -> NewLead {
    let name = Some(name.to_owned());
    NewLead { name, ..new }
}

/// A lead with this id, name and phone.
fn person(world: &World, id: &str, name: &str, phone: &str) -> NewLead {
    named(with_phone(world.known_as(id), phone), name)
}

const ANA: &str = "+5511900001000";
const BIA: &str = "+5511900001001";

pub async fn an_id_that_another_person_has_is_no_repeat(world: &World) {
    let ana = world.bring(person(world, "0", "Ana Souza", ANA)).await;
    let first = world
        .deliver(vec![lead(person(world, "0", "Bia Lima", BIA))])
        .await;
    let bia = &first.items[0];
    assert_eq!(bia.status, ItemStatus::Converted);
    assert_ne!((bia.deal_id, bia.contact_id), (ana.deal_id, ana.contact_id));
    let notes = world.detail(first.delivery).await.notes;
    assert!(
        notes[1].starts_with("lead 0: another person's lead has this id"),
        "{notes:?}"
    );
    // Each of the two is known from now on, and a change names its person.
    let mut written = with_email(person(world, "0", "Bia", BIA), "bia@example.com");
    written.title = Some("Casa".to_owned());
    for (new, expect) in [
        (person(world, "0", "Ana Souza", ANA), &ana),
        (person(world, "0", "Bia Lima", BIA), bia),
        (written.clone(), bia),
    ] {
        let repeat = world.bring(new).await;
        assert_eq!(
            (repeat.status, repeat.deal_id),
            (ItemStatus::Duplicate, expect.deal_id)
        );
    }
    let change = world.bring(updating(written)).await;
    assert_eq!(
        (change.status, change.deal_id),
        (ItemStatus::Updated, bia.deal_id)
    );
    // A replay of either is its own again.
    for mode in [LOOK, APPLY] {
        let items = vec![lead(person(world, "0", "Bia Lima", BIA))];
        let again = world.replay(first.delivery, mode, items).await;
        assert_eq!(again.items[0].deal_id, bia.deal_id);
    }
    assert_eq!(world.all(Entity::Deals).await.len(), 2);
}

pub async fn two_people_with_one_id_in_a_batch_or_a_delivery_are_two_leads(world: &World) {
    let items = || {
        let all = [("Ana Souza", ANA), ("Bia Lima", BIA), ("Bia Lima", BIA)];
        all.map(|(name, phone)| lead(person(world, "0", name, phone)))
            .into()
    };
    let writes = [world.accept(items()), world.accept(items())];
    let written: Vec<_> = world.commit(&writes).await.into_iter().map(done).collect();
    let statuses = |at: usize| {
        written[at]
            .items
            .iter()
            .map(|item| item.status)
            .collect::<Vec<_>>()
    };
    let (made, known) = (ItemStatus::Converted, ItemStatus::Duplicate);
    assert_eq!(statuses(0), [made, made, known]);
    assert_eq!(statuses(1), [known; 3]);
    let deals = |of: &DeliveryOutcome| of.items.iter().map(|item| item.deal_id).collect::<Vec<_>>();
    let first = deals(&written[0]);
    assert_eq!(first, deals(&written[1]));
    let again = world.replay(written[0].delivery, APPLY, items()).await;
    assert_eq!(deals(&again), first);
    assert_eq!(world.all(Entity::Deals).await.len(), 2);
}

pub async fn a_lead_that_shares_a_value_with_the_first_of_its_id_is_a_repeat(world: &World) {
    let first = with_email(person(world, "7", "Ana Souza", ANA), "ana@example.com");
    world.bring(first.clone()).await;
    for repeat in [
        person(world, "7", "Ana Souza Prado", BIA),
        person(world, "7", "Bia Lima", ANA),
        with_email(person(world, "7", "Bia Lima", BIA), "ana@example.com"),
        named(world.known_as("7"), "ANA SOUZA"),
        named(world.known_as("7"), "Souza, Aná"),
    ] {
        let status = world.bring(repeat.clone()).await.status;
        assert_eq!(status, ItemStatus::Duplicate, "{repeat:?}");
    }
    // A source that says that it changes a lead may rename the person or correct the phone.
    for change in [
        person(world, "7", "Ana Souza", BIA),
        person(world, "7", "Bia Lima", BIA),
        named(world.known_as("7"), "Carla Dias"),
    ] {
        let changed = world.bring(updating(change.clone())).await;
        assert_eq!(changed.status, ItemStatus::Updated, "{change:?}");
    }
    assert_eq!(world.bring(first).await.status, ItemStatus::Duplicate);
    assert_eq!(world.all(Entity::Deals).await.len(), 1);
}

pub async fn without_names_another_phone_or_address_is_another_person(world: &World) {
    let all = |id: &str, phone: Option<&str>, email: Option<&str>| {
        let new = world.known_as(id);
        let new = phone.map_or(new.clone(), |phone| with_phone(new, phone));
        email.map_or(new.clone(), |email| with_email(new, email))
    };
    let (ana, bia) = (Some("ana@example.com"), Some("bia@example.com"));
    for (number, first, second, expect) in [
        (
            0,
            (Some(ANA), None),
            (Some(BIA), None),
            ItemStatus::Converted,
        ),
        (1, (None, ana), (None, bia), ItemStatus::Converted),
        (
            2,
            (Some(ANA), ana),
            (Some(BIA), None),
            ItemStatus::Converted,
        ),
        (3, (Some(ANA), ana), (Some(BIA), bia), ItemStatus::Converted),
        (4, (Some(ANA), ana), (Some(BIA), ana), ItemStatus::Duplicate),
        // Nothing can be compared.
        (5, (Some(ANA), None), (None, bia), ItemStatus::Duplicate),
        (6, (Some(ANA), None), (None, None), ItemStatus::Duplicate),
    ] {
        // Each pair has people of its own.
        let of = |(phone, email): (Option<&str>, Option<&str>)| {
            let own = format!("+55119000{number}");
            let phone = phone.map(|phone| phone.replace("+551190000", &own));
            let email = email.map(|email| format!("{number}{email}"));
            all(&number.to_string(), phone.as_deref(), email.as_deref())
        };
        world.bring(of(first)).await;
        let named = NewLead {
            name: Some("Ana".to_owned()),
            ..of(second)
        };
        let status = world.bring(named).await.status;
        assert_eq!(status, expect, "{first:?} {second:?}");
        assert_eq!(world.bring(of(second)).await.status, ItemStatus::Duplicate);
    }
    // The announcement of a lead that was changed before may have another phone.
    world.bring(updating(all("9", Some(ANA), None))).await;
    let made = world.bring(all("9", Some(BIA), None)).await;
    assert_eq!(made.status, ItemStatus::Duplicate);
}

pub async fn another_name_is_another_person_though_no_phone_can_be_read(world: &World) {
    let unread = || named(world.known_as("0"), "Ana Souza");
    let ana = world.bring(unread()).await;
    let bia = world.bring(person(world, "0", "Bia Lima", BIA)).await;
    let carla = world.bring(named(world.known_as("0"), "Carla Dias")).await;
    for made in [&ana, &bia, &carla] {
        assert_eq!(made.status, ItemStatus::Converted);
    }
    for (repeat, expect) in [
        (unread(), &ana),
        (named(world.known_as("0"), "bia lima"), &bia),
        (named(world.known_as("0"), "Cárla Dias"), &carla),
        (person(world, "0", "Carla Dias", "+5511900001002"), &carla),
    ] {
        let item = world.bring(repeat.clone()).await;
        let known = (ItemStatus::Duplicate, expect.deal_id);
        assert_eq!((item.status, item.deal_id), known, "{repeat:?}");
    }
}

pub async fn a_change_or_deletion_of_somebody_else_leaves_the_only_lead_of_its_id(world: &World) {
    let ana = world.bring(person(world, "0", "Ana Souza", ANA)).await;
    let before = world.deal(ana.deal_id.unwrap()).await;
    let bia = || person(world, "0", "Bia Lima", BIA);
    let action = Action::Delete;
    let deletion = world.bring(NewLead { action, ..bia() }).await;
    assert_eq!(deletion.status, ItemStatus::Ignored);
    assert!(deletion.message.is_some());
    let change = world.deliver(vec![lead(updating(bia()))]).await;
    assert_eq!(change.items[0].status, ItemStatus::Converted);
    let notes = world.detail(change.delivery).await.notes;
    assert!(
        notes[1].starts_with("lead 0: another person's lead has this id"),
        "{notes:?}"
    );
    assert_eq!(world.deal(ana.deal_id.unwrap()).await, before);
}

pub async fn a_repeat_with_another_phone_says_that_it_is_not_kept(world: &World) {
    let notes = async |new: NewLead| {
        let repeat = world.deliver(vec![lead(new)]).await;
        assert_eq!(repeat.items[0].status, ItemStatus::Duplicate);
        world.detail(repeat.delivery).await.notes
    };
    let first = || with_email(person(world, "7", "Ana", ANA), "ana@example.com");
    world.bring(first()).await;
    assert_eq!(notes(first()).await, ["read as a form"]);
    assert_eq!(
        notes(with_phone(first(), BIA)).await[1],
        "lead 7: a repeat changes nothing, so its phones and addresses that its lead does not have are only in this delivery"
    );
}

/// Two people whose leads have one id.
async fn sharing(world: &World, id: &str) -> [ItemOutcome; 2] {
    let ana = world.bring(person(world, id, "Ana Souza", ANA)).await;
    let bia = world.bring(person(world, id, "Bia Lima", BIA)).await;
    assert_eq!(bia.status, ItemStatus::Converted);
    [ana, bia]
}

pub async fn a_change_under_a_shared_id_is_of_the_lead_whose_person_it_fits(world: &World) {
    let [ana, bia] = sharing(world, "0").await;
    let (carla, phone) = ("+5511900001002", "+5511900001003");
    // A new phone of a person who is known by name, which is known from then on.
    let change = titled(person(world, "0", "Bia Lima", phone), "Casa");
    for (new, expect) in [
        (updating(change), ItemStatus::Updated),
        (
            person(world, "0", "Bia Lima", "+5511900001009"),
            ItemStatus::Duplicate,
        ),
        (
            with_phone(world.known_as("0"), phone),
            ItemStatus::Duplicate,
        ),
    ] {
        let item = world.bring(new).await;
        assert_eq!((item.status, item.deal_id), (expect, bia.deal_id));
    }
    let before = world.all(Entity::Deals).await;
    // Of somebody else: a lead of its own.
    let other = titled(updating(person(world, "0", "Carla Dias", carla)), "Sala");
    let other = world.deliver(vec![lead(other)]).await;
    assert_eq!(other.items[0].status, ItemStatus::Converted);
    let notes = world.detail(other.delivery).await.notes;
    assert!(
        notes[1].starts_with("lead 0: another person's lead has this id"),
        "{notes:?}"
    );
    // Of nobody: it changes none, and says why.
    let nobody = titled(updating(world.known_as("0")), "Loja");
    let nobody = world
        .deliver(vec![lead(nobody.clone()), lead(nobody)])
        .await;
    for item in &nobody.items {
        assert_eq!((item.status, item.deal_id), (ItemStatus::Ignored, None));
        let why = item.message.as_deref().unwrap_or_default();
        assert!(why.starts_with("several leads have this id"), "{why}");
    }
    let after = world.all(Entity::Deals).await;
    assert_eq!(after[..2], before);
    assert_eq!(after.len(), 3);
    assert_eq!(after[0]["id"], json!(ana.deal_id));
}

pub async fn an_id_of_very_many_people_knows_each_by_any_of_its_contacts(world: &World) {
    world.bring(person(world, "-", "Ana Souza", ANA)).await;
    let bia = with_email(person(world, "-", "Bia Lima", BIA), "bia@example.com");
    let bia = world.bring(bia).await;
    // So many that hers is no longer among those that are compared.
    world.advance(1).await;
    for number in 0..=limits::LEADS_OF_ONE_ID {
        let phone = format!("+55119000020{number:02}");
        world.bring(with_phone(world.known_as("-"), &phone)).await;
    }
    for repeat in [
        with_phone(world.known_as("-"), BIA),
        with_email(world.known_as("-"), "bia@example.com"),
    ] {
        let repeat = world.bring(repeat).await;
        let expect = (ItemStatus::Duplicate, bia.deal_id);
        assert_eq!((repeat.status, repeat.deal_id), expect);
    }
}

pub async fn a_deletion_under_a_shared_id_is_of_its_person_or_of_all(world: &World) {
    let deleted = async || -> BTreeSet<String> {
        let deals = world.all(Entity::Deals).await;
        let deleted = deals
            .iter()
            .filter(|deal| deal["props"]["sourceDeleted"] == true);
        deleted.map(|deal| deal["id"].text().to_owned()).collect()
    };
    let gone = |new: NewLead| {
        let action = Action::Delete;
        world.bring(NewLead { action, ..new })
    };
    let [ana, bia] = sharing(world, "0").await;
    let [ana, bia] = [ana, bia].map(|item| json!(item.deal_id).text().to_owned());
    let carla = gone(person(world, "0", "Carla Dias", "+5511900001002")).await;
    assert_eq!(carla.status, ItemStatus::Ignored);
    assert_eq!(deleted().await, BTreeSet::new());
    gone(person(world, "0", "Bia Lima", BIA)).await;
    assert_eq!(deleted().await, [bia.clone()].into());
    let all = gone(world.known_as("0")).await;
    assert_eq!(all.status, ItemStatus::Updated);
    assert_eq!(deleted().await, [ana, bia].into());
    assert_eq!(
        gone(world.known_as("0")).await.status,
        ItemStatus::Duplicate
    );
    // A source that gives every lead one id gives none.
    for number in 0..=limits::LEADS_OF_ONE_ID {
        let phone = format!("+55119000020{number:02}");
        let item = world.bring(with_phone(world.known_as("-"), &phone)).await;
        assert_eq!(item.status, ItemStatus::Converted);
    }
    let before = deleted().await;
    assert_eq!(gone(world.known_as("-")).await.status, ItemStatus::Ignored);
    assert_eq!(deleted().await, before);
}

fn occurred(mut new: NewLead, at: &str, title: &str) -> NewLead {
    new.deal_props = object(json!({"occurredAt": at}));
    titled(new, title)
}

pub async fn a_time_that_cannot_be_holds_back_no_change(world: &World) {
    // START is 2025-06-15T15:06:40Z.
    let (past, now) = ("2025-06-15T14:00:00Z", "2025-06-15T15:06:40Z");
    for (id, made, changed) in [
        ("far", "2126-03-02T12:00:00Z", now),
        ("none", "9999-12-31T00:00:00Z", now),
        ("hours", "2025-06-15T18:06:40Z", now),
        ("zero", past, "0001-01-01T00:00:00Z"),
        ("epoch", past, "1970-01-01T00:00:00Z"),
        ("sheet", past, "1899-12-30T00:00:00Z"),
    ] {
        let first = occurred(world.known_as(id), made, "first");
        let first = world.deliver(vec![lead(first)]).await;
        let change = occurred(updating(world.known_as(id)), changed, "second");
        let change = world.deliver(vec![lead(change)]).await;
        assert_eq!(change.items[0].status, ItemStatus::Updated, "{id}");
        let deal = world.deal(first.items[0].deal_id.unwrap()).await;
        fields!(deal, {"title": "second", "props.occurredAt": changed});
        let mistimed = if made == past {
            change.delivery
        } else {
            first.delivery
        };
        let notes = world.detail(mistimed).await.notes;
        assert!(
            notes[1].contains("so the arrival counts"),
            "{id}: {notes:?}"
        );
        let gone = NewLead {
            action: Action::Delete,
            ..occurred(world.known_as(id), now, "")
        };
        assert_eq!(world.bring(gone).await.status, ItemStatus::Updated, "{id}");
    }
}

pub async fn a_lead_that_its_source_makes_again_is_no_longer_deleted(world: &World) {
    let at = |second: u8| format!("2025-06-15T14:00:{second:02}Z");
    let with = |new: NewLead, second, title: &str| occurred(new, &at(second), title);
    let is_deleted = async |of: &ItemOutcome| {
        let deal = world.deal(of.deal_id.unwrap()).await;
        deal["props"]["sourceDeleted"] == json!(true)
    };
    let made = with(world.known_as("L1"), 0, "first");
    let first = world.deliver(vec![lead(made.clone())]).await;
    let item = &first.items[0];
    world.bring(with(deleting(world), 20, "")).await;
    assert!(is_deleted(item).await);
    // What the source did before changes nothing, and neither does a replay.
    world
        .bring(updating(with(world.known_as("L1"), 10, "second")))
        .await;
    assert!(is_deleted(item).await);
    world.replay(first.delivery, APPLY, vec![lead(made)]).await;
    assert!(is_deleted(item).await);
    let again = world.bring(with(world.known_as("L1"), 30, "third")).await;
    assert_eq!(
        (again.status, again.deal_id),
        (ItemStatus::Updated, item.deal_id)
    );
    assert!(!is_deleted(item).await);
    fields!(world.deal(item.deal_id.unwrap()).await, {"title": "third"});
    // A deletion that is repeated later counts from then on.
    world.bring(with(deleting(world), 32, "")).await;
    world.bring(with(deleting(world), 36, "")).await;
    world
        .bring(updating(with(world.known_as("L1"), 34, "later")))
        .await;
    assert!(is_deleted(item).await);
    world
        .bring(updating(with(world.known_as("L1"), 38, "later")))
        .await;
    // The source's own time decides, too.
    world.bring(with(deleting(world), 25, "")).await;
    assert!(!is_deleted(item).await);
    world.bring(with(deleting(world), 40, "")).await;
    assert!(is_deleted(item).await);
    world
        .bring(updating(with(world.known_as("L1"), 50, "fourth")))
        .await;
    assert!(!is_deleted(item).await);
    // Without times the order of arrival does.
    world.bring(deleting(world)).await;
    assert!(is_deleted(item).await);
    world.bring(updating(world.known_as("L1"))).await;
    assert!(!is_deleted(item).await);
}

pub async fn what_a_source_said_before_brings_no_deleted_lead_back(world: &World) {
    let (early, late) = ("2025-06-15T14:00:00Z", "2025-06-15T14:30:00Z");
    let with = |new: NewLead, at: Option<&str>, title: &str| match at {
        Some(at) => occurred(new, at, title),
        None => titled(new, title),
    };
    // The times of the lead, of its deletion, and of what comes then.
    for (number, made, gone, then, title, is_back) in [
        // The provider sends the same once more.
        (0, None, None, None, "first", false),
        (1, Some(early), None, Some(early), "first", false),
        (2, Some(early), Some(late), Some(early), "first", false),
        // Something else, which arrives later.
        (3, None, None, None, "second", true),
        (4, Some(early), Some(late), None, "second", true),
        (5, None, None, Some(early), "second", true),
        (6, Some(early), None, Some(late), "second", true),
        // Something else, which did not happen later.
        (7, Some(late), None, Some(early), "second", false),
        (8, Some(late), None, Some(late), "second", false),
        (9, Some(early), Some(late), Some(late), "second", false),
        // What happened later, whatever it says.
        (10, Some(early), Some(early), Some(late), "first", true),
    ] {
        for action in [Action::Create, Action::Update] {
            let id = format!("{number}-{}", action.as_str());
            let item = world.bring(with(world.known_as(&id), made, "first")).await;
            let delete = NewLead {
                action: Action::Delete,
                ..with(world.known_as(&id), gone, "")
            };
            world.bring(delete).await;
            let again = with(world.known_as(&id), then, title);
            world.bring(NewLead { action, ..again }).await;
            let deal = world.deal(item.deal_id.unwrap()).await;
            let mark = deal["props"].get("sourceDeleted");
            assert_eq!(mark.is_none(), is_back, "{id}");
        }
    }
    // A change that is known is no news either, also when the lead has changed since.
    let said = |title: &str| titled(updating(world.known_as("L1")), title);
    let item = world.bring(world.known_as("L1")).await;
    for new in [
        said("second"),
        said("third"),
        deleting(world),
        said("second"),
    ] {
        world.bring(new).await;
    }
    let deal = world.deal(item.deal_id.unwrap()).await;
    fields!(deal, {"props.sourceDeleted": true, "title": "second"});
}
