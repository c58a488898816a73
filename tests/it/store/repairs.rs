//! Repairs: their states, the receipts that their replays write, and the changes that are undone.

use leadhost_domain::repair::{
    CREATED, KEYS, LOST_KEYS, LOST_SHARED_KEYS, MERGED, PERSON, Repair, RepairChange, RepairCounts,
    RepairField, RepairOutcome, RepairPlan, RepairState, RepairSum, RepairUndone, RepairedKind,
    SHARED_KEYS,
};

use super::deals::{acme, grow, past, patch, wish};
use super::messages::PHONE;
use super::removal::{erase, marks, person, zulmira};
use super::world::*;

/// A repair of what version 1 of the converter made, which begins now.
fn new(world: &World, field: Option<RepairField>, apply: bool) -> Repair {
    Repair {
        id: RepairId::new(world.now()),
        plan: RepairPlan {
            plugin: "form".to_owned(),
            converted_by: ran("1").digest,
            connection: None,
            since: None,
            until: None,
            field,
            apply,
        },
        state: RepairState::Running,
        generation: 0,
        cursor: None,
        counts: RepairCounts::default(),
        started_by: "admin".to_owned(),
        started_at: world.now(),
        ended_at: None,
        why: None,
    }
}

async fn begin(world: &World, field: Option<RepairField>, apply: bool) -> Repair {
    let (repair, is_new) = try_begin(world, &new(world, field, apply)).await;
    assert!(is_new, "no other one is open");
    repair
}

async fn try_begin(world: &World, repair: &Repair) -> (Repair, bool) {
    world.begin_repair(repair).await.unwrap()
}

async fn try_change(world: &World, repair: &Repair, state: RepairState) -> RepairChanged {
    let changed = repair.in_state(state, world.now(), None);
    world.change_repair(&changed).await.unwrap()
}

async fn change(world: &World, repair: &Repair, state: RepairState) -> Repair {
    match try_change(world, repair, state).await {
        RepairChanged::Done(repair) => repair,
        other => panic!("not {state}: {other:?}"),
    }
}

fn write(repair: &Repair) -> RepairWrite {
    RepairWrite {
        id: repair.id,
        generation: repair.generation,
        field: repair.plan.field,
        apply: repair.plan.apply,
    }
}

/// The conversion of a held delivery by version 2, as part of the repair.
fn again(held: &HeldDelivery, repair: &Repair, items: Vec<ItemResult>) -> Write {
    let result = ConversionResult {
        ran: Some(ran("2")),
        ..converted(items)
    };
    convert_to(held, Mode::Repair(write(repair)), result)
}

async fn replay(
    world: &World,
    delivery: DeliveryId,
    repair: &Repair,
    items: Vec<ItemResult>,
) -> DeliveryOutcome {
    let held = world.claim_delivery(delivery).await;
    world.commit_one(again(&held, repair, items)).await
}

async fn changes(world: &World, repair: &Repair) -> Vec<RepairChange> {
    world.repair_changes(repair.id, 0, 100).await.unwrap()
}

/// The fields of a receipt with their values.
fn listed(changes: &[RepairChange]) -> Vec<(&str, Value, Value)> {
    let of = |change: &RepairChange| change.values.clone().expect("no person was erased");
    let fields = changes
        .iter()
        .map(|change| (change.field.as_str(), of(change)));
    fields
        .map(|(name, (before, after))| (name, before, after))
        .collect()
}

/// Checks that no values of these changes are left.
async fn assert_no_values(world: &World, repair: &Repair) {
    for change in changes(world, repair).await {
        assert_eq!(change.values, None, "{}", change.field);
    }
}

fn undo_write(repair: &Repair, changes: Vec<RepairChange>) -> Write {
    Write::UndoRepair(Box::new(RepairUndo {
        repair: repair.id,
        generation: repair.generation,
        changes,
        converted_by: None,
    }))
}

/// Takes the whole repair back. Returns what became of each field, in the order of the receipt.
async fn undo(world: &World, repair: &Repair) -> Vec<(String, RepairUndone)> {
    let repair = change(world, repair, RepairState::Undoing).await;
    let to_undo = world.changes_to_undo(repair.id, i64::MAX, 100).await;
    let write = undo_write(&repair, to_undo.expect("it reads"));
    let written = world.write(write).await;
    assert!(matches!(written, WriteOutcome::RepairUndone), "{written:?}");
    let left = world.changes_to_undo(repair.id, i64::MAX, 100).await;
    assert!(left.expect("it reads").is_empty());
    change(world, &repair, RepairState::Undone).await;
    let changes = changes(world, &repair).await.into_iter();
    changes
        .map(|change| (change.field, change.undone.expect("it was dealt with")))
        .collect()
}

