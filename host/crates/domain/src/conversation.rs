//! A conversation: the messages between one contact and one instance, from the first to its
//! end. At most one is open for each pair.

use super::time::Micros;
use super::word::words;

words! {
    /// The status of a conversation, as exported. It is derived from its times.
    ConversationStatus: "the status of a conversation" {
        /// The channel has not accepted a message yet, and none came in.
        Pending = "pending",
        /// A message went out; the contact has not answered.
        Open = "open",
        Answered = "answered",
        NoResponse = "no_response",
        /// Handed to people.
        Transferred = "transferred",
        Closed = "closed",
    }
}

/// The times from which the status is derived.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Times {
    pub first_message_at: Option<Micros>,
    pub answered_at: Option<Micros>,
    pub no_response_at: Option<Micros>,
    pub transferred_at: Option<Micros>,
    pub closed_at: Option<Micros>,
}

pub fn status(times: Times) -> ConversationStatus {
    [
        (times.closed_at, ConversationStatus::Closed),
        (times.transferred_at, ConversationStatus::Transferred),
        (times.no_response_at, ConversationStatus::NoResponse),
        (times.answered_at, ConversationStatus::Answered),
        (times.first_message_at, ConversationStatus::Open),
    ]
    .into_iter()
    .find_map(|(at, status)| at.and(Some(status)))
    .unwrap_or(ConversationStatus::Pending)
}

/// The key in `props` for the instructions that a notification gave to the assistant.
pub const SPECIAL_INSTRUCTIONS: &str = "specialInstructions";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_status_is_derived_from_the_times() {
        let at = Some(Micros(1));
        let mut times = Times::default();
        assert_eq!(status(times), ConversationStatus::Pending);
        times.first_message_at = at;
        assert_eq!(status(times), ConversationStatus::Open);
        times.answered_at = at;
        assert_eq!(status(times), ConversationStatus::Answered);
        times.no_response_at = at;
        assert_eq!(status(times), ConversationStatus::NoResponse);
        times.transferred_at = at;
        assert_eq!(status(times), ConversationStatus::Transferred);
        times.closed_at = at;
        assert_eq!(status(times), ConversationStatus::Closed);
    }
}
