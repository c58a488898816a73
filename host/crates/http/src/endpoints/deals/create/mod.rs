//! `POST /deal`: a deal that a partner creates, for a known or a new contact, and with a template
//! also the conversation that the deal begins with. The answer does not wait for the provider of
//! the message: the worker sends the stored message at once.

pub(super) mod body;

use self::body::Draft;
use super::schema;
use crate::endpoints::notifications::{
    answer as notification_answer, body as notification, instance,
};
use crate::endpoints::prelude::*;
use crate::error::{ConflictDetails, Family};
use crate::idempotency::{self, IdempotencyHeader};
use crate::json;
use crate::zod;
use leadhost_domain::id::ConversationId;
use leadhost_domain::phone::Phone;
use leadhost_pipeline::connections::Live;
use leadhost_pipeline::deals::{self, Created, FirstMessage, NewDealRequest};
use leadhost_store::{CreatedDeal, IdempotencyClaim, ProductReference, StoredAnswer};

describe!(create, |mut operation| {
    let forms = schema::create().map(|(name, written)| operation.written(name, written));
    let refusal = |code, message: &str| ApiError::coded(code, message).body(Family::Gateway);
    operation
        .summary("Creates a deal")
        .describe(
            "The contact may be known or new. With a template, a conversation begins. The service sends its message by \
             itself and reports the outcome as for a notification.",
        )
        .idempotency_key()
        .takes_schema(&json!({"oneOf": forms}), &schema::create_examples())
        .answers::<DealCreateAnswer>(201, "The deal was created.")
        .header(201, "X-Message-Id", "MessageId")
        .header(201, "X-Message-Status", "MessageStatus")
        .header(201, "Idempotency-Replayed", "IdempotencyReplayed")
        .refuses_with(404, "The property is unknown, and the request does not bypass the check.", &[(
            "product",
            "An unknown property",
            refusal(ErrorCode::PropertyNotFound, "Product 'AP-9' not found: the workspace has no product with this external id. Send bypassProductCheck: true to create the deal without a product."),
        )])
        .refuses_with(409, "A deal of yours has the external id. The body has its id as `dealId`, too.", &[(
            "taken",
            "An external id that a deal has",
            taken(DealId(uuid::uuid!("019cae2b-3f61-7a52-8a10-5c3e2d1f0a77"))).body(Family::Gateway),
        )])
        .refuses(&[422])
        .refuses_with(500, "The template is unknown, or the service failed on this request.", &[(
            "template",
            "An unknown template",
            refusal(ErrorCode::TemplateNotFound, "Template 'autumn_offer' not found"),
        )])
});
pub async fn create(call: &Call<'_>, caller: &PartnerCaller, unread: UnreadBody) -> ApiResult {
    let key = IdempotencyHeader::from_call(call)?;
    let (body, held) = json::read(call, unread).await?;
    let (read, mut issues) = zod::read(&body, body::read);
    let read = read.unwrap_or_default();
    let (agent, phone) = (read.instance, read.phone_number.as_deref());
    let (live, phone) = instance::addressed(call, caller, agent, phone, &mut issues).await?;
    let (Some(draft), true) = (read.deal, issues.is_empty()) else {
        return Err(zod::issue::invalid(&issues));
    };
    let named = [&draft.product_id, &draft.product_external_id].map(Clone::clone);
    let claim = key.map(|key| key.claim(call, caller, call.name, "", &body));
    let order = order(call, caller, draft, (agent, phone, live), claim).await?;

    // From here on the deal is created even if the partner hangs up.
    let work = call.to_end(|http| async move {
        let created = deals::create(&http.pipeline, order).await;
        drop(held);
        created
    });
    match work.await?? {
        Created::Answer { answer, replayed } => idempotency::stored_reply(call, answer, replayed),
        Created::Misfit(misfits) => {
            Err(zod::issue::invalid(&notification::misfits(&body, &misfits)))
        }
        Created::ExternalIdTaken(deal_id) => Err(taken(deal_id)),
        Created::Banned => Err(notification::banned()),
        Created::NoProduct => Err(no_product(&named)),
        Created::TwoProducts => Err(two_products(&named)),
        Created::KeyReused => Err(idempotency::reused()),
    }
}

