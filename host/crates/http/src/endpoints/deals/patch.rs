//! `PATCH /deal/{dealId}`: changes the status, stage, property and owner of a deal. Any other
//! field is refused, so that a misspelled one is not lost. A field that is left out follows
//! from the others, or keeps its value. A change that is already in effect is accepted as a
//! no-op.

use super::id::{not_found, parse_id};
use super::schema;
use crate::endpoints::prelude::*;
use crate::json;
use crate::zod::{self, Node, TextLength, issue::Issue};
use leadhost_domain::deal::{self, DealStage, DealStatus};
use leadhost_pipeline::deals;
use leadhost_store::{DealPatch, DealPatched};

const STATUS: &str = "status";
const STAGE: &str = "stageCode";
const PROPERTY: &str = "propertyExternalId";
/// The same under the name that products have elsewhere.
const PROPERTY_ALIAS: &str = "productExternalId";
const OWNER: &str = "ownerEmail";

const FIELDS: [&str; 5] = [STATUS, STAGE, PROPERTY, PROPERTY_ALIAS, OWNER];

const NO_PROPERTY: &str = "no product with this external id";
const NO_OWNER: &str = "no owner with this e-mail address";

#[derive(Serialize, ToSchema)]
pub struct DealPatchAnswer {
    /// Confirms that the deal is updated, or was so already.
    message: &'static str,
}

describe!(patch, |operation| operation
    .summary("Updates a deal")
    .id("updateDeal")
    .describe("A change that is already in effect is accepted as a no-op.")
    .takes_written("DealPatch", schema::patch(), &schema::patch_examples())
    .answers::<DealPatchAnswer>(202, "The deal is updated, or was so already.")
    .refuses(&[404]));
pub async fn patch(
    call: &Call<'_>,
    caller: &PartnerCaller,
    deal: &str,
    unread: UnreadBody,
) -> ApiResult {
    let deal = parse_id(deal)?;
    let (body, held) = json::read(call, unread).await?;
    let wanted = zod::whole(&body, read)?;
    drop(held);
    let patch = DealPatch {
        by: caller.by(),
        deal,
        status: wanted.status,
        stage: wanted.stage,
        product: wanted.property.clone(),
        owner_email: wanted.owner.clone(),
    };
    let message = match deals::patch(&call.http.pipeline, patch).await? {
        DealPatched::Done { changed: true } => "Deal updated.",
        DealPatched::Done { changed: false } => {
            "The deal was already as requested: nothing has changed."
        }
        DealPatched::NoDeal => return Err(not_found()),
        DealPatched::NoProduct => {
            let code = ErrorCode::PropertyNotFound;
            return Err(missing(code, "Property", wanted.property, NO_PROPERTY));
        }
        DealPatched::NoOwner => {
            let code = ErrorCode::OwnerNotFound;
            return Err(missing(code, "Owner", wanted.owner.flatten(), NO_OWNER));
        }
    };
    reply::json(StatusCode::ACCEPTED, &DealPatchAnswer { message })
}

fn missing(code: ErrorCode, what: &str, named: Option<String>, why: &str) -> ApiError {
    let named = named.unwrap_or_default();
    ApiError::coded(
        code,
        format!("{what} '{named}' not found: the workspace has {why}."),
    )
}

/// The requested changes.
pub(super) struct DealPatchBody {
    status: Option<DealStatus>,
    stage: Option<DealStage>,
    property: Option<String>,
    /// The inner `None` leaves the deal without an owner.
    owner: Option<Option<String>>,
}

/// Reads a change. Returns `None`, with an issue, if the body is not an object. Check the
/// issues before using the change.
pub(super) fn read(body: Node<'_>) -> Option<DealPatchBody> {
    let body = body.object()?;
    // Besides a misspelled field, no other one is missing.
    if body.no_other_than(&FIELDS) {
        body.one_of_fields(&FIELDS.map(|field| (field, "string")));
    }
    let status = body.field(STATUS).optional();
    let status = status
        .and_then(|status| status.one_of(&DealStatus::ALL.map(DealStatus::as_str)))
        .and_then(DealStatus::from_text);
    let stage = body.field(STAGE).optional();
    let stage = stage
        .and_then(|stage| stage.one_of(&DealStage::ALL.map(DealStage::as_str)))
        .and_then(DealStage::from_text);
    if let (Some(status), Some(stage)) = (status, stage) {
        agree(&body.field(STAGE), status, stage);
    }
    body.not_both(PROPERTY, PROPERTY_ALIAS);
    let property = [PROPERTY, PROPERTY_ALIAS].map(|name| {
        let property = body.field(name).optional()?;
        property.trimmed(TextLength::filled(limits::EXTERNAL_ID_CHARACTERS))
    });
    let owner = body.field(OWNER).optional().map(|owner| {
        if owner.is_null() {
            return None;
        }
        owner.email()
    });
    Some(DealPatchBody {
        status,
        stage,
        property: property.into_iter().flatten().next().map(str::to_owned),
        owner,
    })
}

fn agree(node: &Node<'_>, status: DealStatus, stage: DealStage) {
    if !deal::contradict(status, stage) {
        return;
    }
    let fitting = DealStage::ALL.into_iter();
    let fitting = fitting.filter(|stage| !deal::contradict(status, *stage));
    let options = fitting.map(|stage| stage.as_str().to_owned()).collect();
    let (status, stage) = (status.as_str(), stage.as_str());
    node.wrong(|path| Issue {
        message: format!("A deal cannot be '{status}' in the stage '{stage}'"),
        ..Issue::not_one_of(stage, options, path)
    });
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn check(body: Value, expect: &[(&str, &str)]) {
        zod::assert_issues(&body, read, expect);
    }

    #[test]
    fn each_field_is_read_alone_and_with_the_others() {
        for body in [
            json!({"status": "won"}),
            json!({"stageCode": "negotiating"}),
            json!({"propertyExternalId": "AP-1"}),
            json!({"productExternalId": "AP-1"}),
            json!({"ownerEmail": "Rui@Example.com"}),
            json!({"ownerEmail": null}),
            json!({"status": "closed", "stageCode": "closed_lost", "ownerEmail": "rui@example.com",
                "propertyExternalId": "AP-1"}),
        ] {
            check(body, &[]);
        }
        let body = json!({"ownerEmail": "Rui@Example.com", "productExternalId": " AP-1 "});
        let (wanted, _) = zod::read(&body, read);
        let wanted = wanted.expect("it is right");
        assert_eq!(wanted.owner, Some(Some("rui@example.com".to_owned())));
        assert_eq!(wanted.property.as_deref(), Some("AP-1"));
    }

    #[test]
    fn every_mistake_becomes_an_issue() {
        check(json!({}), &[("invalid_union", "")]);
        check(json!([]), &[("invalid_type", "")]);
        check(json!({"Status": "won"}), &[("unrecognized_keys", "")]);
        check(
            json!({"status": "Won", "stageCode": null, "propertyExternalId": 7, "ownerEmail": "rui",
                "stage": "x"}),
            &[
                ("unrecognized_keys", ""),
                ("invalid_enum_value", "status"),
                ("invalid_type", "stageCode"),
                ("invalid_type", "propertyExternalId"),
                ("invalid_string", "ownerEmail"),
            ],
        );
        check(
            json!({"propertyExternalId": "a", "productExternalId": "a"}),
            &[("invalid_union", "")],
        );
        check(
            json!({"propertyExternalId": " "}),
            &[("too_small", "propertyExternalId")],
        );
        check(
            json!({"status": "won", "stageCode": "closed_lost"}),
            &[("invalid_enum_value", "stageCode")],
        );
    }
}
