//! A concern about a version, and the words by which operators accept it.

use crate::prelude::*;
use leadhost_domain::accept::AcceptWord;
pub use leadhost_domain::accept::Concern;
use leadhost_domain::publisher::Publisher;

/// The origin of a component that `leadhost plugin publish FILE` sends.
pub const UPLOAD: &str = "upload";

#[derive(Clone, Debug, Default)]
pub struct AcceptedWords {
    pub words: BTreeSet<AcceptWord>,
}

impl AcceptedWords {
    pub fn words(&self) -> impl Iterator<Item = AcceptWord> {
        self.words.iter().copied()
    }

    /// Returns an accepted word that only an administrator may accept, if there is one; of several
    /// the first in the alphabet.
    pub fn for_admins(&self) -> Option<AcceptWord> {
        let words = self
            .words
            .iter()
            .copied()
            .filter(|word| word.is_for_admins());
        words.min_by_key(|word| word.as_str())
    }

    pub fn has(&self, concern: &Concern) -> bool {
        let is_among = |word: AcceptWord| self.words.contains(&word);
        concern
            .accept
            .is_some_and(|word| is_among(word) || is_among(AcceptWord::All))
    }
}

impl FromIterator<AcceptWord> for AcceptedWords {
    fn from_iter<I: IntoIterator<Item = AcceptWord>>(words: I) -> Self {
        Self {
            words: words.into_iter().collect(),
        }
    }
}

pub fn describe(concerns: &[Concern]) -> String {
    let line = |concern: &Concern| match concern.accept {
        None => concern.what.clone(),
        Some(word) => format!("{} (accept with --accept {word})", concern.what),
    };
    concerns.iter().map(line).collect::<Vec<_>>().join("; ")
}

/// Returns the publisher as a person knows it: an admin key with its label.
pub async fn with_label(pipeline: &Pipeline, publisher: &Publisher) -> Result<String, StoreError> {
    let Publisher::AdminKey(id) = publisher else {
        return Ok(publisher.to_string());
    };
    let keys = pipeline.store.keys(None).await?;
    let key = keys.into_iter().find(|key| key.id == *id);
    let label = key.map(|key| key.label).filter(|label| !label.is_empty());
    Ok(match label {
        Some(label) => format!("{publisher} ({label})"),
        None => publisher.to_string(),
    })
}
