//! The contract `leadhost:converter@1.0.0`, and the only file that names its bindings.
//! Answers are converted to the domain's types, and violations of the host's rules are
//! refused here: a bad item becomes an invalid item, and any other violation refuses the
//! answer.

mod bindings;
mod bounds;

use wasmtime::component::InstancePre;

use self::bindings::exports::leadhost::converter::converter as wit;
use self::bindings::{LeadConverter, LeadConverterPre};
use self::bounds::RuleViolation;
use super::types::{self, golden_delivery, golden_response};
use crate::abi::fault::missing_function;
use crate::abi::golden::shown;
use crate::abi::texts::{attributes, cut_note, given, given_list, notes, storable_pairs};
use crate::prelude::*;
use crate::rules::{self, size::Room};
use leadhost_domain::lead::{Action, Consent, Lead, Listing};
use leadhost_domain::plugin::{
    ConversionOutcome, ConvertedItem, FailureCategory, FetchFailure, FetchRequest, PluginCompletion,
};
use leadhost_domain::text::storable;

plugin!(Converter, LeadConverter of LeadConverterPre);

impl Converter {
    pub async fn convert(
        &self,
        store: &mut Store<InstanceState>,
        delivery: PluginDelivery,
    ) -> Result<Result<ConverterOutput, InputProblem>, Fault> {
        let guest = self.start(store).await?;
        convert(&guest, store, delivery).await
    }

    pub async fn complete(
        &self,
        store: &mut Store<InstanceState>,
        completion: PluginCompletion,
    ) -> Result<Result<Vec<ConvertedItem>, FetchFailure>, Fault> {
        let guest = self.start(store).await?;
        match exported(&guest)
            .call_complete(store, &completion.into())
            .await?
        {
            Ok(list) => Ok(Ok(items(list)?)),
            Err(failure) => Ok(Err(failure.into())),
        }
    }

    /// Starts an instance that outlives its first call.
    pub async fn keep(&self, store: &mut Store<InstanceState>) -> wasmtime::Result<KeptInstance> {
        Ok(KeptInstance(self.start(store).await?))
    }
}

/// A converter's instance that outlives a call, for the benchmarks.
pub struct KeptInstance(LeadConverter);

impl KeptInstance {
    pub async fn convert(
        &self,
        store: &mut Store<InstanceState>,
        delivery: PluginDelivery,
    ) -> Result<Result<ConverterOutput, InputProblem>, Fault> {
        convert(&self.0, store, delivery).await
    }
}

async fn convert(
    guest: &LeadConverter,
    store: &mut Store<InstanceState>,
    delivery: PluginDelivery,
) -> Result<Result<ConverterOutput, InputProblem>, Fault> {
    let answer = exported(guest)
        .call_convert(&mut *store, &delivery.into())
        .await?;
    match answer {
        Ok(conversion) => Ok(Ok(ConverterOutput {
            reply: types::reply(conversion.reply)?,
            items: items(conversion.items)?,
            notes: notes(conversion.notes),
            memory: store.data().limiter.needed(),
            // The caller knows it.
            processor: Duration::ZERO,
        })),
        Err(problem) => Ok(Err(problem.into())),
    }
}

async fn answer(
    guest: &LeadConverter,
    store: &mut Store<InstanceState>,
    case: &Case,
) -> Result<Value, Fault> {
    let guest = exported(guest);
    match case.call {
        Call::Describe => shown(Ok::<_, ()>(guest.call_describe(&mut *store).await?)),
        Call::SenderChecks => shown(
            guest
                .call_sender_checks(store, &case.delivery.config_text())
                .await?,
        ),
        Call::Handshake => shown(guest.call_handshake(store, &golden_delivery(case)).await?),
        Call::Convert => {
            let answer = guest.call_convert(store, &golden_delivery(case)).await?;
            shown(match answer {
                Ok(mut conversion) => {
                    types::reply(conversion.reply.clone())?;
                    conversion.items = as_taken(conversion.items)?;
                    Ok(conversion)
                }
                Err(problem) => Err(problem),
            })
        }
        Call::Complete => {
            let answer = guest.call_complete(store, &golden_completion(case)).await?;
            shown(match answer {
                Ok(items) => Ok(as_taken(items)?),
                Err(failure) => Err(failure),
            })
        }
        Call::Routes
        | Call::Send
        | Call::ReadAnswer
        | Call::ReadWebhook
        | Call::ListTemplates
        | Call::ReadTemplates => Err(missing_function(case, PluginKind::Converter)),
    }
}

