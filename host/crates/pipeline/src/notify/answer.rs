//! The outcome of a partner's notification.

use crate::send::{self, outgoing::Outgoing};
use leadhost_domain::channel::{Category, RefusedSend, SendAnswer};
use leadhost_domain::error_code::ErrorCode;
use leadhost_domain::id::{ConversationId, MessageId};
use leadhost_domain::message::MessageState;
use leadhost_telemetry::NotificationOutcome;

pub enum NotificationResult {
    /// The message was sent, is being sent, waits, or has an unknown outcome.
    Taken {
        conversation: ConversationId,
        message: MessageId,
        state: MessageState,
    },
    Failed {
        message: MessageId,
        code: ErrorCode,
        text: String,
        outcome: NotificationOutcome,
    },
    /// The template cannot be used; no message was stored.
    Template(ErrorCode, String),
}

impl NotificationResult {
    /// Returns the answer that follows from a message's state, for a repeated request whose first
    /// answer was not stored.
    pub fn from_state(
        conversation: ConversationId,
        message: MessageId,
        state: MessageState,
    ) -> Self {
        if state != MessageState::Failed {
            return Self::Taken {
                conversation,
                message,
                state,
            };
        }
        Self::Failed {
            message,
            code: ErrorCode::ProviderRefused,
            text: "The message has failed; the report message_errors says why.".to_owned(),
            outcome: NotificationOutcome::Failed,
        }
    }

    pub fn outcome(&self) -> NotificationOutcome {
        match self {
            Self::Taken { state, .. } => match state {
                MessageState::Waiting => NotificationOutcome::Waiting,
                MessageState::Unknown => NotificationOutcome::Unknown,
                MessageState::Sending => NotificationOutcome::Late,
                _ => NotificationOutcome::Accepted,
            },
            Self::Failed { outcome, .. } => *outcome,
            Self::Template(..) => NotificationOutcome::Template,
        }
    }
}

pub(super) fn answer_of(
    outgoing: &Outgoing,
    template: &str,
    said: &SendAnswer,
) -> NotificationResult {
    let message = outgoing.message;
    match said {
        SendAnswer::Refused(refused) if !refused.category.is_retryable() => {
            let (code, text) = match refused.category {
                Category::UnknownTemplate => (
                    ErrorCode::TemplateNotFound,
                    format!("Template '{template}' not found"),
                ),
                Category::Template => (
                    ErrorCode::TemplateUnusable,
                    format!("Template '{template}': {}", in_words(refused)),
                ),
                Category::OptOut => (ErrorCode::ContactOptedOut, in_words(refused)),
                _ => (ErrorCode::ProviderRefused, in_words(refused)),
            };
            NotificationResult::Failed {
                message,
                code,
                text,
                outcome: NotificationOutcome::Refused(refused.category),
            }
        }
        said => NotificationResult::Taken {
            conversation: outgoing.conversation,
            message,
            state: send::state_after(said),
        },
    }
}

fn in_words(refused: &RefusedSend) -> String {
    let text = [&refused.text, &refused.title, &refused.details]
        .into_iter()
        .find(|text| !text.is_empty());
    let text = text.map_or("The provider refuses the message", String::as_str);
    if refused.code.is_empty() {
        text.to_owned()
    } else {
        format!("{text} (code {})", refused.code)
    }
}
