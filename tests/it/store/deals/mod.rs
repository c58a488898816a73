//! The promises of every store about deals: the search, and partners' changes.
//! This file has the helpers of the clauses.

pub mod creating;
pub mod lookup;
pub mod noting;
pub mod patching;

use std::time::Duration;

use leadhost_domain::contact;
use leadhost_domain::id::{DealId, KeyId, PartnerId};
use leadhost_domain::row::Entity;
use leadhost_store::*;
use uuid::Uuid;

use super::messages::{PHONE, number};
use super::world::*;

/// The partner of the world's connections.
pub async fn acme(world: &World) -> ByPartner {
    by(world, "Acme").await
}

pub async fn by(world: &World, name: &str) -> ByPartner {
    let partners = world.partners(world.workspace).await.expect("a list");
    let partner = partners.iter().find(|partner| partner.name == name);
    as_partner(world, partner.expect("it is declared").id)
}

fn as_partner(world: &World, partner: PartnerId) -> ByPartner {
    ByPartner {
        workspace: world.workspace,
        partner,
        key: KeyId(Uuid::from_u128(7)),
    }
}

/// Adds a second partner and a second product to the workspace.
pub async fn grow(world: &World) {
    let mut plan = plan("demo");
    plan.partners.push("Other".to_owned());
    plan.products
        .push(leadhost_tests::seed::product("P-2", "Corner shop"));
    let applied = world.apply(&plan, world.now(), false).await;
    applied.expect("the plan holds");
}

/// A lead of Acme's from the person with this number.
pub fn lead_of(world: &World, external_id: &str, to: &str) -> NewLead {
    let mut new = world.known_as(external_id);
    new.phones.push(number(to));
    new.contact_keys = contact::keys(&new.phones, &[]);
    new
}

/// Makes a deal of the person who gets the notifications.
pub async fn deal(world: &World) -> DealId {
    let item = world.bring(lead_of(world, "L1", PHONE)).await;
    item.deal_id.expect("a deal")
}

/// A change without any field.
pub fn wish(by: ByPartner, deal: DealId) -> DealPatch {
    DealPatch {
        by,
        deal,
        status: None,
        stage: None,
        product: None,
        owner_email: None,
    }
}

pub fn patched(written: &WriteOutcome) -> DealPatched {
    match written {
        WriteOutcome::DealPatched(patched) => *patched,
        other => panic!("no patch: {other:?}"),
    }
}

pub async fn patch(world: &World, patch: DealPatch) -> DealPatched {
    let written = world.commit(&[Write::PatchDeal(Box::new(patch))]).await;
    patched(&written[0])
}

pub async fn past(world: &World, deal: DealId) -> DealPast {
    let past = world.deal_past(world.workspace, deal, 100).await;
    past.expect("it reads").expect("the deal is there")
}

/// Returns a feed's clock. While time stands, it advances by one for each row.
pub async fn clock(world: &World, entity: Entity) -> i64 {
    world.page(entity, 0, None, 1).await.clock
}

pub async fn claim(world: &World, route: &str, fingerprint: &str) -> IdempotencyClaim {
    IdempotencyClaim {
        key: IdempotencyKey {
            workspace: world.workspace,
            partner: acme(world).await.partner,
            route: route.to_owned(),
            key: "k-1".to_owned(),
        },
        fingerprint: fingerprint.to_owned(),
        retention: Duration::from_hours(72),
    }
}