fn exported(guest: &LeadConverter) -> &wit::Guest {
    guest.leadhost_converter_converter()
}

// ---- in

impl From<PluginCompletion> for wit::Completion {
    fn from(completion: PluginCompletion) -> Self {
        Self {
            delivery_id: completion.delivery_id,
            received_at: completion.received_at,
            config: completion.config,
            context: completion.context,
            external_id: completion.external_id,
            state: completion.state,
            hop: completion.hop,
            response: completion.response.into(),
        }
    }
}

fn golden_completion(case: &Case) -> wit::Completion {
    let given = &case.completion;
    wit::Completion {
        delivery_id: case.delivery.id.clone(),
        received_at: case.delivery.received_at.clone(),
        config: case.delivery.config_text(),
        context: case.delivery.context.clone(),
        external_id: given.external_id.clone(),
        state: given.state_bytes(),
        hop: given.hop,
        response: golden_response(case, &given.response),
    }
}

// ---- out

fn items(items: Vec<wit::Item>) -> Result<Vec<ConvertedItem>, Fault> {
    if items.len() > limits::ITEMS_PER_DELIVERY {
        return Err(Fault::Rule(format!(
            "{} items; at most {} are taken from one delivery",
            items.len(),
            limits::ITEMS_PER_DELIVERY
        )));
    }
    let mut room = Room::for_delivery();
    Ok(items
        .into_iter()
        .enumerate()
        .map(|(index, item)| {
            taken(item, &mut room).unwrap_or_else(|(what, field)| ConvertedItem {
                // An invalid item belongs to the connection that received it, where it is
                // shown.
                route: Vec::new(),
                outcome: ConversionOutcome::Invalid(InputProblem {
                    message: cut_note(format!("the converter gave {what}")),
                    path: format!("items.{index}.{field}"),
                }),
            })
        })
        .collect())
}

/// Converts an item. The error is the rule that it breaks, and the field. Its size is
/// bounded first.
fn taken(mut item: wit::Item, room: &mut Room) -> Result<ConvertedItem, RuleViolation> {
    let cuts = bounds::item(&mut item, room)?;
    let wit::Item { route, outcome } = item;
    Ok(ConvertedItem {
        route: storable_pairs(route),
        outcome: self::outcome(outcome, cuts)?,
    })
}

fn outcome(outcome: wit::Outcome, cuts: Vec<String>) -> Result<ConversionOutcome, RuleViolation> {
    Ok(match outcome {
        wit::Outcome::Lead(lead) => ConversionOutcome::Lead(Box::new(self::lead(lead, cuts))),
        wit::Outcome::Fetch(fetch) => {
            let request = HttpRequest::try_from(fetch.request)
                .map_err(|unknown| (unknown.to_string(), "fetch.request".to_owned()))?;
            rules::request(&request).map_err(|what| (what, "fetch.request".to_owned()))?;
            ConversionOutcome::Fetch(Box::new(FetchRequest {
                external_id: fetch.external_id.map(storable),
                request,
                state: fetch.state,
            }))
        }
        wit::Outcome::Ignored(why) => ConversionOutcome::Ignored(cut_note(why)),
        wit::Outcome::Invalid(problem) => ConversionOutcome::Invalid(problem.into()),
    })
}