async fn order(
    call: &Call<'_>,
    caller: &PartnerCaller,
    draft: Draft,
    (agent, phone, live): (Option<AgentId>, Option<Phone>, Option<Arc<Live>>),
    claim: Option<IdempotencyClaim>,
) -> ApiResult<NewDealRequest> {
    let message = match (draft.template, agent) {
        (Some(template), agent) => {
            let channel = live.and_then(|live| Some((live.channel()?, live)));
            let Some((channel, live)) = channel else {
                if let Some(agent) = agent {
                    instance::log_reason(call, caller, agent).await?;
                }
                return Err(instance::not_found());
            };
            Some(FirstMessage {
                live,
                channel,
                template,
                transfer: draft.details.transfer,
                special_instructions: draft.details.special_instructions,
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
        ("source", draft.details.source),
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
        // No product has this id, since it is not in the format of our ids.
        if !draft.bypass_product_check {
            return Err(no_product(&[Some(id), product.external_id]));
        }
        props.insert("productId".to_owned(), Value::String(id));
    }
    Ok(NewDealRequest {
        by: caller.by(),
        name: draft.details.name,
        phone,
        email: draft.details.email,
        product: Some(product).filter(|product| *product != ProductReference::default()),
        bypass_product_check: draft.bypass_product_check,
        agent,
        external_id: draft.external_id,
        props,
        message,
        claim,
        answer,
        refusal: notification_answer::stored,
    })
}

fn taken(deal_id: DealId) -> ApiError {
    ApiError::Conflict {
        message: format!(
            "Deal '{deal_id}' has this externalId: change that deal, or send another externalId."
        ),
        details: Some(ConflictDetails::ExternalId { deal_id }),
    }
}

fn two_products([id, external_id]: &[Option<String>; 2]) -> ApiError {
    let [id, external_id] = [id, external_id].map(|name| name.as_deref().unwrap_or_default());
    ApiError::coded(
        ErrorCode::PropertyNotFound,
        format!(
            "productId '{id}' and productExternalId '{external_id}' are two products: \
         name one of them, or send bypassProductCheck: true to create the deal without a product."
        ),
    )
}

fn no_product(named: &[Option<String>; 2]) -> ApiError {
    let ids = match named {
        [Some(_), None] => "this id",
        [None, _] => "this external id",
        [Some(_), Some(_)] => "these ids",
    };
    let named: Vec<_> = named.iter().flatten().map(|id| format!("'{id}'")).collect();
    ApiError::coded(
        ErrorCode::PropertyNotFound,
        format!(
            "Product {} not found: the workspace has no product with {ids}. \
         Send bypassProductCheck: true to create the deal without a product.",
            named.join(" with ")
        ),
    )
}

/// The answer to a partner that creates a deal.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct DealCreateAnswer {
    /// Always true.
    success: bool,
    deal_id: DealId,
    /// The conversation that the template message begins; null without one.
    conversation_id: Option<ConversationId>,
}

fn answer(created: &CreatedDeal) -> StoredAnswer {
    let body = DealCreateAnswer {
        success: true,
        deal_id: created.id,
        conversation_id: created.begun.map(|(conversation, _)| conversation),
    };
    let headers = created.begun.map_or_else(Vec::new, |(_, message)| {
        vec![
            ("x-message-id".to_owned(), message.to_string()),
            ("x-message-status".to_owned(), "waiting".to_owned()),
        ]
    });
    StoredAnswer {
        status: StatusCode::CREATED.as_u16(),
        headers,
        body: serde_json::to_string(&body).expect("ids are JSON"),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use leadhost_domain::id::MessageId;

    #[test]
    fn the_answer_names_the_deal_and_its_conversation() {
        let id = DealId::new(Micros(0));
        let answered = answer(&CreatedDeal { id, begun: None });
        assert_eq!((answered.status, answered.headers.len()), (201, 0));
        let body: Value = serde_json::from_str(&answered.body).expect("JSON");
        assert_eq!(
            body,
            json!({"success": true, "dealId": id, "conversationId": null})
        );

        let begun = (ConversationId::new(Micros(1)), MessageId::new(Micros(2)));
        let answered = answer(&CreatedDeal {
            id,
            begun: Some(begun),
        });
        let headers = [
            ("x-message-id".to_owned(), begun.1.to_string()),
            ("x-message-status".to_owned(), "waiting".to_owned()),
        ];
        assert_eq!(answered.headers, headers);
        let body: Value = serde_json::from_str(&answered.body).expect("JSON");
        assert_eq!(body["conversationId"], json!(begun.0));
    }
}
