//! `/deal`.

use serde_json::{Value, json};

use super::messages::idempotency_key;
use super::operation::{Operation, Parameter};
use super::schemas::Schemas;
use crate::http::terms::{email, page_limit, word};
use crate::domain::deal::{DealCreateAnswer, DealLogAnswer, DealView};
use crate::http::endpoints::deals::{DealPatchAnswer, schema};
use crate::http::error::Family;
use crate::http::route::Access;
use crate::limits;

pub fn operations(schemas: &mut Schemas) -> Vec<Operation> {
    let deal = schemas.answer::<DealView>();
    vec![
        create(schemas),
        find(&deal),
        show(&deal),
        patch(schemas),
        log(schemas),
    ]
}

fn find(deal: &Value) -> Operation {
    let deals = json!({
        "type": "array",
        "items": deal,
        "maxItems": limits::DEALS_PER_LOOKUP,
    });
    let alias = |name: &str, of: &str| {
        let told = format!("The same as `{of}`, which counts where both are given.");
        Parameter::query(name, word(), &told)
    };
    Operation::new("get", "/deal", Family::Gateway, Access::PartnerKey)
        .named("findDeals", "deals", "Looks deals up")
        .describe(
            "By phone, e-mail, id or external id: at least one, and all that are given hold together. \
             Newest first, at most a hundred, and fewer where they come to more than 16 MiB; where older ones remain, \
             `Link` and `X-Next-Cursor` say how to get them. \
             What cannot exist, such as an impossible phone, is found nowhere.",
        )
        .parameter(
            Parameter::query(
                "phoneNumber",
                word(),
                "The lead's phone, however it is written.",
            )
            .example("+5511988880101"),
        )
        .parameter(alias("phone", "phoneNumber"))
        .parameter(Parameter::query(
            "email",
            email(""),
            "The lead's e-mail address.",
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
            "The `X-Next-Cursor` of the page before: its deals are left out, and those that are newer.",
        ))
        .answers(
            200,
            "The deals; none is an empty list.",
            &deals,
            &[("one", "A deal", json!([example()]))],
        )
        .header(200, "Link", "NextLink")
        .header(200, "X-Next-Cursor", "NextCursor")
        .refuses_with(
            400,
            "Nothing is given, the e-mail address is none, the limit is no whole number, or the cursor is none that was given.",
            &[(
                "nothing",
                "Nothing is given",
                json!({
                    "statusCode": 400,
                    "message": "Give at least one of phoneNumber, email, dealId and externalId.",
                    "error": "Bad Request",
                }),
            )],
        )
}

fn limit() -> Parameter {
    Parameter::query(
        "limit",
        page_limit(limits::DEALS_PER_LOOKUP, limits::DEALS_PER_LOOKUP),
        "Deals of a page. Out of range is adjusted, not refused.",
    )
}

fn show(deal: &Value) -> Operation {
    Operation::new("get", "/deal/{dealId}", Family::Gateway, Access::PartnerKey)
        .named("showDeal", "deals", "Shows a deal")
        .describe("One of the partner's own deals, as `GET /deal` shows it.")
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
    let refusal = |status: u16, message: &str, error: &str| json!({"statusCode": status, "message": message, "error": error});
    Operation::new("post", "/deal", Family::Gateway, Access::PartnerKey)
        .named("createDeal", "deals", "Makes a deal")
        .describe(
            "For somebody known or new. With a template a conversation begins; its message goes out by itself, \
             and what becomes of it is told as of a notification.",
        )
        .parameter(idempotency_key())
        .takes(&json!({"oneOf": forms}), &schema::create_examples())
        .answers(
            201,
            "The deal is made.",
            &answer,
            &[
                ("plain", "A deal", example(Value::Null)),
                (
                    "written",
                    "A deal, and a conversation",
                    example(json!("019cae2b-3f62-7d43-9b21-7e5f4a3b2c99")),
                ),
            ],
        )
        .header(201, "X-Message-Id", "MessageId")
        .header(201, "X-Message-Status", "MessageStatus")
        .header(201, "Idempotency-Replayed", "IdempotencyReplayed")
        .refuses_with(
            404,
            "The property is unknown, and is to be checked.",
            &[(
                "product",
                "An unknown property",
                refusal(
                    404,
                    "Product 'AP-9' not found: the workspace has none by this name. Send bypassProductCheck: true to make the deal without it.",
                    "Not Found",
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
                    500,
                    "Template 'autumn_offer' not found",
                    "Internal Server Error",
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
    .named("updateDeal", "deals", "Changes a deal")
    .describe("Asking for what is so already is accepted and changes nothing.")
    .parameter(id())
    .takes(&body, &schema::patch_examples())
    .answers(
        202,
        "It is done, or was so already.",
        &answer,
        &[("done", "It is done", json!({"message": "Deal updated."}))],
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
    .named("logDeal", "deals", "Notes something of a deal")
    .describe("The deal shows its newest notes under `props.logs`; all are kept.")
    .parameter(id())
    .parameter(idempotency_key())
    .takes(&body, &schema::log_examples())
    .answers(
        201,
        "It is noted.",
        &answer,
        &[("noted", "It is noted", example)],
    )
    .header(201, "Idempotency-Replayed", "IdempotencyReplayed")
    .refuses(&[404, 422])
}

fn id() -> Parameter {
    Parameter::path(
        "dealId",
        json!({"type": "string", "format": "uuid"}),
        "The deal's id, as `GET /deal` gives it.",
    )
}

fn example() -> Value {
    json!({
        "deal": {
            "id": "019cae2b-3f61-7a52-8a10-5c3e2d1f0a77",
            "status": "open",
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