/// Converts a lead that lost these values. Its blank texts are absent.
fn lead(lead: wit::Lead, cuts: Vec<String>) -> Lead {
    let mut as_text = Vec::new();
    let listing = |listing: wit::Listing| {
        Some(Listing {
            kind: storable(listing.kind),
            reference: given(listing.reference)?,
        })
    };
    let campaign = lead.campaign.into_iter();
    Lead {
        external_id: given(lead.external_id),
        // No lead is lost because of an unknown word.
        action: Action::from_text(&lead.action).unwrap_or(Action::Create),
        is_test: lead.is_test,
        name: given(lead.name),
        phones: given_list(lead.phones),
        emails: given_list(lead.emails),
        region: given(lead.region),
        listings: lead.listings.into_iter().filter_map(listing).collect(),
        message: given(lead.message),
        occurred_at: given(lead.occurred_at),
        source: given(lead.source),
        consents: lead
            .consents
            .into_iter()
            .map(|consent| Consent {
                purpose: storable(consent.purpose),
                granted: consent.granted,
                text: storable(consent.text),
            })
            .collect(),
        campaign: campaign
            .filter_map(|(name, value)| Some((storable(name), given(value)?)))
            .collect(),
        attributes: attributes(lead.attributes, &mut as_text),
        as_text,
        cuts: cuts.into_iter().map(storable).collect(),
    }
}

/// Returns the items of a golden case as the host would accept them, so that the author
/// sees the result of a delivery.
fn as_taken(mut given: Vec<wit::Item>) -> Result<Vec<wit::Item>, Fault> {
    let taken = items(given.clone())?;
    for (given, taken) in given.iter_mut().zip(taken) {
        if let ConversionOutcome::Invalid(problem) = taken.outcome
            && !matches!(given.outcome, wit::Outcome::Invalid(_))
        {
            given.outcome = wit::Outcome::Invalid(types::core::Problem {
                message: problem.message,
                path: problem.path,
            });
        }
    }
    Ok(given)
}

impl From<wit::Failure> for FetchFailure {
    fn from(failure: wit::Failure) -> Self {
        Self {
            // A retry of an unknown category loses nothing.
            category: FailureCategory::from_text(&failure.category)
                .unwrap_or(FailureCategory::Retry),
            message: cut_note(failure.message),
            retry_after: failure
                .retry_after_seconds
                .map(|seconds| Duration::from_secs(u64::from(seconds))),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_character_zero_is_replaced_in_every_text() {
        let zero = || "a\0b".to_owned();
        let shown = "a\u{fffd}b";
        let lead = wit::Lead {
            external_id: Some(zero()),
            action: "create".to_owned(),
            is_test: false,
            name: Some(zero()),
            phones: vec![zero()],
            emails: vec![zero()],
            region: Some(zero()),
            listings: vec![wit::Listing {
                kind: zero(),
                reference: zero(),
            }],
            message: Some(zero()),
            occurred_at: Some(zero()),
            source: Some(zero()),
            consents: vec![wit::Consent {
                purpose: zero(),
                granted: true,
                text: zero(),
            }],
            campaign: vec![(zero(), zero())],
            attributes: vec![(zero(), r#"{"x\u0000": ["\u0000", 1.50]}"#.to_owned())],
        };
        let item = wit::Item {
            route: vec![(zero(), zero())],
            outcome: wit::Outcome::Lead(lead),
        };
        let items = items(vec![item]).expect("one item");
        assert_eq!(items[0].route, [(shown.to_owned(), shown.to_owned())]);
        let ConversionOutcome::Lead(lead) = &items[0].outcome else {
            panic!("a lead");
        };
        let text = format!("{lead:?}");
        assert!(!text.contains("\\0") && !text.contains('\0'), "{text}");
        assert_eq!(lead.name.as_deref(), Some(shown));
        assert_eq!(
            Value::Object(lead.attributes.clone()).to_string(),
            "{\"a\u{fffd}b\":{\"x\u{fffd}\":[\"\u{fffd}\",1.50]}}"
        );
        assert_eq!(notes(vec![zero()]), [shown]);
        let problem = InputProblem::from(types::core::Problem {
            message: zero(),
            path: zero(),
        });
        assert_eq!(
            (problem.message.as_str(), problem.path.as_str()),
            (shown, shown)
        );
    }
}
