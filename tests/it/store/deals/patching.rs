//! Partners change deals while sources keep sending them.

use super::super::messages::{conversation_row, elapse, elapse_write, out};
use super::*;

fn changed(field: &str, before: impl Into<Value>, after: impl Into<Value>) -> FieldChange {
    FieldChange {
        field: field.to_owned(),
        before: before.into(),
        after: after.into(),
    }
}

pub async fn a_change_is_one_stamp_and_one_history_row(world: &World) {
    let (by, id) = (acme(world).await, deal(world).await);
    let before = world.clock(Entity::Deals).await;
    let all = || DealPatch {
        status: Some(DealStatus::Won),
        product: Some("P-1".to_owned()),
        owner_email: Some(Some("olga@example.com".to_owned())),
        ..wish(by, id)
    };
    assert_eq!(patch(world, all()).await, CHANGED);
    assert_eq!(world.clock(Entity::Deals).await, before + 1);
    let row = world.deal(id).await;
    let owners = world.owners(world.workspace).await.expect("a list");
    assert_eq!(owners.len(), 1);
    fields!(row, {"status": "won", "stage_code": "closed_won", "owner_id": owners[0].id});
    let filter = DealFilter {
        deal: Some(id),
        ..DealFilter::default()
    };
    let shown = found(world, &filter).await.remove(0);
    assert_eq!(shown.deal.owner_email.as_deref(), Some("olga@example.com"));
    assert_eq!(shown.property.external_id.as_deref(), Some("P-1"));
    // A change to the current values changes and stamps nothing.
    assert_eq!(patch(world, all()).await, UNCHANGED);
    assert_eq!(world.clock(Entity::Deals).await, before + 1);
    let past = past(world, id).await;
    assert!(past.delivery_id.is_some(), "a lead made it");
    assert_eq!(json!(past.created_at), row["created_at"]);
    let change = DealChange {
        at: world.now(),
        by: ChangedBy::Partner {
            partner_id: by.partner,
            key_id: by.key,
        },
        changes: vec![
            changed("status", "open", "won"),
            changed("stage_code", "in_qualification", "closed_won"),
            changed("product_id", Value::Null, row["product_id"].clone()),
            changed("owner_id", Value::Null, row["owner_id"].clone()),
        ],
    };
    assert_eq!(past.history, [change]);
    assert_eq!(past.logs, []);
    world.advance(60).await;
    patch(world, to_status(by, id, DealStatus::Open)).await;
    let later = world.deal(id).await;
    fields!(later, {"created_at": row["created_at"], "updated_at": world.now()});
}

pub async fn another_partners_deal_is_as_unknown_as_a_missing_one(world: &World) {
    grow(world).await;
    let (own, id) = (acme(world).await, deal(world).await);
    let before = world.deal(id).await;
    let other = by(world, "Other").await;
    let foreign = world.elsewhere("foreign").await.workspace_id;
    let elsewhere = |workspace: WorkspaceId| ByPartner { workspace, ..own };
    let unknown = DealId(Uuid::from_u128(9));
    for (by, deal) in [(other, id), (elsewhere(foreign), id), (own, unknown)] {
        let wish = DealPatch {
            // The refusal does not reveal which names exist.
            owner_email: Some(Some("nobody@example.com".to_owned())),
            ..to_status(by, deal, DealStatus::Won)
        };
        assert_eq!(patch(world, wish).await, DealPatched::NoDeal);
    }
    for (workspace, deal) in [(foreign, id), (world.workspace, unknown)] {
        let past = world.deal_past(workspace, deal, 10).await;
        assert_eq!(past.expect("it reads"), None);
    }
    assert_eq!(world.deal(id).await, before);
}

pub async fn a_deal_that_ends_ends_its_conversation(world: &World) {
    let (by, id) = (acme(world).await, deal(world).await);
    let talk = out(world, "w1").await.conversation;
    assert_eq!(conversation_row(world, talk).await["deal_id"], json!(id));
    let before = world.clock(Entity::Conversations).await;
    let visit = to_stage(by, id, DealStage::VisitScheduled);
    let won = to_status(by, id, DealStatus::Won);
    for change in [visit, won] {
        assert_eq!(patch(world, change).await, CHANGED);
    }
    let row = conversation_row(world, talk).await;
    fields!(row, {"status": "closed", "closed_at": world.now(), "appointment_at": world.now()});
    assert_eq!(world.clock(Entity::Conversations).await, before + 2);
    let next = out(world, "w2").await.conversation;
    assert_ne!(next, talk);
    fields!(conversation_row(world, next).await, {"deal_id": null});
}

pub async fn changes_that_partners_make_together_are_all_in_the_history(world: &World) {
    let (by, id) = (acme(world).await, deal(world).await);
    let before = world.clock(Entity::Deals).await;
    let commit = async |stage: DealStage| {
        assert_eq!(patch(world, to_stage(by, id, stage)).await, CHANGED);
    };
    tokio::join!(
        commit(DealStage::InService),
        commit(DealStage::Negotiating),
        commit(DealStage::WaitingService),
    );
    assert_eq!(world.clock(Entity::Deals).await, before + 3);
    let history = past(world, id).await.history;
    assert_eq!(history.len(), 3);
    // Each began where the previous one ended.
    for pair in history.windows(2) {
        assert_eq!(pair[0].changes[0].before, pair[1].changes[0].after);
    }
    let row = world.deal(id).await;
    assert_eq!(row["stage_code"], history[0].changes[0].after);
}