/// Everything that a repair may change of rows.
async fn rows(world: &World) -> Vec<Value> {
    let mut rows = world.all(Entity::Contacts).await;
    rows.extend(world.all(Entity::Deals).await);
    rows
}

const EMAIL: &str = "rita@example.com";

/// A lead without its phone and with a wrong title, as version 1 reads it; and as it is.
fn wrong_and_right(world: &World) -> (NewLead, NewLead) {
    let wrong = with_email(world.known_as("L1"), EMAIL);
    let right = with_phone(titled(wrong.clone(), "Garden flat"), PHONE);
    let wrong = titled(wrong, "Flat");
    (wrong, right)
}

/// The changes that a repair of such a lead makes.
fn righted() -> Vec<(&'static str, Value, Value)> {
    vec![
        (KEYS, json!([]), json!([contact::phone_key(PHONE)])),
        ("deal.title", json!("Flat"), json!("Garden flat")),
        ("contact.phone_number", Value::Null, json!(PHONE)),
    ]
}

/// A repaired delivery with one lead.
struct Repaired {
    repair: Repair,
    deal: DealId,
    contact: ContactId,
}

/// Stores the wrong lead. Returns its delivery, and the right one.
async fn stored_wrong(world: &World) -> (DeliveryOutcome, NewLead) {
    let (wrong, right) = wrong_and_right(world);
    (world.deliver(vec![lead(wrong)]).await, right)
}

async fn repaired(world: &World) -> Repaired {
    let (first, right) = stored_wrong(world).await;
    world.advance(1).await;
    let repair = begin(world, None, true).await;
    replay(world, first.delivery, &repair, vec![lead(right)]).await;
    world.advance(1).await;
    Repaired {
        repair: change(world, &repair, RepairState::Done).await,
        deal: first.items[0].deal_id.expect("a deal"),
        contact: first.items[0].contact_id.expect("a person"),
    }
}

pub async fn one_repair_is_open_at_a_time(world: &World) {
    let first = begin(world, None, true).await;
    assert_eq!(first.generation, 1);
    world.advance(1).await;
    let other = new(world, Some(RepairField::Phone), false);
    let (open, is_new) = try_begin(world, &other).await;
    assert_eq!((open.id, is_new), (first.id, false));
    // One that has nothing to do is only recorded.
    let nothing = other.in_state(RepairState::Done, world.now(), None);
    assert!(try_begin(world, &nothing).await.1);
    let done = change(world, &first, RepairState::Done).await;
    assert_eq!(done.ended_at, Some(world.now()));
    world.advance(1).await;
    let second = begin(world, None, false).await;
    match try_change(world, &done, RepairState::Undoing).await {
        RepairChanged::Open(open) => assert_eq!(open.id, second.id),
        changed => panic!("two are open: {changed:?}"),
    }
    let open = world.open_repair().await.expect("it reads");
    assert_eq!(open, Some(second.clone()));
    let ids = async |before| {
        let page = world.repairs(before, 10).await.expect("it lists");
        page.into_iter().map(|one| one.id).collect::<Vec<_>>()
    };
    assert_eq!(ids(None).await, [second.id, nothing.id, first.id]);
    assert_eq!(ids(Some(nothing.id)).await, [first.id]);
    let recorded = world.repair(nothing.id).await.unwrap();
    assert_eq!(recorded.map(|one| one.state), Some(RepairState::Done));
    let unknown = RepairId::new(world.now());
    assert_eq!(world.repair(unknown).await.unwrap(), None);
}

