//! The input of a case as the contract's own types.

use leadhost_golden::{Case, Response};

use crate::{Completion, Content, Delivery, HttpResponse, TemplateSend};

/// Returns the delivery of a case.
pub fn delivery(case: &Case) -> Delivery {
    let given = &case.delivery;
    Delivery {
        id: given.id.clone(),
        received_at: given.received_at.clone(),
        method: given.method_for(case.call).into(),
        path: given.path.clone(),
        query: given.query.clone(),
        headers: given.headers.clone(),
        body: content(case),
        config: given.config_text(),
        context: given.context.clone(),
    }
}

/// Returns the completion of a case.
pub fn completion(case: &Case) -> Completion {
    let given = &case.completion;
    Completion {
        delivery_id: case.delivery.id.clone(),
        received_at: case.delivery.received_at.clone(),
        config: case.delivery.config_text(),
        context: case.delivery.context.clone(),
        external_id: given.external_id.clone(),
        state: given.state_bytes(),
        hop: given.hop,
        response: response(case, &given.response),
    }
}

/// Returns the message of a case.
pub fn message(case: &Case) -> TemplateSend {
    let given = &case.message;
    TemplateSend {
        message_id: given.message_id.clone(),
        recipient: given.recipient.clone(),
        template: given.template_text(),
        config: case.delivery.config_text(),
        context: given.context.clone(),
    }
}

/// Returns a response with the body of the case.
pub fn response(case: &Case, given: &Response) -> HttpResponse {
    HttpResponse {
        status: given.status,
        headers: given.headers.clone(),
        body: content(case),
    }
}

fn content(case: &Case) -> Content {
    match case.body_text() {
        Some(text) => Content::Text(text.into()),
        None => Content::Bytes(case.body.clone()),
    }
}
