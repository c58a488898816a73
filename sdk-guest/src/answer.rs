//! Outcomes of a send. The category of a refusal decides what the host does, so each
//! category has a constructor.

use crate::text::present;
use crate::{Accepted, HttpRequest, Problem, Refused, SendAnswer, SendStep};

impl Accepted {
    /// The provider has accepted the message under that id.
    pub fn new(external_id: impl Into<String>) -> Self {
        Self {
            external_ids: vec![external_id.into()],
            recipient_id: None,
            status: "accepted".into(),
            attributes: Vec::new(),
        }
    }

    /// Adds an id under which statuses of the message may come.
    pub fn also_id(mut self, external_id: impl Into<Option<String>>) -> Self {
        if let Some(id) = present(external_id)
            && !self.external_ids.contains(&id)
        {
            self.external_ids.push(id);
        }
        self
    }

    /// The recipient as the provider names it.
    pub fn recipient_id(mut self, id: impl Into<Option<String>>) -> Self {
        self.recipient_id = present(id);
        self
    }

    /// Sets the state of the message: `accepted`, `held`, `sent` or `delivered`.
    pub fn status(mut self, status: &str) -> Self {
        self.status = status.into();
        self
    }
}

impl Refused {
    /// The parameters are wrong. Final.
    pub fn request(text: impl Into<String>) -> Self {
        Self::new("request", text)
    }

    /// The provider has no such template. Final.
    pub fn unknown_template(text: impl Into<String>) -> Self {
        Self::new("unknown-template", text)
    }

    /// The template is paused or rejected, or the parameters do not fit its text. Final.
    pub fn template(text: impl Into<String>) -> Self {
        Self::new("template", text)
    }

    /// The recipient cannot be reached. Final.
    pub fn recipient(text: impl Into<String>) -> Self {
        Self::new("recipient", text)
    }

    /// The contact wants no more messages. Final; the host sends it nothing more.
    pub fn opt_out(text: impl Into<String>) -> Self {
        Self::new("opt-out", text)
    }

    /// Only a reply to the recipient is allowed now. Final.
    pub fn window(text: impl Into<String>) -> Self {
        Self::new("window", text)
    }

    /// Too many messages to this recipient. Retried later.
    pub fn throttled_recipient(text: impl Into<String>) -> Self {
        Self::new("throttled-recipient", text)
    }

    /// Too many messages from this number. Retried later.
    pub fn throttled_number(text: impl Into<String>) -> Self {
        Self::new("throttled-number", text)
    }

    /// Too many messages or calls of this account. Retried later.
    pub fn throttled_account(text: impl Into<String>) -> Self {
        Self::new("throttled-account", text)
    }

    /// A fault of the provider, which has certainly not accepted the message.
    /// Retried later. If it may have, use [`SendAnswer::Unknown`].
    pub fn transient(text: impl Into<String>) -> Self {
        Self::new("transient", text)
    }

    /// The account is blocked or unpaid. The instance is paused, the message kept.
    pub fn account(text: impl Into<String>) -> Self {
        Self::new("account", text)
    }

    /// The token or a permission is wrong. The instance is paused, the message kept.
    pub fn connection(text: impl Into<String>) -> Self {
        Self::new("connection", text)
    }

    /// The instance's configuration cannot work, for example because of an invalid
    /// address. Only the operator can fix it, as with a token. A bare `?` would make
    /// it a fault of the request, which is final.
    pub fn misconfigured(problem: Problem) -> Self {
        Self::connection(problem.message)
    }

    /// A refusal of that class, with the text that the partner gets.
    pub fn new(category: &str, text: impl Into<String>) -> Self {
        Self {
            category: category.into(),
            code: String::new(),
            title: String::new(),
            text: text.into(),
            details: String::new(),
            retry_after_seconds: None,
        }
    }

    /// The provider's code, as text.
    pub fn code(mut self, code: impl Into<String>) -> Self {
        self.code = code.into();
        self
    }

    /// Sets the provider's short name of the error.
    pub fn title(mut self, title: impl Into<String>) -> Self {
        self.title = title.into();
        self
    }

    /// Sets the provider's further explanation.
    pub fn details(mut self, details: impl Into<String>) -> Self {
        self.details = details.into();
        self
    }

    /// Sets the shortest wait before a retry, in seconds. A response's value is
    /// [`HttpResponse::retry_after`](crate::HttpResponse::retry_after).
    pub fn retry_after(mut self, seconds: impl Into<Option<u32>>) -> Self {
        self.retry_after_seconds = seconds.into();
        self
    }
}

impl From<Accepted> for SendAnswer {
    fn from(accepted: Accepted) -> Self {
        Self::Accepted(accepted)
    }
}

impl From<Refused> for SendAnswer {
    fn from(refused: Refused) -> Self {
        Self::Refused(refused)
    }
}

impl From<Problem> for Refused {
    /// The partner's request cannot be composed.
    fn from(problem: Problem) -> Self {
        Self::request(problem.message)
    }
}

impl From<HttpRequest> for SendStep {
    fn from(request: HttpRequest) -> Self {
        Self::Call(request)
    }
}

impl From<SendAnswer> for SendStep {
    fn from(answer: SendAnswer) -> Self {
        Self::Answer(answer)
    }
}

impl From<Refused> for SendStep {
    fn from(refused: Refused) -> Self {
        Self::Answer(refused.into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn absent_and_repeated_ids_are_left_out() {
        let accepted = Accepted::new("a")
            .also_id("a".to_owned())
            .also_id(None)
            .also_id("b".to_owned())
            .recipient_id(" ".to_owned());
        assert_eq!(accepted.external_ids, ["a", "b"]);
        assert_eq!(accepted.recipient_id, None);
    }
}
