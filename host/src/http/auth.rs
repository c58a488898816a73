//! Who is asking. Each scheme gives a proof that its endpoints take as an
//! argument; there is no other way to make one.
//!
//! A text that cannot be a key is refused without asking the store. What the
//! store said of a key, good or bad, is believed for a second at most: a revoked
//! key is dead by then on every host. When the store cannot be asked, nobody is
//! let in. Failures are counted by the address that they come from (`failures`). Unknown, revoked, expired and malformed keys and keys of another kind
//! hear the same.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use hyper::HeaderMap;
use hyper::header::AUTHORIZATION;

use super::error::{ApiError, Challenge};
use super::failures::Who;
use super::router::Call;
use crate::app::App;
use crate::domain::id::KeyId;
use crate::domain::key::{KeyKind, PlainKey};
use crate::domain::time::Micros;
use crate::domain::workspace::{Partner, Workspace};
use crate::limits;
use crate::store::once::Once;
use crate::store::{ByPartner, Caller, Scope, Store, StoreError};

/// A data client: it reads one workspace.
#[derive(Clone, Debug)]
pub struct WorkspaceCaller {
    caller: Arc<Caller>,
    scope: Scope,
}

impl WorkspaceCaller {
    pub fn scope(&self) -> &Scope {
        &self.scope
    }

    pub fn workspace(&self) -> &Workspace {
        workspace_of(&self.caller)
    }

    pub fn key(&self) -> KeyId {
        self.caller.key.id
    }
}

/// A partner's system: it works in one workspace, by partner key or access token.
#[derive(Clone, Debug)]
pub struct PartnerCaller {
    caller: Arc<Caller>,
    scope: Scope,
}

impl PartnerCaller {
    pub fn scope(&self) -> &Scope {
        &self.scope
    }

    pub fn workspace(&self) -> &Workspace {
        workspace_of(&self.caller)
    }

    pub fn partner(&self) -> &Partner {
        self.caller.partner.as_ref().expect("checked when granted")
    }

    pub fn key(&self) -> KeyId {
        self.caller.key.id
    }

    /// Who works on deals, for what is committed.
    pub fn by(&self) -> ByPartner {
        ByPartner {
            workspace: self.workspace().id,
            partner: self.partner().id,
            key: self.key(),
        }
    }
}

/// An operator.
#[derive(Clone, Debug)]
pub struct AdminCaller {
    caller: Arc<Caller>,
}

impl AdminCaller {
    pub fn key(&self) -> KeyId {
        self.caller.key.id
    }
}

fn workspace_of(caller: &Caller) -> &Workspace {
    caller.workspace.as_ref().expect("checked when granted")
}

/// By workspace key, as bearer.
pub async fn workspace(call: &Call<'_>) -> Result<WorkspaceCaller, ApiError> {
    let presented = bearer(&call.head.headers);
    let caller = grant(call, presented, KeyKind::Workspace, Challenge::Bearer).await?;
    let scope = scope_of(&caller)?;
    Ok(WorkspaceCaller { caller, scope })
}

/// By partner key, in `x-service-api-key`.
pub async fn partner(call: &Call<'_>) -> Result<PartnerCaller, ApiError> {
    let headers = &call.head.headers;
    let presented = headers
        .get("x-service-api-key")
        .and_then(|value| value.to_str().ok());
    partner_caller(grant(call, presented, KeyKind::Partner, Challenge::PartnerKey).await?)
}

/// By a partner's access token, as bearer.
pub async fn access_token(call: &Call<'_>) -> Result<PartnerCaller, ApiError> {
    let presented = bearer(&call.head.headers);
    partner_caller(grant(call, presented, KeyKind::AccessToken, Challenge::Bearer).await?)
}

/// By admin key, as bearer.
pub async fn admin(call: &Call<'_>) -> Result<AdminCaller, ApiError> {
    let presented = bearer(&call.head.headers);
    let caller = grant(call, presented, KeyKind::Admin, Challenge::Bearer).await?;
    tracing::Span::current().record("key", caller.key.label.as_str());
    Ok(AdminCaller { caller })
}

