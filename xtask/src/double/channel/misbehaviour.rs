//! Misbehaviour of sends, and the sends for which it is planned.

use std::collections::VecDeque;
use std::sync::Mutex;

use crate::double::server::locked;

/// The treatment of a send that passes the provider's checks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Misbehaviour {
    Code(u32),
    /// The provider's error with this code as 429 with `Retry-After`, in seconds.
    Throttled {
        code: u32,
        retry_after: u32,
    },
    /// No answer, until [`super::Channel::release`] or the caller's timeout.
    Hang(Taken),
    /// The connection is reset before anything of the request was read.
    ResetUnread,
    /// The connection is reset after the request was read.
    Reset(Taken),
    /// The connection is closed after the request was read.
    Close(Taken),
    Html(u16, Taken),
    /// The message is accepted, and the success does not contain its id.
    NoId,
}

/// Whether the message was accepted anyway, which the caller cannot know.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Taken {
    Yes,
    No,
}

impl Misbehaviour {
    pub(super) fn is_taken(&self) -> bool {
        match self {
            Self::Hang(taken) | Self::Reset(taken) | Self::Close(taken) | Self::Html(_, taken) => {
                *taken == Taken::Yes
            }
            Self::NoId => true,
            Self::Code(_) | Self::Throttled { .. } | Self::ResetUnread => false,
        }
    }

    pub fn parse(word: &str) -> Option<Self> {
        let (word, taken) = match word.strip_suffix("+taken") {
            Some(word) => (word, Taken::Yes),
            None => (word, Taken::No),
        };
        if let Some((code, seconds)) = word.split_once('@') {
            return Some(Self::Throttled {
                code: code.parse().ok()?,
                retry_after: seconds.parse().ok()?,
            });
        }
        Some(match word {
            "hang" => Self::Hang(taken),
            "reset-unread" => Self::ResetUnread,
            "reset" => Self::Reset(taken),
            "close" => Self::Close(taken),
            "html" => Self::Html(502, taken),
            "no-id" => Self::NoId,
            code => Self::Code(code.parse().ok()?),
        })
    }
}

/// The words that [`Misbehaviour::parse`] knows, as a help text.
pub const WORDS: &str = "\
CODE           the provider's error with this code
CODE@SECONDS   the same as 429 with Retry-After
hang           no answer               reset-unread   a reset before the request is read
reset          a reset after it        close          an end after it
html           502 with a page         no-id          a success without an id
hang, reset, close and html with +taken: the message is accepted anyway
";

#[derive(Default)]
pub(super) struct Plan(Mutex<VecDeque<Planned>>);

struct Planned {
    left: u32,
    what: Misbehaviour,
}

impl Plan {
    pub fn add(&self, times: u32, what: Misbehaviour) {
        locked(&self.0).push_back(Planned { left: times, what });
    }

    pub fn clear(&self) {
        locked(&self.0).clear();
    }

    /// Returns what happens to a send.
    pub fn next(&self) -> Option<Misbehaviour> {
        take(&mut locked(&self.0))
    }

    pub fn next_unread(&self) -> bool {
        let mut planned = locked(&self.0);
        let is_next = |planned: &Planned| planned.what == Misbehaviour::ResetUnread;
        planned.front().is_some_and(is_next) && take(&mut planned).is_some()
    }
}

fn take(planned: &mut VecDeque<Planned>) -> Option<Misbehaviour> {
    let next = planned.front_mut()?;
    let what = next.what.clone();
    next.left = next.left.saturating_sub(1);
    if next.left == 0 {
        planned.pop_front();
    }
    Some(what)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_plan_is_used_up_one_send_at_a_time() {
        let plan = Plan::default();
        plan.add(1, Misbehaviour::NoId);
        plan.add(2, Misbehaviour::Code(1));
        assert_eq!(plan.next(), Some(Misbehaviour::NoId));
        assert_eq!(plan.next(), Some(Misbehaviour::Code(1)));
        assert_eq!(plan.next(), Some(Misbehaviour::Code(1)));
        assert_eq!(plan.next(), None);
    }

    #[test]
    fn every_word_is_understood() {
        let check = |word: &str, expect: Option<Misbehaviour>| {
            assert_eq!(Misbehaviour::parse(word), expect, "{word}");
        };
        check("131056", Some(Misbehaviour::Code(131_056)));
        let later = Misbehaviour::Throttled {
            code: 4,
            retry_after: 30,
        };
        check("4@30", Some(later));
        check("hang", Some(Misbehaviour::Hang(Taken::No)));
        check("html+taken", Some(Misbehaviour::Html(502, Taken::Yes)));
        check("nonsense", None);
        for line in WORDS.lines() {
            let word = line.split_whitespace().next().expect("a word");
            let word = word
                .replace("CODE", "1")
                .replace("SECONDS", "1")
                .replace("hang,", "hang");
            assert!(Misbehaviour::parse(&word).is_some(), "{word}");
        }
    }
}