pub async fn a_host_that_has_lost_a_repair_stores_no_progress(world: &World) {
    let begun = begin(world, None, true).await;
    let mut taken = world.take_repair(&begun).await.unwrap().unwrap();
    assert_eq!(taken.generation, begun.generation + 1);
    taken.counts.found = Some(7);
    taken.counts.add(RepairOutcome::Replayed);
    taken.cursor = Some(DeliveryId::new(world.now()));
    assert!(world.note_repair(&taken).await.unwrap());
    assert!(!world.note_repair(&begun).await.unwrap());
    assert_eq!(world.take_repair(&begun).await.unwrap(), None);
    let stale = try_change(world, &begun, RepairState::Cancelled).await;
    assert_eq!(stale, RepairChanged::Stale);
    assert_eq!(world.repair(begun.id).await.unwrap(), Some(taken.clone()));
    change(world, &taken, RepairState::Cancelled).await;
    assert!(!world.note_repair(&taken).await.unwrap());
    assert_eq!(world.open_repair().await.unwrap(), None);
}

pub async fn a_repair_has_a_row_for_each_field_that_it_changes(world: &World) {
    let (first, right) = stored_wrong(world).await;
    let repair = begin(world, None, true).await;
    for _ in 0..2 {
        // The second time nothing differs.
        let outcome = replay(world, first.delivery, &repair, vec![lead(right.clone())]).await;
        assert_eq!(outcome.items[0].status, ItemStatus::Converted);
        assert_eq!(listed(&changes(world, &repair).await), righted());
    }
    let changes = changes(world, &repair).await;
    let (deal, person) = (first.items[0].deal_id, first.items[0].contact_id);
    for change in &changes {
        assert_eq!((change.delivery, change.item), (first.delivery, 0));
        assert_eq!(Some(change.contact), person);
        let row = match change.kind {
            RepairedKind::Deal => deal.map(|id| id.0),
            RepairedKind::Contact => person.map(|id| id.0),
        };
        assert_eq!(Some(change.row), row, "{}", change.field);
        assert_eq!(change.undone, None);
    }
    let receipt = world.repair_receipt(repair.id).await.unwrap();
    assert_eq!((receipt.deals, receipt.contacts), (1, 1));
    let sums = receipt.fields.iter();
    let sums: Vec<_> = sums.map(|sum| (sum.field.as_str(), sum.changes)).collect();
    let expect = [(KEYS, 1), ("contact.phone_number", 1), ("deal.title", 1)];
    assert_eq!(sums, expect);
    let second = world.repair_changes(repair.id, changes[0].number, 1);
    assert_eq!(second.await.unwrap(), [changes[1].clone()]);
    // The delivery counts for the version that has converted it now.
    let detail = world.detail(first.delivery).await;
    assert_eq!(detail.summary.ran, Some(ran("2")));
}

pub async fn a_repair_leaves_what_a_person_edited(world: &World) {
    grow(world).await;
    let (mut wrong, mut right) = wrong_and_right(world);
    wrong.products = vec!["P-1".to_owned()];
    right.products = wrong.products.clone();
    let first = world.deliver(vec![lead(wrong)]).await;
    let deal = first.items[0].deal_id.expect("a deal");
    let edit = DealPatch {
        product: Some("P-2".to_owned()),
        ..wish(acme(world).await, deal)
    };
    patch(world, edit).await;
    let edited = world.deal(deal).await["product_id"].clone();
    let repair = begin(world, None, true).await;
    let outcome = replay(world, first.delivery, &repair, vec![lead(right)]).await;
    let diff = outcome.items[0].diff.iter();
    let kept: Vec<_> = diff
        .filter(|diff| diff.edited_by_person)
        .map(|diff| (diff.field.as_str(), diff.applied))
        .collect();
    assert_eq!(kept, [("deal.product", false)]);
    assert_eq!(listed(&changes(world, &repair).await), righted());
    assert_eq!(world.deal(deal).await["product_id"], edited);
}

pub async fn a_repair_that_only_looks_writes_nothing(world: &World) {
    let (first, right) = stored_wrong(world).await;
    let before = rows(world).await;
    world.advance(1).await;
    let repair = begin(world, None, false).await;
    let items = vec![lead(right), lead(world.known_as("L2"))];
    let outcome = replay(world, first.delivery, &repair, items).await;
    let diff = outcome.items[0].diff.iter();
    let fields: Vec<_> = diff
        .map(|diff| (diff.field.as_str(), diff.applied))
        .collect();
    let expect = ["deal.title", "contact.phone_number", KEYS].map(|field| (field, false));
    assert_eq!(fields, expect);
    let other = &outcome.items[1];
    assert_eq!((other.status, other.deal_id), (ItemStatus::Converted, None));
    assert!(changes(world, &repair).await.is_empty());
    assert_eq!(rows(world).await, before);
    let detail = world.detail(first.delivery).await;
    assert_eq!(detail.summary.ran, Some(ran("1")));
    assert_eq!(detail.items, first.items);
    // It is free again.
    world.claim_delivery(first.delivery).await;
}

