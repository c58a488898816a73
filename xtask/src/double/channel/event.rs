//! Events of the phones, and how a double sends them: one by one or in batches,
//! in any order.

use std::hash::{DefaultHasher, Hash as _, Hasher as _};

#[derive(Clone, Debug)]
pub enum Event {
    Status(Status),
    Inbound(Inbound),
    /// An event of this provider only: the name of the changed field, and its
    /// value as JSON text.
    Change {
        field: String,
        value: String,
    },
}

impl Event {
    pub(super) fn date(&mut self, now: u64) {
        match self {
            Self::Status(status) => status.at.get_or_insert(now),
            Self::Inbound(inbound) => inbound.at.get_or_insert(now),
            Self::Change { .. } => return,
        };
    }

    pub(super) fn callback(&self) -> Option<&str> {
        match self {
            Self::Status(status) => status.callback.as_deref(),
            Self::Inbound(_) | Self::Change { .. } => None,
        }
    }
}

impl From<Status> for Event {
    fn from(status: Status) -> Self {
        Self::Status(status)
    }
}

impl From<Inbound> for Event {
    fn from(inbound: Inbound) -> Self {
        Self::Inbound(inbound)
    }
}

#[derive(Clone, Debug, Default)]
pub struct Status {
    pub id: String,
    pub word: String,
    pub at: Option<u64>,
    pub recipient: Option<String>,
    /// The sender's own text.
    pub opaque: Option<String>,
    pub errors: Vec<u32>,
    pub callback: Option<String>,
}

impl Status {
    /// Returns a status of any message, including an unknown one.
    pub fn new(id: &str, word: &str) -> Self {
        Self {
            id: id.to_owned(),
            word: word.to_owned(),
            ..Self::default()
        }
    }

    pub fn at(mut self, seconds: u64) -> Self {
        self.at = Some(seconds);
        self
    }

    pub fn errors(mut self, codes: &[u32]) -> Self {
        self.errors = codes.to_vec();
        self
    }

    /// Without the sender's own text, as if the sender gave none.
    pub fn without_opaque(mut self) -> Self {
        self.opaque = None;
        self
    }
}

#[derive(Clone, Debug, Default)]
pub struct Inbound {
    pub sender: String,
    pub name: String,
    /// The provider's id; `None`: one is derived from the time and the sender.
    pub id: Option<String>,
    pub at: Option<u64>,
    pub text: String,
    /// The payload of the pressed button; the text is the button's words.
    pub payload: Option<String>,
    /// The message that this one answers.
    pub answers: Option<String>,
}

impl Inbound {
    pub fn text(sender: &str, text: &str) -> Self {
        Self {
            sender: sender.to_owned(),
            name: "Ilda Prates".to_owned(),
            text: text.to_owned(),
            ..Self::default()
        }
    }

    pub fn button(sender: &str, words: &str, payload: &str) -> Self {
        Self {
            payload: Some(payload.to_owned()),
            ..Self::text(sender, words)
        }
    }

    pub fn id(mut self, id: &str) -> Self {
        self.id = Some(id.to_owned());
        self
    }

    pub fn at(mut self, seconds: u64) -> Self {
        self.at = Some(seconds);
        self
    }

    pub fn answering(mut self, id: &str) -> Self {
        self.answers = Some(id.to_owned());
        self
    }

    pub(crate) fn id_or(&self, prefix: &str) -> String {
        let made = || {
            let mut hasher = DefaultHasher::new();
            (&self.sender, self.at, &self.text).hash(&mut hasher);
            format!("{prefix}{:032x}", hasher.finish())
        };
        self.id.clone().unwrap_or_else(made)
    }
}

#[derive(Clone, Debug)]
pub struct Flush {
    /// The number of events in a request, if the provider batches events.
    pub batch: usize,
    /// The seed of another order than the queue's.
    pub shuffled: Option<u64>,
}

impl Default for Flush {
    fn default() -> Self {
        Self {
            batch: 1,
            shuffled: None,
        }
    }
}

impl Flush {
    /// Sends up to this many events in a request, at most the provider's limit.
    pub fn batches(mut self, of: usize) -> Self {
        self.batch = of;
        self
    }

    pub fn shuffled(mut self, seed: u64) -> Self {
        self.shuffled = Some(seed);
        self
    }

    pub(super) fn arrange(&self, mut events: Vec<Event>, most: usize) -> Vec<Vec<Event>> {
        if let Some(seed) = self.shuffled {
            shuffle(&mut events, seed);
        }
        let size = self.batch.clamp(1, most);
        events.chunks(size).map(<[Event]>::to_vec).collect()
    }
}

/// Fisher-Yates, with a xorshift generator.
fn shuffle<T>(items: &mut [T], seed: u64) {
    let mut state = seed | 1;
    for at in (1..items.len()).rev() {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        let other = usize::try_from(state % (at as u64 + 1)).expect("an index fits");
        items.swap(at, other);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_come_in_batches_or_in_another_order_and_none_is_lost() {
        let arranged = |flush: Flush, most| {
            let events = ["a", "b", "c"].map(|id| Status::new(id, "sent").into());
            let batches = flush.arrange(events.to_vec(), most);
            let id = |event: Event| match event {
                Event::Status(status) => status.id,
                Event::Inbound(_) | Event::Change { .. } => panic!("only statuses here"),
            };
            let ids = |batch: Vec<Event>| batch.into_iter().map(id).collect::<Vec<_>>();
            batches.into_iter().map(ids).collect::<Vec<_>>()
        };
        let all = || Flush::default().batches(9);
        assert_eq!(arranged(Flush::default(), 1000), [["a"], ["b"], ["c"]]);
        assert_eq!(arranged(all(), 1000), [["a", "b", "c"]]);
        assert_eq!(arranged(all(), 1).len(), 3, "the provider takes one");
        let mut shuffled = arranged(all().shuffled(5), 9);
        assert_eq!(shuffled, arranged(all().shuffled(5), 9));
        shuffled[0].sort_unstable();
        assert_eq!(shuffled, [["a", "b", "c"]]);
    }
}
