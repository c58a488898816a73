//! The output of a converter: items, problems and failures.

use crate::{Conversion, Failure, Fetch, HttpRequest, Item, Lead, Outcome, Problem};

/// The most items or events of one delivery that a host accepts. A converter that
/// counts items before it creates them can refuse a hostile batch with a message,
/// instead of running out of memory.
pub const MAX_ITEMS: usize = 10_000;

impl Item {
    /// Returns an item with a lead.
    pub fn lead(lead: Lead) -> Self {
        Self::from_outcome(Outcome::Lead(lead))
    }

    /// There is nothing to do, for the given reason.
    pub fn ignored(why: impl Into<String>) -> Self {
        Self::from_outcome(Outcome::Ignored(why.into()))
    }

    /// This item cannot be read. The others of the delivery are not affected.
    pub fn invalid(message: impl Into<String>, path: impl Into<String>) -> Self {
        Self::from_outcome(Outcome::Invalid(Problem::new(message).at(path)))
    }

    /// The lead must be fetched. The id claims it at once, so that the source's
    /// repeats are duplicates. `complete` receives the state.
    pub fn fetch(
        external_id: Option<String>,
        request: HttpRequest,
        state: impl Into<Vec<u8>>,
    ) -> Self {
        Self::from_outcome(Outcome::Fetch(Fetch {
            external_id,
            request,
            state: state.into(),
        }))
    }

    /// Selects the connection of the item if one address serves several. Call it
    /// once for each name.
    pub fn route(mut self, name: &str, value: impl Into<String>) -> Self {
        self.route.push((name.into(), value.into()));
        self
    }

    fn from_outcome(outcome: Outcome) -> Self {
        Self {
            route: Vec::new(),
            outcome,
        }
    }
}

impl From<Vec<Item>> for Conversion {
    fn from(items: Vec<Item>) -> Self {
        Self {
            items,
            reply: None,
            notes: Vec::new(),
        }
    }
}

impl Conversion {
    /// Returns the conversion of a list: an invalid item without a place gets its index, if there are others.
    pub fn of_list(mut items: Vec<Item>) -> Self {
        let has_others = items.len() > 1;
        for (index, item) in items.iter_mut().enumerate() {
            if let Outcome::Invalid(problem) = &mut item.outcome
                && problem.path.is_empty()
                && has_others
            {
                problem.path = index.to_string();
            }
        }
        items.into()
    }

    /// Adds a line to the delivery's notes.
    pub fn note(mut self, line: impl Into<String>) -> Self {
        self.notes.push(line.into());
        self
    }
}

impl Problem {
    /// Returns a problem without a place. The message is for operators.
    pub fn new(message: impl Into<String>) -> Self {
        Self {
            message: message.into(),
            path: String::new(),
        }
    }

    /// Sets the place in the body: keys and indexes joined by dots.
    pub fn at(mut self, path: impl Into<String>) -> Self {
        self.path = path.into();
        self
    }
}

impl Failure {
    /// Retry later, and not before so many seconds if they are given.
    pub fn retry(message: impl Into<String>, after_seconds: Option<u32>) -> Self {
        Self {
            category: "retry".into(),
            message: message.into(),
            retry_after_seconds: after_seconds,
        }
    }

    /// The connection's credential or permission is wrong: none of its fetches can
    /// succeed until an operator fixes it.
    pub fn stop(message: impl Into<String>) -> Self {
        Self {
            category: "stop".into(),
            message: message.into(),
            retry_after_seconds: None,
        }
    }

    /// This item is lost.
    pub fn give_up(message: impl Into<String>) -> Self {
        Self {
            category: "give-up".into(),
            message: message.into(),
            retry_after_seconds: None,
        }
    }
}
