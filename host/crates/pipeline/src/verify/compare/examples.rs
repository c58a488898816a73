//! The differences of one kind: their number, and a few masked examples of them.

use serde::{Deserialize, Serialize};

use super::subject::{ComparedSubject, Subject};
use leadhost_domain::id::ConnectionId;
use leadhost_domain::limits;

/// One difference, masked.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Example {
    /// Stored as `delivery` or `message`.
    #[serde(flatten)]
    pub subject: Subject,
    pub connection: ConnectionId,
    pub before: Option<String>,
    pub after: Option<String>,
}

/// Differences of one kind.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct DifferenceGroup {
    pub count: u64,
    pub examples: Vec<Example>,
}

impl DifferenceGroup {
    /// Counts a difference, with an example as long as there are few. The values are masked.
    pub(super) fn add(
        &mut self,
        compared: &ComparedSubject<'_>,
        before: Option<String>,
        after: Option<String>,
    ) {
        self.count += 1;
        if self.examples.len() < limits::VERIFY_EXAMPLES {
            self.examples.push(Example {
                subject: compared.subject,
                connection: compared.connection.clone(),
                before,
                after,
            });
        }
    }

    /// Adds the differences of another sum, with its examples as long as there are few.
    pub(super) fn merge(&mut self, other: Self) {
        self.count += other.count;
        let room = limits::VERIFY_EXAMPLES.saturating_sub(self.examples.len());
        self.examples.extend(other.examples.into_iter().take(room));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use leadhost_domain::id::{DeliveryId, MessageId};
    use leadhost_domain::time::Micros;

    #[test]
    fn an_example_is_stored_with_the_kind_of_its_subject() {
        let example = |subject| Example {
            subject,
            connection: ConnectionId::generate(),
            before: None,
            after: Some("x".to_owned()),
        };
        for (subject, key) in [
            (Subject::Delivery(DeliveryId::new(Micros(0))), "delivery"),
            (Subject::Message(MessageId::new(Micros(0))), "message"),
        ] {
            let example = example(subject);
            let stored = serde_json::to_value(&example).expect("it is JSON");
            assert!(stored[key].is_string(), "{stored}");
            let read: Example = serde_json::from_value(stored).expect("it is read");
            assert_eq!(read, example);
        }
    }
}
