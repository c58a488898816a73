//! What has failed for a connection on this host and has not worked since: shown to operators at once, and
//! forgotten as soon as it works again.

use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::prelude::*;
use leadhost_domain::text;
use leadhost_domain::trouble::{Trouble, TroubleKind};

#[derive(Default)]
pub struct Troubles(Mutex<BTreeMap<(ConnectionId, TroubleKind), Trouble>>);

impl Troubles {
    pub fn failed(&self, kind: TroubleKind, connection: &ConnectionId, why: &str, now: Micros) {
        let mut all = self.lock();
        let key = (connection.clone(), kind);
        if all.len() >= limits::TROUBLES && !all.contains_key(&key) {
            all.retain(|_, one| is_recent(one, now));
            if all.len() >= limits::TROUBLES {
                return;
            }
        }
        let known = all.entry(key).or_insert_with(|| Trouble {
            connection_id: connection.clone(),
            kind,
            times: 0,
            since: now,
            last_at: now,
            why: String::new(),
        });
        let why = text::on_one_line(why);
        known.why = why.chars().take(limits::TROUBLE_CHARACTERS).collect();
        (known.times, known.last_at) = (known.times + 1, now);
    }

    pub fn works(&self, kind: TroubleKind, connection: &ConnectionId) {
        let mut all = self.lock();
        if !all.is_empty() {
            all.remove(&(connection.clone(), kind));
        }
    }

    pub fn recent(&self, now: Micros) -> Vec<Trouble> {
        let all = self.lock();
        let recent = all.values().filter(|one| is_recent(one, now));
        recent.cloned().collect()
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<(ConnectionId, TroubleKind), Trouble>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn is_recent(one: &Trouble, now: Micros) -> bool {
    one.last_at.is_recent(now, limits::TROUBLE_SHOWN)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_fails_is_shown_until_it_works_or_has_rested_for_long() {
        let (troubles, now) = (Troubles::default(), Micros(1_800_000_000_000_000));
        let [one, other] = [(); 2].map(|()| ConnectionId::generate());
        troubles.failed(TroubleKind::Fetch, &one, "connection refused", now);
        let later = now.plus(Duration::from_secs(5));
        troubles.failed(TroubleKind::Fetch, &one, "timed\nout", later);
        troubles.failed(TroubleKind::Greeting, &one, "no template", now);
        troubles.works(TroubleKind::Fetch, &other);
        troubles.works(TroubleKind::Greeting, &one);
        let expect = Trouble {
            connection_id: one.clone(),
            kind: TroubleKind::Fetch,
            times: 2,
            since: now,
            last_at: later,
            why: "timed out".to_owned(),
        };
        assert_eq!(troubles.recent(later), [expect]);
        assert_eq!(troubles.recent(later.plus(limits::TROUBLE_SHOWN)), []);
        troubles.works(TroubleKind::Fetch, &one);
        assert_eq!(troubles.recent(later), []);
    }

    #[test]
    fn the_troubles_are_bounded() {
        let (troubles, now) = (Troubles::default(), Micros(1_800_000_000_000_000));
        let fail = |at| {
            for _ in 0..=limits::TROUBLES {
                troubles.failed(TroubleKind::Fetch, &ConnectionId::generate(), "", at);
            }
        };
        fail(now);
        assert_eq!(troubles.lock().len(), limits::TROUBLES);
        let later = now.plus(limits::TROUBLE_SHOWN);
        fail(later);
        assert_eq!(
            troubles.recent(later).len(),
            limits::TROUBLES,
            "the old ones make room"
        );
    }
}
