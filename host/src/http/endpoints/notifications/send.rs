//! Reads and checks a notification, hands it to the pipeline, and tells what
//! came of it.

use std::sync::Arc;
use std::time::Instant;

use super::body::{self, Draft};
use super::instance;
use crate::domain::phone;
use crate::http::auth::PartnerCaller;
use crate::http::body::Unread;
use crate::http::call::Call;
use crate::http::error::ApiError;
use crate::http::idempotency::{self, Key};
use crate::http::json;
use crate::http::reply::Reply;
use crate::http::route::PartnerRoute;
use crate::http::zod;
use crate::pipeline::connections::Live;
use crate::pipeline::notify::{self, Notice, Told};
use crate::store::IdempotencyClaim;

pub async fn run(
    call: &Call<'_>,
    caller: &PartnerCaller,
    unread: Unread,
) -> Result<Reply, ApiError> {
    let http = call.http;
    let received = Instant::now();
    let key = Key::of(call)?;
    let (value, held) = json::read(call, unread).await?;
    let (draft, mut issues) = zod::read(&value, body::read);
    let named = draft.as_ref().and_then(|draft| draft.instance);
    let phone = draft
        .as_ref()
        .and_then(|draft| draft.phone_number.as_deref());
    let (live, phone) = instance::addressed(call, caller, named, phone, &mut issues).await?;
    let (Some(draft), Some(phone), true) = (draft, phone, issues.is_empty()) else {
        http.core.metrics.notification("invalid");
        return Err(zod::invalid(&issues));
    };
    let Some((live, channel)) = live.and_then(|live| {
        let channel = live.channel()?;
        Some((live, channel))
    }) else {
        http.core.metrics.notification("no_instance");
        if let Some(id) = draft.instance {
            instance::tell_why(call, caller, id).await?;
        }
        return Err(instance::not_found());
    };
    let route = PartnerRoute::SendNotification.name();
    let claim = key.map(|key| key.claim(call, caller, route, "", &value));
    let notice = notice(draft, phone, live, channel, claim, received);

    // From here on the message goes its way even when the partner hangs up.
    let task_app = Arc::clone(http);
    let work = http.core.spawn(async move {
        let told = notify::notify(&task_app.pipeline, notice).await;
        drop(held);
        told
    });
    match work.await.map_err(ApiError::internal)?? {
        Told::Answer { answer, replayed } => idempotency::as_told(call, answer, replayed),
        Told::Misfit(misfits) => Err(zod::invalid(&body::misfits(&value, &misfits))),
        Told::Banned => Err(body::banned()),
        Told::KeyReused => Err(idempotency::reused()),
        Told::Running => Err(ApiError::UnderWay { retry_after: 1 }),
    }
}

fn notice(
    draft: Draft,
    phone: phone::Phone,
    live: Arc<Live>,
    channel: crate::store::Channel,
    claim: Option<IdempotencyClaim>,
    received: Instant,
) -> Notice {
    let read = "what is required was read, or there is an issue";
    Notice {
        live,
        channel,
        name: draft.name.expect(read),
        phone,
        email: draft.email,
        source: draft.source.expect(read),
        transfer: draft.transfer,
        special_instructions: draft.special_instructions,
        template: draft.template.expect(read),
        claim,
        received,
    }
}
