//! The words by which an operator accepts concerns about a version, so that it is activated all
//! the same.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::word::words;

words! {
    /// A word that accepts concerns: the word of a concern, or `all`.
    AcceptWord: "the accepted concern" {
        /// Differences on stored deliveries exceed the policy.
        Drift = "drift",
        NewPublisher = "new-publisher",
        /// The version carries fewer golden cases.
        FewerCases = "fewer-cases",
        /// Replies contain more secrets, or signatures by them.
        NewReplySlots = "new-reply-slots",
        NewKind = "new-kind",
        WeakerChecks = "weaker-checks",
        NewHosts = "new-hosts",
        NewSecrets = "new-secrets",
        Older = "older",
        /// Other content has the active version number.
        SameVersion = "same-version",
        /// The version was rolled back, and a rollback would restore it.
        RolledBack = "rolled-back",
        /// Every concern that can be accepted.
        All = "all",
    }
}

impl AcceptWord {
    pub fn parse(text: &str) -> Result<Self, UnknownAcceptWord> {
        let text = text.trim();
        text.parse().map_err(|_| UnknownAcceptWord(text.to_owned()))
    }

    /// Returns the words in the order of the alphabet, each once.
    pub fn in_order(words: impl IntoIterator<Item = Self>) -> Vec<Self> {
        let mut words: Vec<Self> = words.into_iter().collect();
        words.sort_unstable_by_key(|word| word.as_str());
        words.dedup();
        words
    }

    /// Returns whether the concern is that the version could do more than the one before it.
    pub fn is_widening(self) -> bool {
        match self {
            Self::NewReplySlots | Self::WeakerChecks | Self::NewHosts | Self::NewSecrets => true,
            Self::Drift
            | Self::NewPublisher
            | Self::FewerCases
            | Self::NewKind
            | Self::Older
            | Self::SameVersion
            | Self::RolledBack
            | Self::All => false,
        }
    }

    /// Returns whether only an administrator may accept it: it lets a version do more than the one
    /// before it, or lets another publisher take over a name.
    pub fn is_for_admins(self) -> bool {
        match self {
            Self::NewPublisher | Self::All => true,
            Self::Drift
            | Self::FewerCases
            | Self::NewReplySlots
            | Self::NewKind
            | Self::WeakerChecks
            | Self::NewHosts
            | Self::NewSecrets
            | Self::Older
            | Self::SameVersion
            | Self::RolledBack => self.is_widening(),
        }
    }
}

/// A text that is not an [`AcceptWord`]. The message lists the words.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` cannot be accepted; there are {list}", list = list())]
pub struct UnknownAcceptWord(String);

fn list() -> String {
    let words = AcceptWord::ALL.iter().map(|word| word.as_str());
    words.collect::<Vec<_>>().join(", ")
}

/// A change that an activation would bring and that no operator has accepted yet.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Concern {
    /// The word of `accept` that accepts it. Empty if it cannot be accepted.
    #[serde(with = "word_or_empty")]
    #[schema(value_type = String)]
    pub accept: Option<AcceptWord>,
    pub what: String,
}

impl Concern {
    pub fn new(accept: AcceptWord, what: String) -> Self {
        Self {
            accept: Some(accept),
            what,
        }
    }

    /// Returns whether the version could do more than the one before it.
    pub fn lets_do_more(&self) -> bool {
        self.accept.is_some_and(AcceptWord::is_widening)
    }
}

/// A word that may be missing, as a text that may be empty.
mod word_or_empty {
    use serde::de::Error as _;
    use serde::{Deserialize as _, Deserializer, Serializer};

    use super::AcceptWord;

    /// Writes the word, or an empty text.
    pub(super) fn serialize<S: Serializer>(
        word: &Option<AcceptWord>,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(word.map_or("", AcceptWord::as_str))
    }

    /// Reads a word, or an empty text.
    pub(super) fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<Option<AcceptWord>, D::Error> {
        match String::deserialize(deserializer)?.as_str() {
            "" => Ok(None),
            word => word.parse().map(Some).map_err(D::Error::custom),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_word_is_read_and_an_unknown_one_is_refused_with_the_list() {
        assert_eq!(AcceptWord::parse(" older "), Ok(AcceptWord::Older));
        let error = AcceptWord::parse("nosuch")
            .expect_err("unknown")
            .to_string();
        let expect = "`nosuch` cannot be accepted; there are drift, new-publisher, fewer-cases, \
                      new-reply-slots, new-kind, weaker-checks, new-hosts, new-secrets, older, \
                      same-version, rolled-back, all";
        assert_eq!(error, expect);
    }

    #[test]
    fn the_words_that_let_a_version_do_more_are_for_administrators() {
        let for_admins = AcceptWord::ALL.iter().filter(|word| word.is_for_admins());
        let for_admins: Vec<&str> = for_admins.map(|word| word.as_str()).collect();
        let expect = [
            "new-publisher",
            "new-reply-slots",
            "weaker-checks",
            "new-hosts",
            "new-secrets",
            "all",
        ];
        assert_eq!(for_admins, expect);
    }
}
