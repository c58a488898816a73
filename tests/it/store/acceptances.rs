//! Acceptances of versions that wait for a second admin key.

use std::time::Duration;

use leadhost_domain::accept::AcceptWord;
use leadhost_domain::acceptance::{AcceptedConcern, FirstAcceptance};
use leadhost_domain::id::KeyId;
use leadhost_domain::limits;
use leadhost_domain::plugin::Digest;
use leadhost_store::RetentionPeriods;

use super::world::*;

fn acceptance(world: &World, version: &[u8], key: KeyId, label: &str) -> FirstAcceptance {
    FirstAcceptance {
        digest: Digest::compute(version),
        key,
        label: label.to_owned(),
        name: "form".to_owned(),
        concerns: vec![AcceptedConcern {
            accept: AcceptWord::NewHosts,
            what: "it asks to call api.example.com".to_owned(),
        }],
        at: world.now(),
        until: world.now().plus(limits::ACCEPTANCE_LIFETIME),
    }
}

async fn add(world: &World, acceptance: &FirstAcceptance) {
    world.store.add_acceptance(acceptance).await.unwrap();
}

async fn acceptances_of(world: &World, version: &[u8]) -> Vec<FirstAcceptance> {
    let digest = Digest::compute(version);
    world.store.acceptances(&digest, world.now()).await.unwrap()
}

pub async fn an_acceptance_comes_back_with_its_version_and_is_forgotten_with_it(world: &World) {
    let first = acceptance(world, b"1", KeyId::new(START), "ana");
    add(world, &first).await;
    world.advance(1).await;
    let second = acceptance(world, b"1", KeyId::new(START), "bia");
    add(world, &second).await;
    let other = acceptance(world, b"2", first.key, "ana");
    add(world, &other).await;
    assert_eq!(acceptances_of(world, b"1").await, [first.clone(), second]);
    assert!(acceptances_of(world, b"3").await.is_empty());
    world.store.forget_acceptances(&first.digest).await.unwrap();
    assert!(acceptances_of(world, b"1").await.is_empty());
    assert_eq!(acceptances_of(world, b"2").await, [other]);
}

pub async fn a_key_has_one_acceptance_of_a_version_the_last_one(world: &World) {
    let first = acceptance(world, b"1", KeyId::new(START), "ana");
    add(world, &first).await;
    world.advance(1).await;
    let mut again = acceptance(world, b"1", first.key, "ana");
    again.concerns.clear();
    add(world, &again).await;
    assert_eq!(acceptances_of(world, b"1").await, [again]);
}

pub async fn an_acceptance_expires_and_is_swept(world: &World) {
    let first = acceptance(world, b"1", KeyId::new(START), "ana");
    add(world, &first).await;
    let kept = i64::try_from(limits::ACCEPTANCE_LIFETIME.as_secs()).unwrap();
    world.advance(kept - 1).await;
    assert_eq!(acceptances_of(world, b"1").await.len(), 1);
    world.advance(1).await;
    assert!(acceptances_of(world, b"1").await.is_empty());
    let retention = RetentionPeriods {
        deliveries: Duration::from_hours(90 * 24),
        quarantine: Duration::from_hours(30 * 24),
    };
    let sweep = async || world.store.sweep(&retention, world.now(), 100).await;
    assert_eq!(sweep().await.unwrap(), 0, "its last moment is now");
    world.advance(1).await;
    assert_eq!(sweep().await.unwrap(), 1);
    assert_eq!(sweep().await.unwrap(), 0);
}

pub async fn only_the_newest_of_many_acceptances_are_kept(world: &World) {
    for number in 0..=limits::ACCEPTANCES {
        let version = number.to_be_bytes();
        let mut one = acceptance(world, &version, KeyId::new(START), "ana");
        one.at = START.plus_seconds(i64::from(number));
        add(world, &one).await;
    }
    assert!(acceptances_of(world, &0_u32.to_be_bytes()).await.is_empty());
    assert_eq!(acceptances_of(world, &1_u32.to_be_bytes()).await.len(), 1);
    assert_eq!(
        acceptances_of(world, &limits::ACCEPTANCES.to_be_bytes())
            .await
            .len(),
        1
    );
}
