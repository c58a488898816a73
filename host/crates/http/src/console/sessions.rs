//! The sessions of operators who are signed in to the console of this host. A session holds no key, only
//! the digest by which the store knows it: each page asks the store again, so a revoked key ends its
//! sessions. Sessions are in memory and end with the process.

use std::sync::{Mutex, MutexGuard, PoisonError};

use sha2::{Digest as _, Sha256};

use super::outcome::Notice;
use crate::prelude::*;
use leadhost_domain::id::base62;

/// More than 256 bits of randomness.
const TOKEN_CHARACTERS: usize = 44;

pub type KeyDigest = [u8; 32];

/// All sessions, by the digest of their token.
#[derive(Default)]
pub struct Sessions(Mutex<HashMap<[u8; 32], SessionEntry>>);

struct SessionEntry {
    key: KeyDigest,
    form_token: String,
    began: Micros,
    used: Micros,
    notice: Option<Notice>,
}

/// A session that is live now.
#[derive(Clone, Debug)]
pub struct Session {
    pub key: KeyDigest,
    pub form_token: String,
    /// The digest of its token, by which it is found again.
    pub id: [u8; 32],
}

impl Sessions {
    /// Begins a session of a key that is valid. Returns its token, for the cookie. Past the bound, the
    /// session that was unused for longest ends.
    pub fn begin(&self, key: KeyDigest, now: Micros) -> String {
        let token = base62(TOKEN_CHARACTERS);
        let mut sessions = self.lock();
        sessions.retain(|_, session| session.is_live(now));
        if sessions.len() >= limits::CONSOLE_SESSIONS {
            let oldest = sessions.iter().min_by_key(|(_, session)| session.used);
            if let Some(id) = oldest.map(|(id, _)| *id) {
                sessions.remove(&id);
            }
        }
        let session = SessionEntry {
            key,
            form_token: base62(TOKEN_CHARACTERS),
            began: now,
            used: now,
            notice: None,
        };
        sessions.insert(id_of(&token), session);
        token
    }

    pub fn find(&self, token: &str, now: Micros) -> Option<Session> {
        let id = id_of(token);
        let mut sessions = self.lock();
        let session = sessions.get_mut(&id)?;
        if !session.is_live(now) {
            sessions.remove(&id);
            return None;
        }
        session.used = now;
        Some(Session {
            key: session.key,
            form_token: session.form_token.clone(),
            id,
        })
    }

    /// Returns whether a session is still live, without noting a use: a stream does not prolong it.
    pub fn is_live(&self, session: &Session, now: Micros) -> bool {
        let sessions = self.lock();
        let entry = sessions.get(&session.id);
        entry.is_some_and(|entry| entry.is_live(now))
    }

    pub fn end(&self, session: &Session) {
        self.lock().remove(&session.id);
    }

    /// Keeps a notice for the next page of the session.
    pub fn notify(&self, session: &Session, notice: Notice) {
        if let Some(entry) = self.lock().get_mut(&session.id) {
            entry.notice = Some(notice);
        }
    }

    pub fn take_notice(&self, session: &Session) -> Option<Notice> {
        self.lock().get_mut(&session.id)?.notice.take()
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<[u8; 32], SessionEntry>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl SessionEntry {
    fn is_live(&self, now: Micros) -> bool {
        self.began.is_recent(now, limits::CONSOLE_LONGEST)
            && self.used.is_recent(now, limits::CONSOLE_IDLE)
    }
}

/// Tokens are looked up by their digest, so that the time of a look-up says nothing about them.
fn id_of(token: &str) -> [u8; 32] {
    Sha256::digest(token).into()
}

#[cfg(test)]
mod tests {
    use super::*;

    const KEY: KeyDigest = [7; 32];

    #[test]
    fn a_session_is_found_by_its_token_until_it_ends() {
        let sessions = Sessions::default();
        let now = Micros(1_000_000);
        let token = sessions.begin(KEY, now);
        assert!(sessions.find("another", now).is_none());
        let session = sessions.find(&token, now).expect("it is live");
        assert_eq!(session.key, KEY);
        assert!(sessions.is_live(&session, now));
        sessions.end(&session);
        assert!(!sessions.is_live(&session, now));
        assert!(sessions.find(&token, now).is_none());
    }

    #[test]
    fn a_session_ends_when_it_is_idle_and_at_the_latest_after_its_longest_time() {
        let sessions = Sessions::default();
        let begun = Micros(0);
        let idle = sessions.begin(KEY, begun);
        let after = begun.plus(limits::CONSOLE_IDLE);
        assert!(sessions.find(&idle, after).is_none());

        let used = sessions.begin(KEY, begun);
        let mut now = begun;
        let end = begun.plus(limits::CONSOLE_LONGEST);
        while now < end {
            assert!(sessions.find(&used, now).is_some(), "{now}");
            now = now.plus(limits::CONSOLE_IDLE / 2);
        }
        assert!(sessions.find(&used, now).is_none());
    }

    #[test]
    fn past_the_bound_the_session_ends_that_was_unused_for_longest() {
        let sessions = Sessions::default();
        let first = sessions.begin(KEY, Micros(0));
        let second = sessions.begin(KEY, Micros(0));
        assert!(sessions.find(&first, Micros(2)).is_some());
        for _ in 2..=limits::CONSOLE_SESSIONS {
            sessions.begin(KEY, Micros(3));
        }
        assert!(sessions.find(&second, Micros(3)).is_none());
        assert!(sessions.find(&first, Micros(3)).is_some());
    }

    #[test]
    fn a_notice_is_shown_once() {
        let sessions = Sessions::default();
        let token = sessions.begin(KEY, Micros(0));
        let session = sessions.find(&token, Micros(0)).expect("it is live");
        let notice = Notice::from("done");
        sessions.notify(&session, notice.clone());
        assert_eq!(sessions.take_notice(&session), Some(notice));
        assert_eq!(sessions.take_notice(&session), None);
    }
}
