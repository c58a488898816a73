//! Words the answer to a notification, in the form that is stored for repeated requests.

use crate::endpoints::prelude::*;
use crate::error::Family;
use leadhost_domain::id::ConversationId;
use leadhost_domain::message::MessageState;
use leadhost_pipeline::notify::NotificationResult;
use leadhost_store::StoredAnswer;

/// The answer to a notification that the service accepted.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct NotificationAnswer {
    /// Always true.
    success: bool,
    /// The conversation that was found or created.
    conversation_id: ConversationId,
}

pub fn stored(answer: &NotificationResult) -> StoredAnswer {
    let (status, body, message) = match answer {
        NotificationResult::Taken {
            conversation,
            message,
            state,
        } => {
            let body = NotificationAnswer {
                success: true,
                conversation_id: *conversation,
            };
            let body = serde_json::to_value(body).expect("an id is JSON");
            (StatusCode::OK, body, Some((message, *state)))
        }
        NotificationResult::Failed {
            message,
            code,
            text,
            ..
        } => {
            let (status, body) = failure(*code, text);
            (status, body, Some((message, MessageState::Failed)))
        }
        NotificationResult::Template(code, text) => {
            let (status, body) = failure(*code, text);
            (status, body, None)
        }
    };
    let headers = message.map_or_else(Vec::new, |(message, state)| {
        vec![
            ("x-message-id".to_owned(), message.to_string()),
            ("x-message-status".to_owned(), state.as_str().to_owned()),
        ]
    });
    StoredAnswer {
        status: status.as_u16(),
        headers,
        body: body.to_string(),
    }
}

fn failure(code: ErrorCode, text: &str) -> (StatusCode, Value) {
    let error = ApiError::coded(code, text);
    (error.outside().0, error.body(Family::Notification))
}

#[cfg(test)]
mod tests {
    use super::*;
    use leadhost_domain::id::MessageId;

    #[test]
    fn an_answer_is_stored_as_it_is_sent() {
        let (conversation, message) = (ConversationId::new(Micros(0)), MessageId::new(Micros(0)));
        let taken = stored(&NotificationResult::from_state(
            conversation,
            message,
            MessageState::Delivered,
        ));
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
        let failed = stored(&NotificationResult::from_state(
            conversation,
            message,
            MessageState::Failed,
        ));
        assert_eq!(failed.status, 400);
        let body: serde_json::Value = serde_json::from_str(&failed.body).expect("JSON");
        assert_eq!(body["success"], false);
        assert_eq!(body["statusCode"], 400);
        let unknown = stored(&NotificationResult::Template(
            ErrorCode::TemplateNotFound,
            "Template 'x' not found".to_owned(),
        ));
        assert_eq!((unknown.status, unknown.headers.len()), (500, 0));
    }
}
