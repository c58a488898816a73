//! Reads and checks a notification, passes it to the pipeline, and answers with the outcome.

use std::sync::Arc;
use std::time::{Duration, Instant};

use super::instance;
use super::{answer, body};
use crate::auth::PartnerCaller;
use crate::body::UnreadBody;
use crate::call::Call;
use crate::error::ApiError;
use crate::idempotency::{self, IdempotencyHeader};
use crate::json;
use crate::reply::ApiResponse;
use crate::route::PartnerRoute;
use crate::zod;
use leadhost_pipeline::notify::{self, NotifyOutcome, Request};
use leadhost_telemetry::NotificationOutcome;
use leadhost_trace::{self as trace, SpanKind};

/// Answers `POST /send-notification`.
pub async fn run(
    call: &Call<'_>,
    caller: &PartnerCaller,
    unread: UnreadBody,
) -> Result<ApiResponse, ApiError> {
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
    let route = PartnerRoute::SendNotification.name();
    let claim = key.map(|key| key.claim(call, caller, route, "", &value));
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
    let pipeline = Arc::clone(&http.pipeline);
    let work = http.core.spawn(async move {
        let outcome = notify::notify(&pipeline, request).await;
        drop(held);
        outcome
    });
    match work.await.map_err(ApiError::internal)?? {
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
