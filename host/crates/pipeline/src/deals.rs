//! Partners' requests on deals: create, change, add a note. Each is one commit, whose outcome is
//! the partner's answer. A repeated request with the same idempotency key gets a replayed answer.
//!
//! The caller runs [`create`] in its own task, so that nothing is lost if the partner disconnects.
//! A deal with a template is committed together with its conversation and message, and is
//! answered then. The worker sends the message; the provider's answer does not affect the deal.

use serde_json::Map;

use super::notify::{NotificationResult, Wording};
use super::props;
use super::templates::{self, Misfit, TemplateError, requested::TemplateUse};
use crate::prelude::*;
use leadhost_domain::contact;
use leadhost_domain::phone::Phone;
use leadhost_store::{
    ByPartner, Channel, CreatedDeal, DealCreated, DealLogged, DealMessage, DealPatch, DealPatched,
    IdempotencyClaim, NewDeal, NewDealLog, NewStoredAnswer, Notified, ProductReference,
    StoredAnswer,
};

pub struct NewDealRequest {
    pub by: ByPartner,
    pub name: String,
    pub phone: Option<Phone>,
    /// Normalised.
    pub email: Option<String>,
    pub product: Option<ProductReference>,
    pub bypass_product_check: bool,
    pub agent: Option<AgentId>,
    pub external_id: Option<String>,
    /// Values of the request that the deal stores and that have no column.
    pub props: Map<String, Value>,
    pub message: Option<FirstMessage>,
    pub claim: Option<IdempotencyClaim>,
    pub answer: fn(&CreatedDeal) -> StoredAnswer,
    /// Words the answer if the template of the message cannot be used.
    pub refusal: Wording,
}

/// The template message that begins the conversation of a new deal, and its instance.
pub struct FirstMessage {
    pub live: Arc<Live>,
    pub channel: Channel,
    pub template: TemplateUse,
    pub transfer: bool,
    pub special_instructions: Option<String>,
}

#[derive(Debug)]
pub enum Created {
    Answer {
        answer: StoredAnswer,
        /// It is the stored answer of an earlier request with the same key.
        replayed: bool,
    },
    /// The template takes other parameters; nothing was stored.
    Misfit(Vec<Misfit>),
    /// A deal of the partner has the external id; nothing was stored.
    ExternalIdTaken(DealId),
    /// The contact has opted out or was banned; nothing was stored.
    Banned,
    NoProduct,
    /// The two ids name different products; nothing was stored.
    TwoProducts,
    KeyReused,
}

#[leadhost_boxed::boxed]
pub async fn create(
    pipeline: &Arc<Pipeline>,
    mut order: NewDealRequest,
) -> Result<Created, StoreError> {
    let message = match order.message.take() {
        None => None,
        Some(first) => match templates::prepare(pipeline, &first.live, &first.template).await? {
            Ok(composed) => Some(DealMessage {
                message: composed
                    .into_message(&first.live.connection.settings, pipeline.clock.now()),
                channel: first.channel,
                transfer: first.transfer,
                special_instructions: first.special_instructions,
            }),
            Err(TemplateError::Misfit(misfits)) => {
                // The template may have changed since the first request with this key.
                let before = find_or_store_answer(pipeline, order.claim, None).await?;
                return Ok(before.unwrap_or(Created::Misfit(misfits)));
            }
            Err(error) => {
                let result = NotificationResult::Template(error.code(), error.to_string());
                let answer = (order.refusal)(&result);
                let before =
                    find_or_store_answer(pipeline, order.claim, Some(answer.clone())).await?;
                return Ok(before.unwrap_or(Created::Answer {
                    answer,
                    replayed: false,
                }));
            }
        },
    };
    let sends = message.is_some();
    let write = Write::CreateDeal(Box::new(new_deal(pipeline, order, message)));
    let created = match pipeline.writer.submit(write).await? {
        WriteOutcome::DealCreated(created) => created,
        other => return Err(another("a new deal", &other)),
    };
    if sends && matches!(created, DealCreated::Done(_)) {
        pipeline.wake();
    }
    Ok(match created {
        DealCreated::Done(answer) => Created::Answer {
            answer,
            replayed: false,
        },
        DealCreated::Replayed(answer) => Created::Answer {
            answer,
            replayed: true,
        },
        DealCreated::KeyReused => Created::KeyReused,
        DealCreated::ExternalIdTaken(deal) => Created::ExternalIdTaken(deal),
        DealCreated::Banned => Created::Banned,
        DealCreated::NoProduct => Created::NoProduct,
        DealCreated::TwoProducts => Created::TwoProducts,
    })
}

fn new_deal(pipeline: &Pipeline, order: NewDealRequest, message: Option<DealMessage>) -> NewDeal {
    let phones: Vec<Phone> = order.phone.iter().cloned().collect();
    let emails: Vec<String> = order.email.iter().cloned().collect();
    let mut props = order.props;
    let said = props::person_values(Some(&order.name), &phones, &emails);
    props.insert(contact::SAID.to_owned(), Value::Object(said));
    NewDeal {
        by: order.by,
        id: DealId::new(pipeline.clock.now()),
        name: order.name,
        contact_keys: contact::keys(&phones, &emails),
        phone: order.phone,
        email: order.email,
        product: order.product,
        bypass_product_check: order.bypass_product_check,
        agent: order.agent,
        external_id: order.external_id,
        props,
        message,
        idempotency: order.claim,
        answer: order.answer,
    }
}

/// Returns the answer that is stored under the request's key. If there is none, stores this
/// answer under it.
async fn find_or_store_answer(
    pipeline: &Pipeline,
    claim: Option<IdempotencyClaim>,
    answer: Option<StoredAnswer>,
) -> Result<Option<Created>, StoreError> {
    let Some(claim) = claim else {
        return Ok(None);
    };
    let write = Write::Remember(Box::new(NewStoredAnswer { claim, answer }));
    Ok(match pipeline.writer.submit(write).await? {
        WriteOutcome::Remembered(Some(Notified::Replayed(answer))) => Some(Created::Answer {
            answer,
            replayed: true,
        }),
        // This route stores a key together with its answer, so none is ever in progress.
        WriteOutcome::Remembered(Some(_)) => Some(Created::KeyReused),
        _ => None,
    })
}

#[leadhost_boxed::boxed]
pub async fn patch(pipeline: &Pipeline, patch: DealPatch) -> Result<DealPatched, StoreError> {
    match pipeline
        .writer
        .submit(Write::PatchDeal(Box::new(patch)))
        .await?
    {
        WriteOutcome::DealPatched(patched) => Ok(patched),
        other => Err(another("a deal's change", &other)),
    }
}

#[leadhost_boxed::boxed]
pub async fn log(pipeline: &Pipeline, log: NewDealLog) -> Result<DealLogged, StoreError> {
    match pipeline
        .writer
        .submit(Write::LogDeal(Box::new(log)))
        .await?
    {
        WriteOutcome::DealLogged(logged) => Ok(logged),
        other => Err(another("a deal's note", &other)),
    }
}

fn another(what: &str, answer: &WriteOutcome) -> StoreError {
    StoreError::Inconsistent {
        what: format!("{what} was answered with {answer:?}"),
    }
}
