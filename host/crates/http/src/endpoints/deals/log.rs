//! `POST /api/v1/deals/{dealId}/log`: a partner adds a note to a deal, such as its sale with
//! the price. The deal shows its newest notes; all are kept.

use super::id::{not_found, parse_id};
use super::schema;
use crate::endpoints::prelude::*;
use crate::idempotency::{self, IdempotencyHeader};
use crate::json;
use crate::zod::{self, Node, TextLength, issue::Issue};
use leadhost_domain::id::DealLogId;
use leadhost_pipeline::deals;
use leadhost_store::{CreatedDealLog, DealLogged, NewDealLog, StoredAnswer};

describe!(log, |operation| operation
    .summary("Adds a note to a deal")
    .describe("The deal shows its newest notes under `props.logs`. All notes are kept.")
    .idempotency_key()
    .takes_written("DealLog", schema::log(), &schema::log_examples())
    .answers::<DealLogAnswer>(201, "The note is stored.")
    .header(201, "Idempotency-Replayed", "IdempotencyReplayed")
    .refuses(&[404, 422]));
pub async fn log(
    call: &Call<'_>,
    caller: &PartnerCaller,
    deal: &str,
    unread: UnreadBody,
) -> ApiResult {
    let deal = parse_id(deal)?;
    let key = IdempotencyHeader::from_call(call)?;
    let (body, held) = json::read(call, unread).await?;
    let note = zod::whole(&body, read)?;
    let log = NewDealLog {
        by: caller.by(),
        deal,
        id: DealLogId::new(call.http.core.clock.now()),
        kind: note.kind,
        subject: note.subject,
        description: note.description,
        metadata: note.metadata,
        idempotency: key.map(|key| key.claim(call, caller, call.name, &deal.to_string(), &body)),
        answer,
    };
    drop((body, held));
    match deals::log(&call.http.pipeline, log).await? {
        DealLogged::Done(answer) => idempotency::stored_reply(call, answer, false),
        DealLogged::Replayed(answer) => idempotency::stored_reply(call, answer, true),
        DealLogged::KeyReused => Err(idempotency::reused()),
        DealLogged::NoDeal => Err(not_found()),
    }
}

/// The answer to a partner that adds a note.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct DealLogAnswer {
    id: DealLogId,
    deal_id: DealId,
    created_at: Micros,
}

fn answer(created: &CreatedDealLog) -> StoredAnswer {
    let body = DealLogAnswer {
        id: created.id,
        deal_id: created.deal,
        created_at: created.created_at,
    };
    StoredAnswer {
        status: StatusCode::CREATED.as_u16(),
        headers: Vec::new(),
        body: serde_json::to_string(&body).expect("ids and a time are JSON"),
    }
}

pub(super) struct Note {
    kind: String,
    subject: String,
    description: Option<String>,
    metadata: Map<String, Value>,
}

/// Reads a note. Returns `None`, with issues, if the body is no object or a required field is
/// wrong.
pub(super) fn read(body: Node<'_>) -> Option<Note> {
    let body = body.object()?;
    let kind = TextLength::filled(limits::LOG_TYPE_CHARACTERS);
    let kind = body.field("type").trimmed(kind);
    let subject = TextLength::filled(limits::NAME_CHARACTERS);
    let subject = body.field("subject").trimmed(subject);
    let description = body.field("description").optional().and_then(|text| {
        let length = TextLength::up_to(limits::LOG_DESCRIPTION_CHARACTERS);
        text.text(length)
    });
    let metadata = body.field("metadata").optional().and_then(|metadata| {
        let members = metadata.members()?;
        let members = within(&metadata, members)?;
        metadata.without_nul().then(|| members.clone())
    });
    Some(Note {
        kind: kind?.to_owned(),
        subject: subject?.to_owned(),
        description: description.map(str::to_owned),
        metadata: metadata.unwrap_or_default(),
    })
}

fn within<'a>(node: &Node<'_>, members: &'a Map<String, Value>) -> Option<&'a Map<String, Value>> {
    let maximum = limits::LOG_METADATA_BYTES;
    let bytes = serde_json::to_vec(members).expect("JSON is JSON").len();
    if bytes <= maximum {
        return Some(members);
    }
    node.wrong(|path| Issue::too_big("object", maximum, path));
    None
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn check(body: Value, expect: &[(&str, &str)]) {
        zod::assert_issues(&body, read, expect);
    }

    #[test]
    fn the_answer_names_the_note_its_deal_and_its_time() {
        let created = CreatedDealLog {
            id: DealLogId::new(Micros(1)),
            deal: DealId::new(Micros(2)),
            created_at: Micros(3),
        };
        let answer = answer(&created);
        assert_eq!((answer.status, answer.headers.len()), (201, 0));
        let body: Value = serde_json::from_str(&answer.body).expect("JSON");
        let expect =
            json!({"id": created.id, "dealId": created.deal, "createdAt": created.created_at});
        assert_eq!(body, expect);
    }

    #[test]
    fn a_note_needs_a_type_and_a_subject() {
        check(json!({"type": "success", "subject": "Fee"}), &[]);
        check(
            json!({"type": "success", "subject": "Fee", "description": "",
                "metadata": {"salesPrice": "1"}, "unknown": 1}),
            &[],
        );
        check(
            json!({}),
            &[("invalid_type", "type"), ("invalid_type", "subject")],
        );
        check(
            json!({"type": " ", "subject": "x".repeat(256), "description": null, "metadata": []}),
            &[
                ("too_small", "type"),
                ("too_big", "subject"),
                ("invalid_type", "description"),
                ("invalid_type", "metadata"),
            ],
        );
    }

    #[test]
    fn metadata_is_bounded_by_its_bytes() {
        let with = |count: usize| json!({"type": "success", "subject": "Fee", "metadata": {"a": "é".repeat(count)}});
        // Eight bytes are the object's own.
        check(with(2_044), &[]);
        check(with(2_045), &[("too_big", "metadata")]);
    }

    #[test]
    fn metadata_has_no_nul() {
        let with =
            |metadata: Value| json!({"type": "success", "subject": "Fee", "metadata": metadata});
        let expect = [("invalid_string", "metadata")];
        check(with(json!({"a": ["b\0"]})), &expect);
        check(with(json!({"a": {"b\0": 1}})), &expect);
    }
}
