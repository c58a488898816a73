//! Reads and checks a notification, passes it to the pipeline, and answers with the outcome.

use std::time::Instant;

use super::instance;
use super::{
    answer::{self, NotificationAnswer},
    body, schema,
};
use crate::endpoints::prelude::*;
use crate::error::Family;
use crate::idempotency::{self, IdempotencyHeader};
use crate::json;
use crate::terms::named;
use crate::zod;
use leadhost_pipeline::notify::{self, NotifyOutcome, Request};
use leadhost_telemetry::NotificationOutcome;
use leadhost_trace::{self as trace, SpanKind};

describe!(send, |mut operation| {
    for (name, written) in schema::formats().into_iter().chain(schema::template()) {
        operation.written(name, written);
    }
    let body = json!({"oneOf": schema::formats().map(|(name, _)| named(name))});
    let refusal = |code, message: &str| ApiError::coded(code, message).body(Family::Notification);
    let under_way = ApiError::UnderWay {
        retry_after: Duration::from_secs(1),
    };
    operation
        .summary("Sends a template message to a contact")
        .describe(
            "Finds or begins the contact's conversation with the instance and sends the template in it. \
             200 means that the message is stored: it is with the provider, or will be. Its outcome is in \
             `X-Message-Status` and, if it fails later, in the report `message_errors`.",
        )
        .idempotency_key()
        .takes_schema(&body, &schema::examples())
        .answers::<NotificationAnswer>(200, "The message is on its way.")
        .header(200, "X-Message-Id", "MessageId")
        .header(200, "X-Message-Status", "MessageStatus")
        .header(200, "Idempotency-Replayed", "IdempotencyReplayed")
        .refuses_with(
            400,
            "The notification is invalid, its instance is unknown, or the provider refuses the message because of its recipient.",
            &[
                (
                    "issues",
                    "A field is missing",
                    refusal(ErrorCode::ValidationFailed, r#"[{"code":"invalid_type","expected":"string","received":"undefined","path":["phoneNumber"],"message":"Required"}]"#),
                ),
                ("instance", "An unknown instance", refusal(ErrorCode::InstanceNotFound, "Instance not found")),
            ],
        )
        .header(400, "X-Message-Id", "MessageId")
        .header(400, "X-Message-Status", "MessageStatus")
        .refuses_with(
            409,
            "The first request with this Idempotency-Key is still under way.",
            &[("underWay", "Still under way", under_way.body(Family::Notification))],
        )
        .header(409, "Retry-After", "RetryAfter")
        .refuses(&[422])
        .refuses_with(
            500,
            "The template is unknown or differs from the provider's, or the service failed on this request.",
            &[("template", "An unknown template", refusal(ErrorCode::TemplateNotFound, "Template 'autumn_offer' not found"))],
        )
        .header(500, "X-Message-Id", "MessageId")
        .header(500, "X-Message-Status", "MessageStatus")
});
pub async fn send(call: &Call<'_>, caller: &PartnerCaller, unread: UnreadBody) -> ApiResult {
    let http = call.http;
    let received = Instant::now();
    let key = IdempotencyHeader::from_call(call)?;
    let (value, held) = json::read(call, unread).await?;
    let finding = trace::span("find recipient", SpanKind::Internal);
    let (read, mut issues) = zod::read(&value, body::read);
    let read = read.unwrap_or_default();
    let (named, phone) = (read.instance, read.phone_number.as_deref());
    let addressed = instance::addressed(call, caller, named, phone, &mut issues);
    let (live, phone) = finding.run(addressed).await?;
    drop(finding);
    let (Some(message), Some(phone), true) = (read.message, phone, issues.is_empty()) else {
        http.core
            .metrics
            .messaging
            .notification(NotificationOutcome::Invalid);
        return Err(zod::issue::invalid(&issues));
    };
    let Some((live, channel)) = live.and_then(|live| {
        let channel = live.channel()?;
        Some((live, channel))
    }) else {
        http.core
            .metrics
            .messaging
            .notification(NotificationOutcome::NoInstance);
        if let Some(id) = named {
            instance::log_reason(call, caller, id).await?;
        }
        return Err(instance::not_found());
    };
    let claim = key.map(|key| key.claim(call, caller, call.name, "", &value));
    let request = Request {
        by: caller.partner().id,
        live,
        channel,
        phone,
        details: message.details,
        template: message.template,
        claim,
        received,
        word: answer::stored,
    };

    // From here on the message is sent even if the partner hangs up.
    let work = call.to_end(|http| async move {
        let outcome = notify::notify(&http.pipeline, request).await;
        drop(held);
        outcome
    });
    match work.await?? {
        NotifyOutcome::Answer { answer, replayed } => {
            idempotency::stored_reply(call, answer, replayed)
        }
        NotifyOutcome::Misfit(misfits) => {
            Err(zod::issue::invalid(&body::misfits(&value, &misfits)))
        }
        NotifyOutcome::Banned => Err(body::banned()),
        NotifyOutcome::KeyReused => Err(idempotency::reused()),
        NotifyOutcome::Running => Err(ApiError::UnderWay {
            retry_after: Duration::from_secs(1),
        }),
    }
}