pub async fn a_repair_of_one_field_changes_that_field_alone(world: &World) {
    let (mut wrong, mut right) = wrong_and_right(world);
    right.name = Some("Rita".to_owned());
    right = with_email(right, "rita@example.org");
    let said =
        |phones: Value, name: &str| object(json!({"contact": {"name": name, "phones": phones}}));
    wrong.deal_props = said(json!([]), "Ana");
    right.deal_props = said(json!([PHONE]), "Rita");
    let first = world.deliver(vec![lead(wrong)]).await;
    let repair = begin(world, Some(RepairField::Phone), true).await;
    let items = vec![lead(right), lead(world.known_as("L2"))];
    let outcome = replay(world, first.delivery, &repair, items).await;
    assert_eq!(outcome.items[1].deal_id, None);
    let mut expect = righted();
    let said = |phones: Value| json!({"name": "Ana", "phones": phones});
    expect[1] = ("deal.props.contact", said(json!([])), said(json!([PHONE])));
    assert_eq!(listed(&changes(world, &repair).await), expect);
    let deal = world.deal(first.items[0].deal_id.unwrap()).await;
    assert_eq!(deal["title"], "Flat");
    let person = world.contact(first.items[0].contact_id.unwrap()).await;
    fields!(person, {"name": null, "phone_number": PHONE});
    assert_eq!(world.all(Entity::Deals).await.len(), 1);
    // Another repair may still be needed, so the delivery counts for the old version.
    let detail = world.detail(first.delivery).await;
    assert_eq!(detail.summary.ran, Some(ran("1")));
    assert_eq!(detail.items.len(), 1);
}

pub async fn nothing_is_written_for_a_repair_that_has_ended(world: &World) {
    let (first, right) = stored_wrong(world).await;
    let before = rows(world).await;
    let begun = begin(world, None, true).await;
    let taken = world.take_repair(&begun).await.unwrap().unwrap();
    let held = world.claim_delivery(first.delivery).await;
    let cancelled = change(world, &taken, RepairState::Cancelled).await;
    for repair in [&begun, &taken, &cancelled] {
        let late = again(&held, repair, vec![lead(right.clone())]);
        world.assert_stale(late).await;
    }
    assert_eq!(rows(world).await, before);
    assert!(changes(world, &begun).await.is_empty());
}

pub async fn a_repair_that_is_not_being_undone_loses_no_change(world: &World) {
    let of = repaired(world).await;
    let before = rows(world).await;
    let undoing = change(world, &of.repair, RepairState::Undoing).await;
    let all = changes(world, &of.repair).await;
    let taken = world.take_repair(&undoing).await.unwrap().unwrap();
    let undone = change(world, &taken, RepairState::Undone).await;
    for repair in [&of.repair, &undoing, &undone] {
        world.assert_stale(undo_write(repair, all.clone())).await;
    }
    assert_eq!(rows(world).await, before);
    assert_eq!(changes(world, &of.repair).await, all);
}

pub async fn a_deal_that_a_repair_creates_is_in_its_receipt_and_stays(world: &World) {
    let failed = world.received(DeliveryStatus::Failed).await;
    let repair = begin(world, None, true).await;
    let items = world.leads(["L1"]);
    let outcome = replay(world, failed, &repair, items).await;
    let deal = outcome.items[0].deal_id.expect("a deal");
    let expect = [(CREATED, Value::Null, json!(deal))];
    assert_eq!(listed(&changes(world, &repair).await), expect);
    let receipt = world.repair_receipt(repair.id).await.unwrap();
    assert_eq!((receipt.deals, receipt.contacts), (0, 0));
    let done = change(world, &repair, RepairState::Done).await;
    let undone = undo(world, &done).await;
    assert_eq!(undone, [(CREATED.to_owned(), RepairUndone::Stays)]);
    assert_eq!(world.all(Entity::Deals).await.len(), 1);
}

