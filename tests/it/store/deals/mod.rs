//! The promises of every store about deals: the search, and partners' changes.
//! This file has the helpers of the clauses.

pub mod creating;
pub mod lookup;
pub mod noting;
pub mod patching;

use leadhost_domain::deal::DealView;

use super::messages::{PHONE, number};
use super::world::*;

/// The partner of the world's connections.
pub async fn acme(world: &World) -> ByPartner {
    by(world, "Acme").await
}

pub async fn by(world: &World, name: &str) -> ByPartner {
    let partners = world.partners(world.workspace).await.expect("a list");
    let partner = partners.iter().find(|partner| partner.name == name);
    ByPartner {
        workspace: world.workspace,
        partner: partner.expect("it is declared").id,
        key: KeyId(Uuid::from_u128(7)),
    }
}

/// Adds a second partner and a second product to the workspace.
pub async fn grow(world: &World) {
    let mut plan = plan("demo");
    plan.partners.push("Other".to_owned());
    let product = leadhost_tests::seed::product("P-2", "Corner shop");
    plan.products.push(product);
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

pub fn to_stage(by: ByPartner, deal: DealId, stage: DealStage) -> DealPatch {
    let stage = Some(stage);
    DealPatch {
        stage,
        ..wish(by, deal)
    }
}

pub fn to_status(by: ByPartner, deal: DealId, status: DealStatus) -> DealPatch {
    let status = Some(status);
    DealPatch {
        status,
        ..wish(by, deal)
    }
}

pub fn patch_write(patch: DealPatch) -> Write {
    Write::PatchDeal(Box::new(patch))
}

pub const CHANGED: DealPatched = DealPatched::Done { changed: true };
pub const UNCHANGED: DealPatched = DealPatched::Done { changed: false };

pub async fn patch(world: &World, patch: DealPatch) -> DealPatched {
    outcome!(world.write(patch_write(patch)).await, DealPatched)
}

pub async fn past(world: &World, deal: DealId) -> DealPast {
    let past = world.deal_past(world.workspace, deal, 100).await;
    past.expect("it reads").expect("the deal is there")
}

/// The deals that this filter finds.
pub async fn found(world: &World, filter: &DealFilter) -> Vec<DealView> {
    let found = world.deals(&world.scope, filter, 100).await;
    found.expect("it reads").deals
}

pub fn ids(deals: &[DealView]) -> Vec<String> {
    deals.iter().map(|deal| deal.deal.id.clone()).collect()
}

/// The body of a stored answer.
pub fn body(answer: &StoredAnswer) -> Value {
    serde_json::from_str(&answer.body).expect("JSON")
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
