//! `/ingest-lead/{partnerConnectionId}`.

use serde_json::{Value, json};

use super::operation::{Operation, Parameter};
use super::schemas::Schemas;
use crate::endpoints::ingest::IngestAnswer;
use crate::error::Family;
use crate::route::Access;
use crate::terms::word;

const PATH: &str = "/ingest-lead/{partnerConnectionId}";

/// Returns the operations of `/ingest-lead/{partnerConnectionId}`, and adds their types to
/// `schemas`.
pub fn operations(schemas: &mut Schemas) -> Vec<Operation> {
    let answer = schemas.answer::<IngestAnswer>();
    vec![ingest(&answer), handshake()]
}

fn ingest(answer: &Value) -> Operation {
    let of_the_source = json!({
        "description": "The source's own format. A converter reads it.",
    });
    let example = |summary: &str, value: Value| json!({"summary": summary, "value": value});
    let json_body = json!({
        "schema": of_the_source,
        "examples": {
            "leadForm": example("A social ad lead form reports a lead", json!({
                "object": "page",
                "entry": [{
                    "id": 1_234_500_017_u64,
                    "time": 1_767_268_800,
                    "changes": [{
                        "field": "leadgen",
                        "value": {
                            "leadgen_id": 120_210_000_000_345_017_u64,
                            "page_id": 1_234_500_017_u64,
                            "form_id": 120_210_000_000_111_017_u64,
                            "adgroup_id": 120_210_000_000_222_017_u64,
                            "ad_id": 120_210_000_000_333_017_u64,
                            "created_time": 1_767_268_790,
                        },
                    }],
                }],
            })),
            "crm": example("A CRM sends a lead", json!({
                "id": "L-1044",
                "name": "Otávio Prates",
                "phone": "+55 21 97777-0102",
                "email": "otavio.prates@example.com",
                "message": "Is the flat still free?",
            })),
        },
    });
    let other = json!({"schema": {
        "type": "string",
        "format": "binary",
        "description": "Any other format, with its own content type: form fields, multipart, XML, text.",
    }});
    let answers = json!({
        "application/json": {
            "schema": answer,
            "examples": {"converted": {"summary": "A lead became a deal", "value": {
                "success": true,
                "deliveryId": "019cae2b-3f60-7c11-b0de-1f2a5b7c9d01",
                "status": "converted",
                "leads": [{
                    "item": 0,
                    "status": "converted",
                    "externalId": "L-1044",
                    "dealId": "019cae2b-3f61-7a52-8a10-5c3e2d1f0a77",
                    "contactId": "019cae2b-3f61-7a52-8a10-6d4f3e2a1b88",
                    "duplicate": false,
                    "message": null,
                }],
                "problems": [],
            }}},
        },
        "text/plain": {"schema": {"type": "string", "description": "The source's own answer, as its converter composes it."}},
    });
    Operation::new("post", PATH, Family::Gateway, Access::Anyone)
        .named("ingestLead", "leads", "Receives a delivery from a lead source")
        .describe(
            "The body has the source's own format. 200 means that the delivery is stored. Sending a delivery again is safe. \
             The connection determines how the source authenticates: by a signature, Basic credentials or a token.",
        )
        .parameter(connection())
        .takes_content(&json!({
            "application/json": json_body,
            "application/octet-stream": other,
        }))
        .answers_content(200, "The delivery is stored. `status` is its outcome.", answers)
        .refuses(&[401, 404, 429])
}

fn handshake() -> Operation {
    let query = |name: &str, description: &str| Parameter::query(name, word(), description);
    Operation::new("get", PATH, Family::Gateway, Access::Anyone)
        .named(
            "answerSource",
            "leads",
            "Answers a source's handshake",
        )
        .describe(
            "Each source verifies the address in its own way, which its converter knows. The parameters here are Meta's.",
        )
        .parameter(connection())
        .parameter(query("hub.mode", "`subscribe`."))
        .parameter(query("hub.challenge", "The text to return."))
        .parameter(query("hub.verify_token", "The connection's token."))
        .answers_content(
            200,
            "The answer that the source expects.",
            json!({"text/plain": {"schema": {"type": "string"}}}),
        )
        .refuses(&[400, 403, 404, 405])
}

fn connection() -> Parameter {
    Parameter::path(
        "partnerConnectionId",
        json!({"type": "string", "pattern": "^[0-9A-Za-z]{22}$"}),
        "The partner connection's id, which cannot be guessed.",
    )
}