fn partner_caller(caller: Arc<Caller>) -> Result<PartnerCaller, ApiError> {
    let scope = scope_of(&caller)?;
    if caller.partner.is_none() {
        return Err(incomplete(&caller, "partner"));
    }
    Ok(PartnerCaller { caller, scope })
}

fn scope_of(caller: &Caller) -> Result<Scope, ApiError> {
    let workspace = caller
        .workspace
        .as_ref()
        .ok_or_else(|| incomplete(caller, "workspace"))?;
    tracing::Span::current().record("workspace", workspace.slug.as_str());
    caller
        .scope()
        .ok_or_else(|| incomplete(caller, "workspace"))
}

fn incomplete(caller: &Caller, what: &str) -> ApiError {
    ApiError::Store(StoreError::Inconsistent {
        what: format!("key {} names no {what}", caller.key.id),
    })
}

fn bearer(headers: &HeaderMap) -> Option<&str> {
    let (scheme, key) = headers.get(AUTHORIZATION)?.to_str().ok()?.split_once(' ')?;
    scheme.eq_ignore_ascii_case("bearer").then(|| key.trim())
}

async fn grant(
    call: &Call<'_>,
    presented: Option<&str>,
    kind: KeyKind,
    challenge: Challenge,
) -> Result<Arc<Caller>, ApiError> {
    let app = call.app;
    let refused = ApiError::Unauthorized(challenge);
    let Some(presented) = presented else {
        return Err(refused);
    };
    let now = app.clock.now();
    let who = Who::new(call.peer, call.surface);
    let too_many = app.http.failures.refused(who, now);
    let key = PlainKey::parse(presented).filter(|key| key.kind() == kind);
    let digest = key.map(|key| key.digest());
    let known = match digest {
        // What was good is asked after all the same: who guesses does not lock out
        // whoever has the same address.
        Some(digest) if too_many.is_none() || app.http.keys.was_good(&digest) => {
            app.http.keys.known(app, &digest).await?
        }
        _ => None,
    };
    if let Some(caller) = known.filter(|caller| caller.key.kind == kind && caller.key.is_live(now))
    {
        app.http.keys.note_use(&caller, now);
        return Ok(caller);
    }
    app.http.failures.note(who, now);
    app.metrics.key_failed();
    match too_many {
        Some(retry_after) => Err(ApiError::TooManyFailures { retry_after }),
        None => Err(refused),
    }
}

/// What the store said of keys within the last second, and which keys were used.
#[derive(Default)]
pub struct KeyCache {
    believed: Mutex<Beliefs>,
    asked: Once<[u8; 32], Option<Arc<Caller>>>,
    used: Mutex<HashMap<KeyId, Micros>>,
}

/// Those that do not hold have a table of their own: guesses push out nothing good.
/// Before any answer that is still believed.
const LONG_AGO: Micros = Micros(-limits::KEY_BELIEVED_MICROS);

#[derive(Default)]
struct Beliefs {
    /// Kept past their time, as keys that have been good.
    good: HashMap<[u8; 32], (Micros, Arc<Caller>)>,
    bad: HashMap<[u8; 32], Micros>,
}

impl KeyCache {
    /// What the store says of a key, or said within the last second.
    async fn known(&self, app: &App, digest: &[u8; 32]) -> Result<Option<Arc<Caller>>, StoreError> {
        // Believed from before the question, so that no answer is believed too long.
        let now = app.clock.now();
        if let Some(known) = self.believed(digest, now) {
            return Ok(known);
        }
        let question = async { Ok(app.store.authenticate(digest).await?.map(Arc::new)) };
        let answer = self.asked.ask(digest, question).await?;
        if answer.may_be_kept {
            self.believe(*digest, now, answer.value.clone());
        }
        Ok(answer.value)
    }

    /// The outer `None`: nothing is known by now.
    fn believed(&self, digest: &[u8; 32], now: Micros) -> Option<Option<Arc<Caller>>> {
        let believed = self.beliefs();
        let is_young = |since: &Micros| since.is_recent(now, limits::KEY_BELIEVED_MICROS);
        match believed.good.get(digest) {
            Some((since, caller)) => is_young(since).then(|| Some(Arc::clone(caller))),
            None => believed
                .bad
                .get(digest)
                .filter(|since| is_young(since))
                .map(|_| None),
        }
    }