/// A conversation times out in the same batch in which its deal's partner hands the
/// deal over or ends it.
pub async fn a_timeout_and_partner_changes_in_one_batch_make_one_ticket(world: &World) {
    let (by, id) = (acme(world).await, deal(world).await);
    let talk = out(world, "w1").await.conversation;
    world.advance(DAY).await;
    let before = world.clock(Entity::Conversations).await;
    let passes = elapse_write(world, talk);
    let given = patch_write(to_stage(by, id, DealStage::Transferred));
    let ended = patch_write(to_status(by, id, DealStatus::Closed));
    let written = world.commit(&[passes.clone(), given, ended, passes]).await;
    assert!(matches!(written[0], WriteOutcome::Elapsed(true)));
    assert!(matches!(written[3], WriteOutcome::Elapsed(false)));
    let now = world.now();
    let row = conversation_row(world, talk).await;
    fields!(row, {"no_response_at": now, "transferred_at": now, "closed_at": now});
    let moved = world.clock(Entity::Conversations).await;
    assert!(moved > before, "{moved}");
    let filter = TicketFilter {
        limit: 10,
        ..TicketFilter::default()
    };
    let tickets = world.tickets(&world.scope, &filter).await;
    assert_eq!(tickets.expect("it reads").len(), 1);
    assert!(!elapse(world, talk).await);
}

pub async fn a_source_overwrites_no_change_of_a_partner(world: &World) {
    grow(world).await;
    let by = acme(world).await;
    let mut new = titled(lead_of(world, "L1", PHONE), "First");
    new.products = vec!["P-1".to_owned()];
    let id = world.bring(new.clone()).await.deal_id.expect("a deal");
    let linked = DealPatch {
        product: Some("P-2".to_owned()),
        ..to_status(by, id, DealStatus::Won)
    };
    assert_eq!(patch(world, linked).await, CHANGED);
    let before = world.deal(id).await;
    let new = updating(titled(new, "Second"));
    let updated = world.bring(new.clone()).await;
    assert_eq!(updated.status, ItemStatus::Updated);
    assert_eq!(updated.deal_id, Some(id));
    let after = world.deal(id).await;
    assert_eq!(after["title"], "Second");
    for field in ["status", "stage_code", "product_id"] {
        assert_eq!(after[field], before[field], "{field}");
    }
    let history = past(world, id).await.history;
    assert!(matches!(history[0].by, ChangedBy::Source { .. }));
    let title = changed("title", "First", "Second");
    assert_eq!(history[0].changes, [title]);
    // A repeated update changes nothing, and is not in the history.
    let again = world.bring(new).await;
    assert_eq!(again.status, ItemStatus::Duplicate);
    assert_eq!(past(world, id).await.history.len(), 2);
    assert_eq!(world.deal(id).await, after);
}

pub async fn the_history_of_a_deal_tells_a_replay_from_a_new_delivery(world: &World) {
    let new = |title| titled(world.known_as("L1"), title);
    let first = world.deliver(vec![lead(new("First"))]).await;
    let id = first.items[0].deal_id.expect("a deal");
    let is_replay = async || {
        let history = past(world, id).await.history;
        let ChangedBy::Source { replayed, .. } = history[0].by else {
            panic!("{history:?}");
        };
        replayed
    };
    let items = vec![lead(new("Second"))];
    world.replay(first.delivery, APPLY, items).await;
    assert!(is_replay().await);
    world.bring(updating(new("Third"))).await;
    assert!(!is_replay().await);
}

pub async fn a_product_that_a_partner_confirms_is_not_changed_by_the_source(world: &World) {
    grow(world).await;
    let by = acme(world).await;
    let with = |product: &str| {
        let products = vec![product.to_owned()];
        NewLead {
            products,
            ..lead_of(world, "L1", PHONE)
        }
    };
    let first = world.deliver(vec![lead(with("P-1"))]).await;
    let id = first.items[0].deal_id.expect("a deal");
    let product = async || world.deal(id).await["product_id"].clone();
    let (chosen, before) = (product().await, world.clock(Entity::Deals).await);
    let product_of = Some("P-1".to_owned());
    let confirms = DealPatch {
        product: product_of,
        ..wish(by, id)
    };
    assert_eq!(patch(world, confirms).await, UNCHANGED);
    assert_eq!(
        world.clock(Entity::Deals).await,
        before,
        "nothing that exports show has changed"
    );
    world.bring(updating(with("P-2"))).await;
    assert_eq!(product().await, chosen);
    let replayed = world
        .replay(first.delivery, APPLY, vec![lead(with("P-2"))])
        .await;
    assert!(
        replayed.items[0]
            .diff
            .iter()
            .all(|field| field.edited_by_person && !field.applied)
    );
    assert_eq!(product().await, chosen);
}
