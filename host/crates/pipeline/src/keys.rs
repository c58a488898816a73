//! The API keys that requests present, cached for a second: a revoked key stops working within
//! that time on every host. If the store cannot be asked, no key is accepted.

use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::prelude::*;
use leadhost_store::singleflight::SingleFlight;
use leadhost_store::{Caller, Store};

#[derive(Default)]
pub struct KeyCache {
    answers: Mutex<CachedAnswers>,
    asked: SingleFlight<[u8; 32], Option<Arc<Caller>>>,
    used: Mutex<HashMap<KeyId, Micros>>,
}

/// Older than every answer that still counts.
const LONG_AGO: Micros = Micros(i64::MIN);

/// Invalid keys have a table of their own, so that guesses evict no valid key.
#[derive(Default)]
struct CachedAnswers {
    /// Kept after they are stale, to remember keys that were valid.
    good: HashMap<[u8; 32], (Micros, Arc<Caller>)>,
    bad: HashMap<[u8; 32], Micros>,
}

impl KeyCache {
    /// Returns the store's answer on a key, which may be up to a second old.
    pub async fn known(
        &self,
        core: &Core,
        digest: &[u8; 32],
    ) -> Result<Option<Arc<Caller>>, StoreError> {
        // Counted from before the query, so that no answer is used for too long.
        let now = core.clock.now();
        if let Some(known) = self.cached(digest, now) {
            return Ok(known);
        }
        let question = async { Ok(core.store.authenticate(digest).await?.map(Arc::new)) };
        let answer = self.asked.ask(digest, question).await?;
        if answer.may_be_cached {
            self.cache(*digest, now, answer.value.clone());
        }
        Ok(answer.value)
    }

    /// The outer `None`: there is no current answer.
    fn cached(&self, digest: &[u8; 32], now: Micros) -> Option<Option<Arc<Caller>>> {
        let answers = self.answers();
        let is_young = |since: &Micros| since.is_recent(now, limits::KEY_CACHED_FOR);
        match answers.good.get(digest) {
            Some((since, caller)) => is_young(since).then(|| Some(Arc::clone(caller))),
            None => answers
                .bad
                .get(digest)
                .filter(|since| is_young(since))
                .map(|_| None),
        }
    }

    fn cache(&self, digest: [u8; 32], since: Micros, caller: Option<Arc<Caller>>) {
        let mut answers = self.answers();
        let CachedAnswers { good, bad } = &mut *answers;
        match caller {
            Some(caller) => {
                bad.remove(&digest);
                if good.len() >= limits::KEYS_CACHED {
                    good.clear();
                }
                good.insert(digest, (since, caller));
            }
            None => {
                good.remove(&digest);
                if bad.len() >= limits::KEYS_CACHED {
                    bad.clear();
                }
                bad.insert(digest, since);
            }
        }
    }

    /// Returns whether the store's last answer was that the key is valid.
    pub fn was_good(&self, digest: &[u8; 32]) -> bool {
        self.answers().good.contains_key(digest)
    }

    fn answers(&self) -> MutexGuard<'_, CachedAnswers> {
        self.answers.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Marks all answers as stale after an operator's change.
    pub fn forget(&self) {
        self.asked.forget();
        let mut answers = self.answers();
        answers.bad.clear();
        // Keys that were valid are remembered, so that they are not taken for guesses.
        for (since, _) in answers.good.values_mut() {
            *since = LONG_AGO;
        }
    }

    /// Notes that the key was used, unless its use in this minute is known. The notes are
    /// stored later.
    pub fn note_use(&self, caller: &Caller, now: Micros) {
        let minute = now.minute();
        if caller
            .key
            .last_used_at
            .is_none_or(|noted| noted.0 < minute.0)
        {
            let mut used = self.used.lock().unwrap_or_else(PoisonError::into_inner);
            used.insert(caller.key.id, minute);
        }
    }

    pub async fn write_uses(&self, store: &Store) -> Result<(), StoreError> {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_expires_after_a_second_or_if_it_is_from_the_future() {
        let cache = KeyCache::default();
        cache.cache([7; 32], Micros(10), None);
        let known = |now| cache.cached(&[7; 32], Micros(now)).is_some();
        assert!(known(10) && known(1_000_009));
        assert!(!known(1_000_010) && !known(9));
        assert!(cache.cached(&[8; 32], Micros(10)).is_none());
        assert!(!cache.was_good(&[7; 32]) && !cache.was_good(&[8; 32]));
    }

    #[test]
    fn the_cache_of_keys_is_bounded() {
        let cache = KeyCache::default();
        for number in 0..=limits::KEYS_CACHED {
            let mut digest = [0; 32];
            digest[..8].copy_from_slice(&number.to_be_bytes());
            cache.cache(digest, Micros(0), None);
        }
        assert!(cache.answers().bad.len() <= limits::KEYS_CACHED);
    }
}