    fn believe(&self, digest: [u8; 32], since: Micros, caller: Option<Arc<Caller>>) {
        let mut believed = self.beliefs();
        let Beliefs { good, bad } = &mut *believed;
        match caller {
            Some(caller) => {
                bad.remove(&digest);
                if good.len() >= limits::KEYS_BELIEVED {
                    good.clear();
                }
                good.insert(digest, (since, caller));
            }
            None => {
                good.remove(&digest);
                if bad.len() >= limits::KEYS_BELIEVED {
                    bad.clear();
                }
                bad.insert(digest, since);
            }
        }
    }

    /// Whether the store has said that it is good, and has not said otherwise since.
    fn was_good(&self, digest: &[u8; 32]) -> bool {
        self.beliefs().good.contains_key(digest)
    }

    fn beliefs(&self) -> MutexGuard<'_, Beliefs> {
        self.believed.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Asks the store of every key anew: an operator changed something.
    pub fn forget(&self) {
        self.asked.forget();
        let mut believed = self.beliefs();
        believed.bad.clear();
        // That a key was good keeps it from being taken for a guess.
        for (since, _) in believed.good.values_mut() {
            *since = LONG_AGO;
        }
    }

    fn note_use(&self, caller: &Caller, now: Micros) {
        let minute = Micros(now.0 - now.0.rem_euclid(Micros::MINUTE));
        if caller
            .key
            .last_used_at
            .is_none_or(|noted| noted.0 < minute.0)
        {
            let mut used = self.used.lock().unwrap_or_else(PoisonError::into_inner);
            used.insert(caller.key.id, minute);
        }
    }

    /// Writes down which keys were used since the last time.
    pub async fn write_uses(&self, store: &dyn Store) -> Result<(), StoreError> {
        let used: Vec<_> = {
            let mut used = self.used.lock().unwrap_or_else(PoisonError::into_inner);
            used.drain().collect()
        };
        if used.is_empty() {
            return Ok(());
        }
        store.touch_keys(&used).await
    }
}

/// Writes down key uses from time to time until the service ends.
pub async fn keep_key_uses(app: Arc<App>) {
    loop {
        let ends = tokio::select! {
            () = tokio::time::sleep(Duration::from_secs(limits::KEY_USE_SECONDS)) => false,
            () = app.shutdown.ended() => true,
        };
        if let Err(error) = app.http.keys.write_uses(&*app.store).await
            && !error.is_told()
        {
            tracing::warn!(%error, "when keys were last used could not be written down");
        }
        if ends {
            return;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use hyper::header::HeaderValue;

    #[test]
    fn a_bearer_is_read_in_any_case_and_with_any_space() {
        let check = |text: &'static str, expect: Option<&str>| {
            let mut headers = HeaderMap::new();
            headers.insert(AUTHORIZATION, HeaderValue::from_static(text));
            assert_eq!(bearer(&headers), expect, "{text}");
        };
        check("Bearer key", Some("key"));
        check("bearer   key ", Some("key"));
        check("Basic key", None);
        check("Bearer", None);
        check("key", None);
        check("", None);
    }

    #[test]
    fn nothing_is_believed_longer_than_a_second_or_from_the_future() {
        let cache = KeyCache::default();
        cache.believe([7; 32], Micros(10), None);
        let known = |now| cache.believed(&[7; 32], Micros(now)).is_some();
        assert!(known(10) && known(1_000_009));
        assert!(!known(1_000_010) && !known(9));
        assert!(cache.believed(&[8; 32], Micros(10)).is_none());
    }

    #[test]
    fn what_is_believed_stays_bounded() {
        let cache = KeyCache::default();
        for number in 0..=limits::KEYS_BELIEVED {
            let mut digest = [0; 32];
            digest[..8].copy_from_slice(&number.to_be_bytes());
            cache.believe(digest, Micros(0), None);
        }
        assert!(cache.beliefs().bad.len() <= limits::KEYS_BELIEVED);
    }
}