pub async fn an_undo_restores_what_the_repair_changed(world: &World) {
    let of = repaired(world).await;
    assert_eq!(world.contact(of.contact).await["phone_number"], PHONE);
    let undone = undo(world, &of.repair).await;
    let fields = righted().into_iter();
    let expect = fields.map(|(field, ..)| (field.to_owned(), RepairUndone::Undone));
    assert_eq!(undone, expect.collect::<Vec<_>>());
    // Feeds show it.
    fields!(world.deal(of.deal).await, {"title": "Flat", "cursor_at": world.now()});
    let person = world.contact(of.contact).await;
    assert_eq!(person["phone_number"], Value::Null);
    let history = past(world, of.deal).await.history;
    let repair_id = of.repair.id;
    assert_eq!(history[0].by, ChangedBy::Repair { repair_id });
    let change = FieldChange {
        field: "title".to_owned(),
        before: json!("Garden flat"),
        after: json!("Flat"),
    };
    assert_eq!(history[0].changes, [change]);
    // The number no longer leads to the contact.
    let other = world.bring(with_phone(world.lead(), PHONE)).await;
    assert_ne!(other.contact_id, Some(of.contact));
    let receipt = world.repair_receipt(of.repair.id).await.unwrap();
    let is_undone = |sum: &RepairSum| sum.undone == Some(RepairUndone::Undone);
    assert!(receipt.fields.iter().all(is_undone), "{receipt:?}");
}

pub async fn an_undo_leaves_what_was_changed_since(world: &World) {
    let of = repaired(world).await;
    // A newer delivery gives the deal another title.
    let (newer, _) = wrong_and_right(world);
    let updated = world.bring(updating(titled(newer, "House"))).await;
    assert_eq!(updated.status, ItemStatus::Updated);
    let undone = undo(world, &of.repair).await;
    let expect = [
        (KEYS, RepairUndone::Undone),
        ("deal.title", RepairUndone::ChangedSince),
        ("contact.phone_number", RepairUndone::Undone),
    ];
    assert_eq!(undone, expect.map(|(field, fate)| (field.to_owned(), fate)));
    assert_eq!(world.deal(of.deal).await["title"], "House");
}

pub async fn an_undo_leaves_a_removed_deal_and_its_values_are_gone(world: &World) {
    let of = repaired(world).await;
    let removed = world.remove_deal(world.workspace, of.deal).await;
    assert!(removed.expect("it removes"));
    for change in changes(world, &of.repair).await {
        let is_of_deal = change.kind == RepairedKind::Deal;
        assert_eq!(change.values.is_none(), is_of_deal, "{}", change.field);
    }
    let undone = undo(world, &of.repair).await;
    assert_eq!(undone[1].1, RepairUndone::ChangedSince);
    assert_eq!(undone[2].1, RepairUndone::Undone);
}

/// A lead whose deal keeps what it says of the person.
fn saying(mut lead: NewLead) -> ItemResult {
    let phones: Vec<&String> = lead.phones.iter().map(|phone| &phone.raw).collect();
    let said = json!({"phones": phones, "emails": lead.emails});
    lead.contact_keys = contact::said_keys(&said);
    lead.deal_props = object(json!({ "contact": said }));
    self::lead(lead)
}

/// Decides whose the leads are that a running repair has corrected.
async fn part(world: &World, repair: &Repair) {
    for step in 0..2 {
        let mut after = 0;
        loop {
            let found = world.corrected_contact(repair.id, after).await;
            let Some(contact) = found.expect("it reads") else {
                break;
            };
            after = contact.number;
            let parts = match step {
                0 => contact
                    .without_wrong_values(write(repair))
                    .into_iter()
                    .collect(),
                _ => contact.parts(write(repair)),
            };
            for part in parts {
                let written = world.write(Write::PartContact(Box::new(part))).await;
                assert!(matches!(written, WriteOutcome::Parted { unparted: 0 }));
            }
        }
    }
}

/// A deal that a running repair gave to a person who was known, and the two people.
struct Moved {
    repair: Repair,
    delivery: DeliveryId,
    deal: DealId,
    from: ContactId,
    into: ContactId,
}

