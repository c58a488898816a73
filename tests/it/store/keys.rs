//! Keys.

use leadhost_domain::key::{KeyKind, KeyRecord, PlainKey, Role};

use super::world::*;

fn record(kind: KeyKind, workspace: Option<WorkspaceId>, partner: Option<PartnerId>) -> KeyRecord {
    KeyRecord {
        id: KeyId::new(START),
        kind,
        workspace,
        partner,
        role: (kind == KeyKind::Admin).then_some(Role::Operator),
        label: "till".to_owned(),
        hint: "pk_…abcd".to_owned(),
        created_at: START,
        expires_at: Some(START.plus(Duration::from_micros(5))),
        revoked_at: None,
        last_used_at: None,
    }
}

pub async fn a_key_opens_one_partner_of_one_workspace(world: &World) {
    let partner = world.partners(world.workspace).await.unwrap().remove(0);
    let key = record(KeyKind::Partner, Some(world.workspace), Some(partner.id));
    let digest = PlainKey::generate(KeyKind::Partner).digest();
    world.create_key(&key, &digest).await.unwrap();
    let caller = world.authenticate(&digest).await.unwrap().unwrap();
    assert_eq!(caller.key, key);
    let workspace = caller.workspace.map(|workspace| workspace.id);
    assert_eq!(workspace, Some(world.workspace));
    assert_eq!(caller.partner.as_deref(), Some(&partner));
    assert!(world.authenticate(&[9; 32]).await.unwrap().is_none());
}

pub async fn an_operators_key_is_of_no_workspace(world: &World) {
    let key = record(KeyKind::Admin, None, None);
    world.create_key(&key, &[1; 32]).await.unwrap();
    let caller = world.authenticate(&[1; 32]).await.unwrap().unwrap();
    assert!(caller.workspace.is_none() && caller.partner.is_none() && caller.scope().is_none());
    let all = world.keys(None).await.unwrap();
    assert!(all.contains(&key));
    let of_workspace = world.keys(Some(world.workspace)).await.unwrap();
    assert!(!of_workspace.contains(&key) && !of_workspace.is_empty());
}

pub async fn a_key_is_revoked_once_and_still_shown(world: &World) {
    let key = record(KeyKind::Workspace, Some(world.workspace), None);
    world.create_key(&key, &[2; 32]).await.unwrap();
    let at = START.plus(Duration::from_micros(7));
    assert!(world.revoke_key(key.id, at).await.unwrap());
    let later = at.plus_seconds(1);
    assert!(!world.revoke_key(key.id, later).await.unwrap());
    assert!(!world.revoke_key(KeyId::new(START), at).await.unwrap());
    let caller = world.authenticate(&[2; 32]).await.unwrap().unwrap();
    assert_eq!(caller.key.revoked_at, Some(at));
}

pub async fn two_keys_never_share_a_digest(world: &World) {
    let key = record(KeyKind::Workspace, Some(world.workspace), None);
    world.create_key(&key, &[3; 32]).await.unwrap();
    let other = record(KeyKind::Workspace, Some(world.workspace), None);
    for (again, digest) in [(&other, [3; 32]), (&key, [5; 32])] {
        let refused = world.create_key(again, &digest).await.unwrap_err();
        assert!(matches!(refused, StoreError::Refused(_)), "{refused}");
    }
    let kept = world.authenticate(&[3; 32]).await.unwrap();
    assert_eq!(kept.map(|caller| caller.key), Some(key));
    assert!(world.authenticate(&[5; 32]).await.unwrap().is_none());
}

pub async fn the_last_use_is_kept_to_the_minute_and_never_goes_back(world: &World) {
    let key = record(KeyKind::Workspace, Some(world.workspace), None);
    world.create_key(&key, &[4; 32]).await.unwrap();
    let minute = |n: i64| Micros(n * 60 * 1_000_000);
    let used = [
        (key.id, minute(30_000_000).plus(Duration::from_secs(59))),
        (key.id, minute(29_999_999)),
        (KeyId::new(START), minute(1)),
    ];
    world.touch_keys(&used).await.unwrap();
    world.touch_keys(&[(key.id, minute(5))]).await.unwrap();
    world.touch_keys(&[]).await.unwrap();
    let caller = world.authenticate(&[4; 32]).await.unwrap().unwrap();
    assert_eq!(caller.key.last_used_at, Some(minute(30_000_000)));
}
