//! The rule of two persons, `plugins.two_person`: a version with further permissions than the one before it
//! is activated or rolled out when two admin keys have accepted that. The first acceptance waits in
//! the store for the second.

use super::Concern;
use super::error::{DeployCommand, DeployError};
use crate::state::Pipeline;
use leadhost_domain::acceptance::{AcceptedConcern, FirstAcceptance};
use leadhost_domain::audit::AuditActor;
use leadhost_domain::id::KeyId;
use leadhost_domain::key::{KeyRecord, Role};
use leadhost_domain::limits;
use leadhost_domain::time::Micros;
use leadhost_plugin::Loaded;
use leadhost_store::StoreError;

/// Returns the acceptance of the first key if the rule asks for one. `accepted`: the concerns that
/// `by` accepts; `command`: what the second key runs.
///
/// # Errors
///
/// [`DeployError::SecondKey`] if no other key has accepted the further permissions of the version: then the
/// acceptance of this one is stored. [`DeployError::NoKey`] if the acceptance has no key.
/// [`DeployError`] if the store fails.
pub async fn first_acceptance(
    pipeline: &Pipeline,
    candidate: &Loaded,
    accepted: &[Concern],
    by: Option<&AuditActor>,
    command: DeployCommand,
) -> Result<Option<FirstAcceptance>, DeployError> {
    let more: Vec<AcceptedConcern> = accepted
        .iter()
        .filter(|concern| concern.is_for_admins())
        .filter_map(|Concern { accept, what }| {
            Some(AcceptedConcern {
                accept: (*accept)?,
                what: what.clone(),
            })
        })
        .collect();
    if more.is_empty() || !pipeline.core.config.plugins.two_person {
        return Ok(None);
    }
    let Some((by, key)) = key_of(by) else {
        return Err(DeployError::NoKey {
            name: candidate.description.name.clone(),
            version: candidate.description.version.clone(),
            digest: candidate.digest.clone(),
            command,
            concerns: accepted.to_vec(),
        });
    };
    let (store, now) = (&pipeline.core.store, pipeline.core.clock.now());
    let waiting = store.acceptances(&candidate.digest, now).await?;
    let keys = store.keys(None).await?;
    let counts = |first: &FirstAcceptance| {
        is_another(first, by)
            && is_of_an_admin(first, &keys, now)
            && more.iter().all(|concern| first.concerns.contains(concern))
    };
    if let Some(first) = waiting.into_iter().find(counts) {
        return Ok(Some(first));
    }
    wait(pipeline, candidate, more, (by, key), now).await?;
    Err(DeployError::SecondKey {
        name: candidate.description.name.clone(),
        version: candidate.description.version.clone(),
        digest: candidate.digest.clone(),
        command,
        concerns: accepted.to_vec(),
    })
}

/// Returns who accepts, with the key. `None`: it is the service itself, which can be neither the first
/// nor the second of two persons.
fn key_of(by: Option<&AuditActor>) -> Option<(&AuditActor, KeyId)> {
    by.and_then(|by| Some((by, by.key?)))
}

/// Returns whether another key accepted, and presumably another person: both label and id differ.
fn is_another(first: &FirstAcceptance, by: &AuditActor) -> bool {
    // A key without a label is named by its id: that shows nothing about the person.
    let person = |label: &str, key: Option<KeyId>| match key.map(|key| key.to_string()) {
        Some(id) if id == label => String::new(),
        _ => label.trim().to_lowercase(),
    };
    let (other, own) = (
        person(&first.label, Some(first.key)),
        person(&by.label, by.key),
    );
    by.key != Some(first.key) && own != other
}

/// Returns whether the key of an acceptance is still that of an admin.
fn is_of_an_admin(first: &FirstAcceptance, keys: &[KeyRecord], now: Micros) -> bool {
    let key = keys.iter().find(|key| key.id == first.key);
    key.is_some_and(|key| key.is_live(now) && key.role == Some(Role::Admin))
}