async fn moved(world: &World) -> Moved {
    let known = saying(with_phone(world.known_as("L0"), PHONE));
    let known = world.item(known).await;
    let (wrong, right) = wrong_and_right(world);
    let first = world.deliver(vec![saying(wrong)]).await;
    world.advance(1).await;
    let repair = begin(world, None, true).await;
    replay(world, first.delivery, &repair, vec![saying(right)]).await;
    part(world, &repair).await;
    Moved {
        repair,
        delivery: first.delivery,
        deal: first.items[0].deal_id.expect("a deal"),
        from: first.items[0].contact_id.expect("a person"),
        into: known.contact_id.expect("a person"),
    }
}

impl Moved {
    /// Merges the former person into the other one, for the repair in this generation.
    async fn merge(&self, world: &World, repair: &Repair) -> ContactMerge {
        let place = RepairPlace {
            repair: repair.id,
            generation: repair.generation,
            delivery: self.delivery,
            item: 0,
        };
        let merged = world.merge_contact(world.workspace, self.from, self.into, Some(place));
        merged.await.expect("the store answers")
    }

    /// The moves in the receipt, and whether their former people are still there.
    async fn moves(&self, world: &World) -> Vec<(ContactId, ContactId, bool)> {
        let moves = world.repair_moves(self.repair.id, 0, 10).await;
        let of = |one: RepairMove| (one.from, one.into, one.is_unmerged());
        moves.expect("it reads").into_iter().map(of).collect()
    }

    /// Ends the repair and takes it back.
    async fn undo(&self, world: &World) -> Vec<(String, RepairUndone)> {
        let done = change(world, &self.repair, RepairState::Done).await;
        undo(world, &done).await
    }
}

async fn person_with(world: &World, id: ContactId) -> Person {
    let by = PersonBy::Id(id);
    world.person(world.workspace, &by).await.unwrap().unwrap()
}

/// The outcome of a field.
fn fate(undone: &[(String, RepairUndone)], field: &str) -> Option<RepairUndone> {
    let one = undone.iter().find(|(name, _)| name == field);
    one.map(|(_, undone)| *undone)
}

pub async fn an_undo_gives_a_deal_back_to_its_former_person(world: &World) {
    let of = moved(world).await;
    let person = async || world.deal(of.deal).await["person_id"].clone();
    assert_eq!(person().await, json!(of.into.to_string()));
    let undone = of.undo(world).await;
    assert_eq!(fate(&undone, PERSON), Some(RepairUndone::Undone));
    assert_eq!(person().await, json!(of.from.to_string()));
    // An erasure of the person finds the delivery.
    let detail = world.detail(of.delivery).await;
    assert_eq!(detail.items[0].contact_id, Some(of.from));
}

pub async fn an_undo_of_two_moves_of_a_deal_ends_with_its_first_person(world: &World) {
    let of = moved(world).await;
    let (wrong, _) = wrong_and_right(world);
    replay(world, of.delivery, &of.repair, vec![saying(wrong)]).await;
    part(world, &of.repair).await;
    let moves = of.moves(world).await;
    assert_eq!(moves.len(), 2, "{moves:?}");
    of.undo(world).await;
    let detail = world.detail(of.delivery).await;
    assert_eq!(detail.items[0].contact_id, Some(of.from));
}

pub async fn an_undo_makes_a_merged_person_again(world: &World) {
    let of = moved(world).await;
    assert_eq!(of.merge(world, &of.repair).await, ContactMerge::Merged);
    let receipt = changes(world, &of.repair).await;
    assert_eq!(receipt.last().expect("rows").field, MERGED);
    // The other person has the key of the one who is gone.
    let email = contact::email_key(EMAIL);
    let of_key = |name: &str| {
        let values = (json!([]), json!([email]));
        let values = [(values.1.clone(), values.0.clone()), values];
        let found = receipt.iter().find(|change| {
            let own = change.values.as_ref();
            change.field == name && own.is_some_and(|own| values.contains(own))
        });
        found.map(|change| change.row)
    };
    assert_eq!(of_key(LOST_KEYS), Some(of.from.0), "{receipt:#?}");
    assert_eq!(of_key(KEYS), Some(of.into.0), "{receipt:#?}");
    let undone = of.undo(world).await;
    for (field, fate) in undone {
        assert_eq!(fate, RepairUndone::Undone, "{field}");
    }
    let deal = world.deal(of.deal).await;
    assert_eq!(deal["person_id"], json!(of.from.to_string()));
    for (id, email) in [(of.from, json!(EMAIL)), (of.into, Value::Null)] {
        assert_eq!(world.contact(id).await["email"], email);
    }
    // The values in the receipt are of both.
    erase(world, &person_with(world, of.from).await).await;
    assert_no_values(world, &of.repair).await;
}

