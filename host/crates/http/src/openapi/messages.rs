//! `POST /send-notification`.

use std::time::Duration;

use serde_json::{Value, json};

use super::operation::{Operation, Parameter};
use super::schemas::Schemas;
use crate::endpoints::notifications::answer::NotificationAnswer;
use crate::endpoints::notifications::schema;
use crate::error::{ApiError, Family};
use crate::route::Access;
use crate::terms::{named, pattern};
use leadhost_domain::error_code::ErrorCode;
use leadhost_domain::limits;

/// Returns the operations of `/send-notification`, and adds their types to `schemas`.
pub fn operations(schemas: &mut Schemas) -> Vec<Operation> {
    for (name, written) in schema::formats() {
        schemas.written(name, written);
    }
    for (name, written) in schema::template() {
        schemas.written(name, written);
    }
    let body = json!({"oneOf": schema::formats().map(|(name, _)| named(name))});
    let answer = schemas.answer::<NotificationAnswer>();
    let operation = Operation::new(
        "post",
        "/send-notification",
        Family::Notification,
        Access::PartnerKey,
    )
    .named(
        "sendNotification",
        "messages",
        "Sends a template message to a contact",
    )
    .describe(
        "Finds or begins the contact's conversation with the instance and sends the template in it. \
         200 means that the message is stored: it is with the provider, or will be. Its outcome is in \
         `X-Message-Status` and, if it fails later, in the report `message_errors`.",
    )
    .parameter(idempotency_key())
    .takes(&body, &schema::examples())
    .answers(
        200,
        "The message is on its way.",
        &answer,
        &[(
            "taken",
            "The message is on its way",
            json!({"success": true, "conversationId": "019cae2b-3f62-7d43-9b21-7e5f4a3b2c99"}),
        )],
    )
    .header(200, "X-Message-Id", "MessageId")
    .header(200, "X-Message-Status", "MessageStatus")
    .header(200, "Idempotency-Replayed", "IdempotencyReplayed")
    .refuses_with(
        400,
        "The notification is invalid, its instance is unknown, or the provider refuses the message because of its recipient.",
        &refusals(),
    )
    .header(400, "X-Message-Id", "MessageId")
    .header(400, "X-Message-Status", "MessageStatus")
    .refuses_with(409, UNDER_WAY, &[under_way()])
    .header(409, "Retry-After", "RetryAfter")
    .refuses(&[422])
    .refuses_with(
        500,
        "The template is unknown or differs from the provider's, or the service failed on this request.",
        &[(
            "template",
            "An unknown template",
            refusal(ErrorCode::TemplateNotFound, "Template 'autumn_offer' not found"),
        )],
    )
    .header(500, "X-Message-Id", "MessageId")
    .header(500, "X-Message-Status", "MessageStatus");
    vec![operation]
}

const UNDER_WAY: &str = "The first request with this Idempotency-Key is still under way.";

fn under_way() -> (&'static str, &'static str, Value) {
    let error = ApiError::UnderWay {
        retry_after: Duration::from_secs(1),
    };
    let body = error.body(Family::Notification);
    ("underWay", "Still under way", body)
}

fn refusals() -> [(&'static str, &'static str, Value); 2] {
    let issues = r#"[{"code":"invalid_type","expected":"string","received":"undefined","path":["phoneNumber"],"message":"Required"}]"#;
    [
        (
            "issues",
            "A field is missing",
            refusal(ErrorCode::ValidationFailed, issues),
        ),
        (
            "instance",
            "An unknown instance",
            refusal(ErrorCode::InstanceNotFound, "Instance not found"),
        ),
    ]
}

fn refusal(code: ErrorCode, message: &str) -> Value {
    ApiError::coded(code, message).body(Family::Notification)
}

/// Describes the `Idempotency-Key` header, for operations that must not run twice.
pub fn idempotency_key() -> Parameter {
    let schema = pattern(
        &format!("^[!-~]{{1,{}}}$", limits::IDEMPOTENCY_KEY_CHARACTERS),
        "",
    );
    Parameter::header(
        "Idempotency-Key",
        schema,
        "Identifies the request. A repeat with the same body within 72 hours gets the first answer and has no second effect.",
    )
}