/// Stores an acceptance until the second key accepts too.
async fn wait(
    pipeline: &Pipeline,
    candidate: &Loaded,
    concerns: Vec<AcceptedConcern>,
    (by, key): (&AuditActor, KeyId),
    now: Micros,
) -> Result<(), StoreError> {
    let first = FirstAcceptance {
        digest: candidate.digest.clone(),
        key,
        label: by.label.clone(),
        name: candidate.description.name.clone(),
        concerns,
        at: now,
        until: now.plus(limits::ACCEPTANCE_LIFETIME),
    };
    pipeline.core.store.add_acceptance(&first).await?;
    tracing::info!(plugin = %first.name, digest = first.digest.short(), label = %first.label, "plugin version accepted by the first of two keys");
    Ok(())
}

/// Removes the acceptances of a version that both keys have accepted, so that they count once.
pub async fn used(pipeline: &Pipeline, first: Option<&FirstAcceptance>) {
    let Some(first) = first else {
        return;
    };
    if let Err(error) = pipeline.core.store.forget_acceptances(&first.digest).await {
        tracing::warn!(plugin = %first.name, digest = first.digest.short(), %error, "used acceptance of a plugin version not removed, it will expire");
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use leadhost_domain::key::KeyKind;
    use leadhost_domain::plugin::Digest;

    const NOW: Micros = Micros(1_000_000);

    fn key(label: &str, role: Role) -> KeyRecord {
        KeyRecord {
            id: KeyId::new(NOW),
            kind: KeyKind::Admin,
            workspace: None,
            partner: None,
            role: Some(role),
            label: label.to_owned(),
            hint: String::new(),
            created_at: NOW,
            expires_at: None,
            revoked_at: None,
            last_used_at: None,
        }
    }

    fn acceptance(of: &KeyRecord) -> FirstAcceptance {
        FirstAcceptance {
            digest: Digest::compute(b"a version"),
            key: of.id,
            label: of.shown(),
            name: "portal".to_owned(),
            concerns: Vec::new(),
            at: NOW,
            until: NOW,
        }
    }

    fn actor(key: &KeyRecord) -> AuditActor {
        AuditActor {
            key: Some(key.id),
            label: key.shown(),
            role: key.role,
            address: String::new(),
        }
    }

    #[test]
    fn a_second_key_has_another_id_and_another_label() {
        let ana = key("ana", Role::Admin);
        let check = |second: &KeyRecord| is_another(&acceptance(&ana), &actor(second));
        assert!(!check(&ana));
        assert!(!check(&key("ana", Role::Admin)));
        assert!(!check(&key(" Ana", Role::Admin)));
        assert!(check(&key("bia", Role::Admin)));
        let (one, other) = (key("", Role::Admin), key(" ", Role::Admin));
        assert!(!is_another(&acceptance(&one), &actor(&other)));
        assert!(is_another(&acceptance(&one), &actor(&ana)));
    }

    #[test]
    fn the_service_itself_is_neither_the_first_nor_the_second_person() {
        assert_eq!(key_of(None), None);
        assert_eq!(key_of(Some(&AuditActor::service("inbox"))), None);
        let ana = key("ana", Role::Admin);
        let by = actor(&ana);
        assert_eq!(key_of(Some(&by)), Some((&by, ana.id)));
    }

    #[test]
    fn a_revoked_or_expired_key_and_one_of_a_lesser_role_do_not_count() {
        let check = |key: KeyRecord| is_of_an_admin(&acceptance(&key), &[key], NOW);
        assert!(check(key("ana", Role::Admin)));
        assert!(!check(key("ana", Role::Operator)));
        assert!(!check(KeyRecord {
            revoked_at: Some(NOW),
            ..key("ana", Role::Admin)
        }));
        assert!(!check(KeyRecord {
            expires_at: Some(NOW),
            ..key("ana", Role::Admin)
        }));
        let unknown = acceptance(&key("ana", Role::Admin));
        assert!(!is_of_an_admin(&unknown, &[], NOW));
    }
}
