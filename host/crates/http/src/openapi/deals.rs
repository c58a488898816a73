//! `/deal`.

use serde_json::{Value, json};

use super::messages::idempotency_key;
use super::operation::{Operation, Parameter};
use super::schemas::Schemas;
use crate::endpoints::deals::{DealCreateAnswer, DealLogAnswer, DealLogsPage};
use crate::endpoints::deals::{DealPatchAnswer, schema};
use crate::error::{ApiError, Family};
use crate::route::Access;
use crate::terms::{email_of_lead, page_limit, pattern, word};
use leadhost_domain::deal::DealView;
use leadhost_domain::error_code::ErrorCode;
use leadhost_domain::limits;

/// Returns the operations on deals, and adds their types to `schemas`.
pub fn operations(schemas: &mut Schemas) -> Vec<Operation> {
    let deal = schemas.answer::<DealView>();
    vec![
        create(schemas),
        find(&deal),
        show(&deal),
        patch(schemas),
        log(schemas),
        logs(schemas),
    ]
}

fn find(deal: &Value) -> Operation {
    let deals = json!({
        "type": "array",
        "items": deal,
        "maxItems": limits::DEALS_PER_LOOKUP,
    });
    let alias = |name: &str, of: &str| {
        let description = format!("An alias of `{of}`, which takes precedence if both are given.");
        Parameter::query(name, word(), &description)
    };
    Operation::new("get", "/deal", Family::Gateway, Access::PartnerKey)
        .named("findDeals", "deals", "Finds deals")
        .describe(
            "Finds deals by phone, e-mail, id or external id. Give at least one; a deal has to match all that are given. \
             The newest deals come first, at most a hundred, and fewer if they come to more than 16 MiB. If older ones \
             remain, `Link` and `X-Next-Cursor` say how to get them. \
             A value that cannot exist, such as an impossible phone number, matches nothing.",
        )
        .parameter(
            Parameter::query(
                "phoneNumber",
                word(),
                "The lead's phone number, in any notation.",
            )
            .example("+5511988880101"),
        )
        .parameter(alias("phone", "phoneNumber"))
        .parameter(Parameter::query(
            "email",
            email_of_lead(""),
            "The lead's e-mail address, also one that only leads have: their addresses are checked less.",
        ))
        .parameter(Parameter::query(
            "dealId",
            word(),
            "The deal's id.",
        ))
        .parameter(alias("id", "dealId"))
        .parameter(Parameter::query(
            "externalId",
            word(),
            "The deal's id in the system that it came from.",
        ))
        .parameter(alias("externalIntegrationId", "externalId"))
        .parameter(limit())
        .parameter(Parameter::query(
            "cursor",
            json!({"type": "string", "format": "uuid"}),
            "The `X-Next-Cursor` of the previous page. That page's deals and newer ones are left out.",
        ))
        .answers(
            200,
            "The deals, or an empty list.",
            &deals,
            &[("one", "A deal", json!([example()]))],
        )
        .header(200, "Link", "NextLink")
        .header(200, "X-Next-Cursor", "NextCursor")
        .refuses_with(
            400,
            "No parameter is given, the e-mail address is invalid, the limit is not a whole number, or the cursor is not one that the service returned.",
            &[(
                "nothing",
                "No parameter is given",
                ApiError::parameter("Give at least one of phoneNumber, email, dealId and externalId.")
                    .body(Family::Gateway),
            )],
        )
}

fn limit() -> Parameter {
    Parameter::query(
        "limit",
        page_limit(limits::DEALS_PER_LOOKUP, limits::DEALS_PER_LOOKUP),
        "Deals per page. A value out of range is adjusted, not refused.",
    )
}

fn show(deal: &Value) -> Operation {
    Operation::new("get", "/deal/{dealId}", Family::Gateway, Access::PartnerKey)
        .named("showDeal", "deals", "Shows a deal")
        .describe("Returns one of the partner's own deals, as `GET /deal` shows it.")
        .parameter(id())
        .answers(200, "The deal.", deal, &[("one", "A deal", example())])
        .refuses(&[404])
}

fn create(schemas: &mut Schemas) -> Operation {
    let forms = schema::create().map(|(name, written)| schemas.written(name, written));
    let answer = schemas.answer::<DealCreateAnswer>();
    let example = |conversation: Value| {
        json!({
            "success": true,
            "dealId": "019cae2b-3f66-7d43-9b21-7e5f4a3b2c04",
            "conversationId": conversation,
        })
    };
    let refusal = |code, message: &str| ApiError::coded(code, message).body(Family::Gateway);
    Operation::new("post", "/deal", Family::Gateway, Access::PartnerKey)
        .named("createDeal", "deals", "Creates a deal")
        .describe(
            "The contact may be known or new. With a template, a conversation begins. The service sends its message by \
             itself and reports the outcome as for a notification.",
        )
        .parameter(idempotency_key())
        .takes(&json!({"oneOf": forms}), &schema::create_examples())
        .answers(
            201,
            "The deal was created.",
            &answer,
            &[
                ("plain", "A deal", example(Value::Null)),
                (
                    "written",
                    "A deal and a conversation",
                    example(json!("019cae2b-3f62-7d43-9b21-7e5f4a3b2c99")),
                ),
            ],
        )
        .header(201, "X-Message-Id", "MessageId")
        .header(201, "X-Message-Status", "MessageStatus")
        .header(201, "Idempotency-Replayed", "IdempotencyReplayed")
        .refuses_with(
            404,
            "The property is unknown, and the request does not bypass the check.",
            &[(
                "product",
                "An unknown property",
                refusal(
                    ErrorCode::PropertyNotFound,
                    "Product 'AP-9' not found: the workspace has no product with this external id. Send bypassProductCheck: true to create the deal without a product.",
                ),
            )],
        )
        .refuses(&[422])
        .refuses_with(
            500,
            "The template is unknown, or the service failed on this request.",
            &[(
                "template",
                "An unknown template",
                refusal(
                    ErrorCode::TemplateNotFound,
                    "Template 'autumn_offer' not found",
                ),
            )],
        )
}

