//! `POST /deal`: a deal that a partner makes, for somebody known or new, and with
//! a template the conversation that it begins with. The answer does not wait for
//! the message's provider: what is stored is sent by the worker at once.

pub(super) mod body;

use std::sync::Arc;

use serde_json::{Map, Value};

use self::body::Draft;
use crate::domain::phone::Phone;
use crate::http::auth::PartnerCaller;
use crate::http::body::Unread;
use crate::http::call::Call;
use crate::http::endpoints::notifications::{body as notification, instance};
use crate::http::error::ApiError;
use crate::http::idempotency::{self, Key};
use crate::http::json;
use crate::http::reply::Reply;
use crate::http::route::PartnerRoute;
use crate::http::zod;
use crate::pipeline::connections::Live;
use crate::pipeline::deals::{self, Created, FirstMessage, Order};
use crate::store::{IdempotencyClaim, ProductReference};

pub async fn run(
    call: &Call<'_>,
    caller: &PartnerCaller,
    unread: Unread,
) -> Result<Reply, ApiError> {
    let http = call.http;
    let key = Key::of(call)?;
    let (body, held) = json::read(call, unread).await?;
    let (draft, mut issues) = zod::read(&body, body::read);
    let named = draft.as_ref().and_then(|draft| draft.instance);
    let phone = draft
        .as_ref()
        .and_then(|draft| draft.phone_number.as_deref());
    let (live, phone) = instance::addressed(call, caller, named, phone, &mut issues).await?;
    let (Some(draft), true) = (draft, issues.is_empty()) else {
        return Err(zod::invalid(&issues));
    };
    let named = [&draft.product_id, &draft.product_external_id].map(Clone::clone);
    let route = PartnerRoute::CreateDeal.name();
    let claim = key.map(|key| key.claim(call, caller, route, "", &body));
    let order = order(call, caller, draft, (phone, live), claim).await?;

    // From here on the deal is made even when the partner hangs up.
    let task_app = Arc::clone(http);
    let work = http.core.spawn(async move {
        let created = deals::create(&task_app.pipeline, order).await;
        drop(held);
        created
    });
    match work.await.map_err(ApiError::internal)?? {
        Created::Answer { answer, replayed } => idempotency::as_told(call, answer, replayed),
        Created::Misfit(misfits) => Err(zod::invalid(&notification::misfits(&body, &misfits))),
        Created::Banned => Err(notification::banned()),
        Created::NoProduct => Err(no_product(&named)),
        Created::TwoProducts => Err(two_products(&named)),
        Created::KeyReused => Err(idempotency::reused()),
    }
}

/// What is to be made of a body without issues.
async fn order(
    call: &Call<'_>,
    caller: &PartnerCaller,
    draft: Draft,
    (phone, live): (Option<Phone>, Option<Arc<Live>>),
    claim: Option<IdempotencyClaim>,
) -> Result<Order, ApiError> {
    let agent = draft.instance;
    let message = match (draft.template, agent) {
        (Some(template), agent) => {
            let channel = live.and_then(|live| Some((live.channel()?, live)));
            let Some((channel, live)) = channel else {
                if let Some(agent) = agent {
                    instance::tell_why(call, caller, agent).await?;
                }
                return Err(instance::not_found());
            };
            Some(FirstMessage {
                live,
                channel,
                template,
                transfer: draft.transfer,
                special_instructions: draft.special_instructions,
            })
        }
        (None, Some(agent))
            if live.is_none() && !instance::is_there(call, caller, agent).await? =>
        {
            return Err(instance::not_found());
        }
        (None, _) => None,
    };
    let mut props = Map::new();
    let said = [
        ("source", draft.source),
        ("conversionIdentifier", draft.conversion_identifier),
    ];
    for (key, value) in said {
        if let Some(value) = value {
            props.insert(key.to_owned(), Value::String(value));
        }
    }
    let product = ProductReference {
        id: draft.product_id.as_deref().and_then(|id| id.parse().ok()),
        external_id: draft.product_external_id,
    };
    if let (Some(id), None) = (draft.product_id, product.id) {
        // Nobody's: no id of ours looks like this.
        if !draft.bypass_product_check {
            return Err(no_product(&[Some(id), product.external_id]));
        }
        props.insert("productId".to_owned(), Value::String(id));
    }
    Ok(Order {
        by: caller.by(),
        name: draft
            .name
            .expect("what is required was read, or there is an issue"),
        phone,
        email: draft.email,
        product: Some(product).filter(|product| *product != ProductReference::default()),
        bypass_product_check: draft.bypass_product_check,
        agent,
        external_id: draft.external_id,
        props,
        message,
        claim,
    })
}

fn two_products([id, external_id]: &[Option<String>; 2]) -> ApiError {
    let [id, external_id] = [id, external_id].map(|name| name.as_deref().unwrap_or_default());
    ApiError::NotFound(format!(
        "productId '{id}' and productExternalId '{external_id}' are two products: \
         name one of them, or send bypassProductCheck: true to make the deal without it."
    ))
}

/// As the partner named it.
fn no_product(named: &[Option<String>; 2]) -> ApiError {
    let named: Vec<_> = named.iter().flatten().map(|id| format!("'{id}'")).collect();
    ApiError::NotFound(format!(
        "Product {} not found: the workspace has none by this name. \
         Send bypassProductCheck: true to make the deal without it.",
        named.join(" with ")
    ))
}