pub async fn a_host_that_has_lost_a_repair_merges_no_contacts(world: &World) {
    let of = moved(world).await;
    let before = (rows(world).await, changes(world, &of.repair).await);
    let taken = world.take_repair(&of.repair).await.unwrap().unwrap();
    assert_eq!(of.merge(world, &of.repair).await, ContactMerge::Stale);
    // The next host finds the move in the receipt.
    let (from, into) = (of.from, of.into);
    assert_eq!(of.moves(world).await, [(from, into, true)]);
    let cancelled = change(world, &taken, RepairState::Cancelled).await;
    for repair in [&taken, &cancelled] {
        assert_eq!(of.merge(world, repair).await, ContactMerge::Stale);
    }
    let after = (rows(world).await, changes(world, &of.repair).await);
    assert_eq!(after, before);
}

pub async fn a_host_that_takes_a_repair_merges_what_the_host_before_left(world: &World) {
    let of = moved(world).await;
    let taken = world.take_repair(&of.repair).await.unwrap().unwrap();
    let (from, into) = (of.from, of.into);
    assert_eq!(of.moves(world).await, [(from, into, true)]);
    assert_eq!(of.merge(world, &taken).await, ContactMerge::Merged);
    assert_eq!(of.moves(world).await, [(from, into, false)]);
    assert_eq!(of.merge(world, &taken).await, ContactMerge::Kept);
    assert_eq!(world.all(Entity::Contacts).await.len(), 1);
}

pub async fn keys_that_a_contact_shares_are_in_the_receipt_and_an_undo_takes_them(world: &World) {
    let of = moved(world).await;
    let shares = async || world.rows("select count(*) from shared_keys").await;
    let rows = changes(world, &of.repair).await;
    let shared: Vec<_> = rows
        .iter()
        .filter(|change| change.field == SHARED_KEYS)
        .map(|change| (change.row, change.values.clone().expect("values").1))
        .collect();
    let key = contact::said_keys(&json!({"phones": [PHONE]})).remove(0);
    assert_eq!(shared, [(of.from.0, json!([key]))]);
    // It is nobody's but the owner's since the lead has left.
    assert_eq!(shares().await, 0);
    // The second time it is shared already.
    let (_, right) = wrong_and_right(world);
    replay(world, of.delivery, &of.repair, vec![saying(right)]).await;
    assert_eq!(changes(world, &of.repair).await, rows);
    let undone = of.undo(world).await;
    for field in [SHARED_KEYS, LOST_SHARED_KEYS] {
        assert_eq!(fate(&undone, field), Some(RepairUndone::Undone), "{field}");
    }
    assert_eq!(shares().await, 0);
}

pub async fn an_undo_leaves_keys_that_a_newer_lead_names(world: &World) {
    let wrong = with_phone(world.known_as("L1"), PHONE);
    let right = with_email(wrong.clone(), EMAIL);
    let first = world.deliver(vec![lead(wrong)]).await;
    let contact = first.items[0].contact_id.expect("a person");
    let repair = begin(world, None, true).await;
    replay(world, first.delivery, &repair, vec![lead(right)]).await;
    let done = change(world, &repair, RepairState::Done).await;
    let newer = |id: &str| {
        let mut newer = with_email(world.known_as(id), EMAIL);
        newer.deal_props = object(json!({"contact": {"emails": [EMAIL]}}));
        lead(newer)
    };
    assert_eq!(world.item(newer("L2")).await.contact_id, Some(contact));
    let undone = undo(world, &done).await;
    let expect = [
        (KEYS, RepairUndone::InUse),
        ("contact.email", RepairUndone::Undone),
    ];
    assert_eq!(undone, expect.map(|(field, fate)| (field.to_owned(), fate)));
    // The next lead of the person is no new person.
    assert_eq!(world.item(newer("L3")).await.contact_id, Some(contact));
    let receipt = world.repair_receipt(repair.id).await.unwrap();
    let is_kept = |sum: &&RepairSum| sum.undone == Some(RepairUndone::InUse);
    assert_eq!(receipt.fields.iter().filter(is_kept).count(), 1);
}

