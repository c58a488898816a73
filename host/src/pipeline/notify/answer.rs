//! The answer to a partner's notification, in the form that is stored for repeated requests.

use serde::Serialize;
use serde_json::json;
use utoipa::ToSchema;

use crate::domain::channel::{Category, Refused, SendAnswer};
use crate::domain::id::{ConversationId, MessageId};
use crate::domain::message::State;
use crate::pipeline::send::{self, Outgoing};
use crate::store::StoredAnswer;
use crate::telemetry::Notified;

/// The answer to a notification that the service accepted.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct NotificationAnswer {
    /// Always true.
    success: bool,
    /// The conversation that was found or created.
    conversation_id: ConversationId,
}

pub enum Answer {
    /// The message was sent, is being sent, waits, or has an unknown outcome.
    Taken {
        conversation: ConversationId,
        message: MessageId,
        state: State,
    },
    /// The message failed, with the reason for the partner.
    Failed {
        message: MessageId,
        /// 400, or 500 if the template is the cause.
        status: u16,
        text: String,
        outcome: Notified,
    },
    /// The template cannot be used; no message was stored.
    Template(String),
}

impl Answer {
    /// Returns the answer that follows from a message's state, for a repeated request whose first
    /// answer was not stored.
    pub fn of_state(conversation: ConversationId, message: MessageId, state: State) -> Self {
        if state != State::Failed {
            return Self::Taken {
                conversation,
                message,
                state,
            };
        }
        Self::Failed {
            message,
            status: 400,
            text: "The message has failed; the report message_errors says why.".to_owned(),
            outcome: Notified::Failed,
        }
    }

    /// Returns the outcome for metrics.
    pub fn outcome(&self) -> Notified {
        match self {
            Self::Taken { state, .. } => match state {
                State::Waiting => Notified::Waiting,
                State::Unknown => Notified::Unknown,
                State::Sending => Notified::Late,
                _ => Notified::Accepted,
            },
            Self::Failed { outcome, .. } => *outcome,
            Self::Template(_) => Notified::Template,
        }
    }

    /// Returns the answer in the form that is stored under its idempotency key.
    pub fn stored(&self) -> StoredAnswer {
        let (status, body, message) = match self {
            Self::Taken {
                conversation,
                message,
                state,
            } => {
                let body = NotificationAnswer {
                    success: true,
                    conversation_id: *conversation,
                };
                let body = serde_json::to_value(body).expect("an id is JSON");
                (200, body, Some((message, *state)))
            }
            Self::Failed {
                message,
                status,
                text,
                ..
            } => {
                let body = failure(*status, text);
                (*status, body, Some((message, State::Failed)))
            }
            Self::Template(text) => (500, failure(500, text), None),
        };
        let headers = message.map_or_else(Vec::new, |(message, state)| {
            vec![
                ("x-message-id".to_owned(), message.to_string()),
                ("x-message-status".to_owned(), state.as_str().to_owned()),
            ]
        });
        StoredAnswer {
            status,
            headers,
            body: body.to_string(),
        }
    }
}

fn failure(status: u16, text: &str) -> serde_json::Value {
    json!({"success": false, "statusCode": status, "message": text})
}

/// Returns the partner's answer for a provider's answer.
pub(super) fn answer_of(outgoing: &Outgoing, template: &str, said: &SendAnswer) -> Answer {
    let message = outgoing.message;
    match said {
        SendAnswer::Refused(refused) if !refused.category.is_kept() => {
            let (status, text) = match refused.category {
                Category::UnknownTemplate => (500, format!("Template '{template}' not found")),
                Category::Template => {
                    (500, format!("Template '{template}': {}", in_words(refused)))
                }
                _ => (400, in_words(refused)),
            };
            Answer::Failed {
                message,
                status,
                text,
                outcome: Notified::Refused(refused.category),
            }
        }
        said => Answer::Taken {
            conversation: outgoing.conversation,
            message,
            state: send::state_after(said),
        },
    }
}

fn in_words(refused: &Refused) -> String {
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::time::Micros;

    #[test]
    fn an_answer_is_stored_as_it_is_sent() {
        let (conversation, message) = (ConversationId::new(Micros(0)), MessageId::new(Micros(0)));
        let taken = Answer::of_state(conversation, message, State::Delivered).stored();
        assert_eq!(taken.status, 200);
        assert_eq!(
            taken.headers,
            [
                ("x-message-id".to_owned(), message.to_string()),
                ("x-message-status".to_owned(), "delivered".to_owned()),
            ]
        );
        let body: serde_json::Value = serde_json::from_str(&taken.body).expect("JSON");
        assert_eq!(
            body,
            json!({"success": true, "conversationId": conversation.to_string()})
        );
        let failed = Answer::of_state(conversation, message, State::Failed).stored();
        assert_eq!(failed.status, 400);
        let body: serde_json::Value = serde_json::from_str(&failed.body).expect("JSON");
        assert_eq!(body["success"], false);
        assert_eq!(body["statusCode"], 400);
        let unknown = Answer::Template("Template 'x' not found".to_owned()).stored();
        assert_eq!((unknown.status, unknown.headers.len()), (500, 0));
    }
}
