//! A conversation: what one contact and one instance say to each other, from
//! the first message to its end. At most one is open for the two at a time.

use super::time::Micros;

/// How far a conversation is, as exported. It follows from its times.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Status {
    /// Nothing was accepted by the channel yet, and nothing came in.
    Pending,
    /// A message went out; the contact has not answered.
    Open,
    Answered,
    NoResponse,
    /// People have it.
    Transferred,
    Closed,
}

impl Status {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Pending => "pending",
            Self::Open => "open",
            Self::Answered => "answered",
            Self::NoResponse => "no_response",
            Self::Transferred => "transferred",
            Self::Closed => "closed",
        }
    }
}

/// The times that a conversation's status follows from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Times {
    pub first_message_at: Option<Micros>,
    pub answered_at: Option<Micros>,
    pub no_response_at: Option<Micros>,
    pub transferred_at: Option<Micros>,
    pub closed_at: Option<Micros>,
}

/// What came last in the life of a conversation counts first.
pub fn status(times: Times) -> Status {
    [
        (times.closed_at, Status::Closed),
        (times.transferred_at, Status::Transferred),
        (times.no_response_at, Status::NoResponse),
        (times.answered_at, Status::Answered),
        (times.first_message_at, Status::Open),
    ]
    .into_iter()
    .find_map(|(at, status)| at.and(Some(status)))
    .unwrap_or(Status::Pending)
}

/// The key of `props` with the words for the assistant that the notification gave.
pub const SPECIAL_INSTRUCTIONS: &str = "specialInstructions";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_status_follows_from_the_times() {
        let at = Some(Micros(1));
        let mut times = Times::default();
        assert_eq!(status(times), Status::Pending);
        times.first_message_at = at;
        assert_eq!(status(times), Status::Open);
        times.answered_at = at;
        assert_eq!(status(times), Status::Answered);
        times.no_response_at = at;
        assert_eq!(status(times), Status::NoResponse);
        times.transferred_at = at;
        assert_eq!(status(times), Status::Transferred);
        times.closed_at = at;
        assert_eq!(status(times), Status::Closed);
    }
}