fn patch(schemas: &mut Schemas) -> Operation {
    let body = schemas.written("DealPatch", schema::patch());
    let answer = schemas.answer::<DealPatchAnswer>();
    Operation::new(
        "patch",
        "/deal/{dealId}",
        Family::Gateway,
        Access::PartnerKey,
    )
    .named("updateDeal", "deals", "Updates a deal")
    .describe("A change that is already in effect is accepted as a no-op.")
    .parameter(id())
    .takes(&body, &schema::patch_examples())
    .answers(
        202,
        "The deal is updated, or was so already.",
        &answer,
        &[(
            "done",
            "The deal is updated",
            json!({"message": "Deal updated."}),
        )],
    )
    .refuses(&[404])
}

fn log(schemas: &mut Schemas) -> Operation {
    let body = schemas.written("DealLog", schema::log());
    let answer = schemas.answer::<DealLogAnswer>();
    let example = json!({
        "id": "019cae2b-3f64-7d43-9b21-7e5f4a3b2c02",
        "dealId": "019cae2b-3f61-7a52-8a10-5c3e2d1f0a77",
        "createdAt": "2026-03-02T12:15:30.250000Z",
    });
    Operation::new(
        "post",
        "/api/v1/deals/{dealId}/log",
        Family::Gateway,
        Access::AccessToken,
    )
    .named("logDeal", "deals", "Adds a note to a deal")
    .describe("The deal shows its newest notes under `props.logs`. All notes are kept.")
    .parameter(id())
    .parameter(idempotency_key())
    .takes(&body, &schema::log_examples())
    .answers(
        201,
        "The note is stored.",
        &answer,
        &[("noted", "The note is stored", example)],
    )
    .header(201, "Idempotency-Replayed", "IdempotencyReplayed")
    .refuses(&[404, 422])
}

fn logs(schemas: &mut Schemas) -> Operation {
    let page = schemas.answer::<DealLogsPage>();
    let example = json!({
        "logs": [{
            "id": "019cae2b-3f64-7d43-9b21-7e5f4a3b2c02",
            "type": "success",
            "subject": "Success fee",
            "description": "Sold within a week.",
            "metadata": {"salesPrice": "450000.00"},
            "createdAt": "2026-03-02T12:15:30.250000Z",
        }],
        "nextCursor": null,
        "count": 1,
    });
    let limit = page_limit(limits::DEAL_LOGS_PAGE_MAX, limits::DEAL_LOGS_PAGE_DEFAULT);
    Operation::new(
        "get",
        "/api/v1/deals/{dealId}/log",
        Family::Gateway,
        Access::AccessToken,
    )
    .named("listDealLogs", "deals", "Lists the notes of a deal, newest first")
    .describe("Follow `nextCursor` until it is null. Notes that are added meanwhile belong before the first page.")
    .parameter(id())
    .parameter(Parameter::query(
        "cursor",
        pattern("^[0-9A-Za-z_-]{50,}$", ""),
        "The `nextCursor` of the previous page.",
    ))
    .parameter(Parameter::query(
        "limit",
        limit,
        "Notes per page. A value out of range is adjusted, not refused.",
    ))
    .answers(200, "A page of notes.", &page, &[("one", "The only page", example)])
    .refuses(&[400, 404])
}

fn id() -> Parameter {
    Parameter::path(
        "dealId",
        json!({"type": "string", "format": "uuid"}),
        "The deal's id, as `GET /deal` returns it.",
    )
}

fn example() -> Value {
    json!({
        "deal": {
            "id": "019cae2b-3f61-7a52-8a10-5c3e2d1f0a77",
            "status": "open",
            "stageCode": "in_qualification",
            "createdAt": "2026-03-02T12:15:30.250000Z",
            "updatedAt": "2026-03-02T12:15:30.250000Z",
            "ownerId": null,
            "ownerName": null,
            "ownerEmail": null,
            "props": {"externalIntegrationId": "L-1044"},
        },
        "person": {
            "id": "019cae2b-3f61-7a52-8a10-6d4f3e2a1b88",
            "name": "Otávio Prates",
            "email": "otavio.prates@example.com",
            "phoneNumber": "+5521977770102",
        },
        "property": {"id": null, "name": null, "externalId": null},
        "agent": {"id": 1, "name": "Front desk", "number": null},
    })
}