/// Erases a person whose values are in every change of the repair, and checks the counts.
async fn erase_one_of(world: &World, of: &Moved, id: ContactId) {
    let person = person_with(world, id).await;
    let would = world.count_person(&person).await.expect("it counts");
    let all = changes(world, &of.repair).await.len() as u64;
    assert_eq!(would.repair_changes, all);
    let record = erase(world, &person).await;
    assert_eq!(record.erased, would);
    assert_no_values(world, &of.repair).await;
}

pub async fn an_erasure_of_the_former_person_takes_the_values_of_a_deal_that_moved(world: &World) {
    let of = moved(world).await;
    erase_one_of(world, &of, of.from).await;
    // Without values no contact is merged, and nothing is undone.
    assert!(of.moves(world).await.is_empty());
    let undone = of.undo(world).await;
    let since = Some(RepairUndone::ChangedSince);
    for field in [PERSON, "deal.title"] {
        assert_eq!(fate(&undone, field), since, "{field}");
    }
    let deal = world.deal(of.deal).await;
    assert_eq!(deal["person_id"], json!(of.into));
}

pub async fn an_erasure_of_the_new_person_counts_the_rows_of_its_deals(world: &World) {
    let of = moved(world).await;
    erase_one_of(world, &of, of.into).await;
}

pub async fn an_erasure_takes_the_values_out_of_receipts(world: &World) {
    let mut wrong = zulmira(world, "L1");
    wrong.title = None;
    wrong.name = Some("Zul".to_owned());
    let first = world.deliver(vec![lead(wrong)]).await;
    let repair = begin(world, None, true).await;
    let items = vec![lead(zulmira(world, "L1"))];
    replay(world, first.delivery, &repair, items).await;
    let done = change(world, &repair, RepairState::Done).await;
    let before = changes(world, &repair).await;
    let fields = listed(&before);
    let fields: Vec<_> = fields.iter().map(|(field, ..)| *field).collect();
    assert_eq!(fields, ["deal.title", "contact.name"]);
    let person = person(world).await;
    let would = world.count_person(&person).await.expect("it counts");
    assert_eq!(would.repair_changes, 2);
    let record = erase(world, &person).await;
    assert_eq!(record.erased, would);
    assert_eq!(marks(world).await, [""; 0]);
    // The receipt still shows the number of changes.
    let after = changes(world, &repair).await;
    assert_eq!(after.len(), before.len());
    assert!(after.iter().all(|change| change.values.is_none()));
    let undone = undo(world, &done).await;
    for (field, undone) in undone {
        assert_eq!(undone, RepairUndone::ChangedSince, "{field}");
    }
}

pub async fn a_receipt_that_is_being_undone_is_not_swept(world: &World) {
    let retention = kept_for(Duration::from_hours(1));
    let of = repaired(world).await;
    world.advance(2 * 3_600).await;
    let undoing = change(world, &of.repair, RepairState::Undoing).await;
    let removed = world.sweep(&retention, world.now(), 2).await;
    assert_eq!(removed.expect("it sweeps"), 1, "the delivery");
    assert_eq!(changes(world, &of.repair).await.len(), 3);
    let now = world.repair(of.repair.id).await.unwrap();
    assert_eq!(now, Some(undoing));
}

pub async fn receipts_are_kept_as_long_as_deliveries(world: &World) {
    let of = repaired(world).await;
    let sweep = async |limit| world.swept(limit).await;
    assert_eq!(of.repair.ended_at, Some(world.now()));
    world.advance(90 * DAY).await;
    // The delivery is a little older.
    assert_eq!(sweep(100).await, 1);
    assert_eq!(changes(world, &of.repair).await.len(), 3);
    world.advance(1).await;
    // Its rows go first, as many as a step removes.
    assert_eq!(sweep(2).await, 2);
    assert_eq!(changes(world, &of.repair).await.len(), 1);
    // A request that has not seen this cannot undo part of a receipt either.
    let stale = try_change(world, &of.repair, RepairState::Undoing).await;
    assert_eq!(stale, RepairChanged::Stale);
    let now = world.repair(of.repair.id).await.unwrap();
    assert_eq!(now.map(|one| one.state), Some(RepairState::Expired));
    assert_eq!(sweep(2).await, 2);
    assert_eq!(world.repair(of.repair.id).await.unwrap(), None);
    assert_eq!(sweep(2).await, 0);
}
