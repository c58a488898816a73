//! Decides which version converts a delivery while a rollout is open, and records the comparison.
//! The sends of an adapter are in [`sends`], the sender checks in [`checks`].
//!
//! In the canary stage the stable version converts every delivery first. Its result names the
//! lead, so one lead keeps one version over retries and hosts; it is the fallback if the
//! candidate fails; and the candidate is compared with it on the same delivery. A source that changes its
//! payloads changes both results, and trips no guard.

pub(super) mod checks;
pub(super) mod guard;
pub(super) mod sends;
pub(super) mod state;

pub mod observed;

use sha2::{Digest as _, Sha256};

pub use self::state::{LiveRollout, Observations, SLOWER, TIMES_SLOWER};

use self::observed::{CONTROL, Winner, record};
use self::state::Turn;
use super::convert::{self, Converted};
use super::failure::ConvertError;
use super::offload;
use crate::prelude::*;
use crate::verify::Part;
use crate::verify::compare::{ComparedOutcomes, ComparedSubject};
use crate::verify::cost::{Cost, OfBoth};
use crate::verify::outcome::{ItemFields, Reason, VersionOutcome};
use leadhost_domain::difference::{ItemKind, Subject};
use leadhost_domain::hex;
use leadhost_domain::plugin::FetchFailure;

pub struct Chosen {
    pub plugin: Arc<Loaded>,
    pub converted: Result<Converted, ConvertError>,
    pub compared: bool,
    /// Whether it is of the version before the stable one, and so says nothing about the versions of the
    /// rollout.
    pub is_older: bool,
}

impl Chosen {
    /// Returns whether it can be compared after the answer: not before its fetches.
    pub fn is_complete(&self) -> bool {
        let has_fetch = self.converted.iter().any(|one| one.result.has_fetch());
        !self.compared && !has_fetch
    }
}

/// Converts a delivery with the version that the rollout of the plugin chooses, or with the active
/// one. If the candidate fails or, with guards, does harm, the stable version's result counts.
pub async fn convert(
    pipeline: &Arc<Pipeline>,
    live: &Arc<Live>,
    active: &Arc<Loaded>,
    delivery: &NewDelivery,
    budget: CallBudget,
) -> Chosen {
    let rollout = match budget {
        // An operator's replay is for the active version.
        CallBudget::Inline | CallBudget::Leased => pipeline.rollouts.get(&live.connection.plugin),
        _ => None,
    };
    let Some(rollout) = rollout else {
        return Chosen {
            plugin: Arc::clone(active),
            converted: convert::convert(pipeline, live, active, delivery, budget).await,
            compared: false,
            is_older: false,
        };
    };
    let conversion = RolloutConversion {
        pipeline,
        live,
        delivery,
        budget,
    };
    let chosen = match rollout.rollout.stage {
        RolloutStage::Canary if active.digest == rollout.stable.digest => {
            Box::pin(conversion.canary(&rollout)).await
        }
        // The activation may be a moment ahead of the stage.
        RolloutStage::Verified | RolloutStage::Canary | RolloutStage::Probation
            if active.digest == rollout.candidate.digest =>
        {
            Box::pin(conversion.probation(&rollout)).await
        }
        _ => conversion.with(active).await,
    };
    if let Ok(converted) = &chosen.converted
        && converted.problem.is_none()
    {
        converted.count(pipeline, live);
    }
    chosen
}

pub fn answered(pipeline: &Pipeline, plugin: &str, delivery: DeliveryId) {
    let Some(rollout) = pipeline.rollouts.get(plugin) else {
        return;
    };
    let active = pipeline.plugins.active(plugin);
    let is_active = active.is_some_and(|active| active.digest == rollout.candidate.digest);
    let is_counted = rollout.observed.has_counted(Subject::Delivery(delivery));
    if !is_counted && rollout.samples(delivery, is_active) {
        rollout.observed.offer(delivery);
    }
}

struct RolloutConversion<'a> {
    pipeline: &'a Arc<Pipeline>,
    live: &'a Arc<Live>,
    delivery: &'a NewDelivery,
    budget: CallBudget,
}

impl RolloutConversion<'_> {
    async fn with(&self, plugin: &Arc<Loaded>) -> Chosen {
        self.within(plugin, self.budget).await
    }

    async fn within(&self, plugin: &Arc<Loaded>, budget: CallBudget) -> Chosen {
        let converted = convert::uncounted(self.pipeline, self.live, plugin, self.delivery, budget);
        Chosen {
            plugin: Arc::clone(plugin),
            converted: converted.await,
            compared: false,
            is_older: false,
        }
    }

    async fn canary(&self, rollout: &LiveRollout) -> Chosen {
        let began = Instant::now();
        let mut stable = self.with(&rollout.stable).await;
        // It was not asked. It may convert this one, and then the candidate is compared with it.
        if rollout.rollout.plan.guards
            && is_skipped(&stable)
            && rollout.takes(&affinity(&stable.converted, self.delivery))
        {
            let asked = self.within(&rollout.stable, CallBudget::Control).await;
            if asked.converted.is_ok() {
                stable = asked;
            }
        }
        let stable_took = began.elapsed();
        // The worker converts one again that runs out of the time of a request. A second call must not outlast
        // the lease of the work.
        if overrun(&stable).is_some()
            || stable_took > PATIENCE
            || !Converted::was_made(&stable.converted)
            || !rollout.takes(&affinity(&stable.converted, self.delivery))
        {
            return stable;
        }
        let candidate = self.with(&rollout.candidate).await;
        let took = OfBoth {
            stable: stable_took,
            candidate: began.elapsed().saturating_sub(stable_took),
        };
        // An open circuit was counted when it opened; a shortage of processor time is not the fault of the
        // candidate.
        let is_open = matches!(
            &candidate.converted,
            Err(ConvertError::Call(CallError::CircuitOpen { .. }))
        );
        let is_short = overrun(&candidate).is_some_and(|budget| stable_took * CONTROL > budget);
        if is_open || is_short || !Converted::was_made(&candidate.converted) {
            rollout.observed.drop_one(Turn::AtOnce);
            return self.or_previous(rollout, stable, began).await;
        }
        let cost = Cost {
            took: Some(took),
            processor: None,
            memory: memory(&stable, &candidate),
        };
        let mut both = self.compared(stable, candidate).await;
        // Also if the candidate is activated before the answer.
        both.stable.compared = true;
        both.candidate.compared = true;
        let harmful = record(
            self.pipeline,
            rollout,
            (Part::Deliveries, Turn::AtOnce),
            both.comparison,
            cost,
        );
        let guards = rollout.rollout.plan.guards;
        let is_worse = !both.candidate_converts || guards && (harmful || both.fetches_differ);
        rollout.observed.chosen(!is_worse);
        if is_worse {
            self.or_previous(rollout, both.stable, began).await
        } else {
            both.candidate
        }
    }

    async fn or_previous(&self, rollout: &LiveRollout, stable: Chosen, began: Instant) -> Chosen {
        let is_fault =
            matches!(&stable.converted, Err(ConvertError::Call(error)) if error.is_fault());
        let has_failed = is_fault || is_skipped(&stable);
        let Some(previous) = rollout.previous.as_ref() else {
            return stable;
        };
        if !has_failed || began.elapsed() > PATIENCE {
            return stable;
        }
        let mut previous = self.with(previous).await;
        previous.is_older = true;
        match &previous.converted {
            Ok(converted) if converted.problem.is_none() => previous,
            _ => stable,
        }
    }

    async fn compared(&self, stable: Chosen, candidate: Chosen) -> ComparedResults<Chosen> {
        let is_large = [&stable, &candidate]
            .into_iter()
            .any(|one| Converted::is_large(&one.converted, self.delivery));
        let of = (self.delivery.id, &self.delivery.connection);
        compared(of, is_large, (stable, candidate), |one: &Chosen| {
            Converted::outcome(&one.converted)
        })
        .await
    }

    /// The candidate is active; the version before it is the fallback.
    async fn probation(&self, rollout: &LiveRollout) -> Chosen {
        // A guard has tripped here, and the rollback is under way.
        if rollout.observed.is_stopped() {
            return self.with(&rollout.stable).await;
        }
        let candidate = self.with(&rollout.candidate).await;
        let failed = match &candidate.converted {
            Ok(converted) => converted.problem.is_some(),
            Err(ConvertError::Call(error)) => {
                error.is_fault() || matches!(error, CallError::CircuitOpen { .. })
            }
            Err(ConvertError::Configuration(_)) => true,
            Err(ConvertError::Connection(_) | ConvertError::Undecoded(_)) => false,
        };
        let overrun = overrun(&candidate);
        if !failed && overrun.is_none() {
            if candidate.converted.is_ok() {
                rollout.observed.chosen(true);
            }
            return candidate;
        }
        let began = Instant::now();
        let mut stable = self.with(&rollout.stable).await;
        // The host may be slow for both, so both are compared after the answer, with more time.
        if overrun.is_some_and(|budget| began.elapsed() * CONTROL > budget) {
            return match stable.converted {
                Ok(_) => stable,
                Err(_) => candidate,
            };
        }
        stable.compared = true;
        if !Converted::was_made(&stable.converted) || !Converted::was_made(&candidate.converted) {
            return candidate;
        }
        let cost = Cost {
            took: None,
            processor: None,
            memory: memory(&stable, &candidate),
        };
        let both = self.compared(stable, candidate).await;
        record(
            self.pipeline,
            rollout,
            (Part::Deliveries, Turn::AtOnce),
            both.comparison,
            cost,
        );
        let is_converted = matches!(&both.stable.converted, Ok(one) if one.problem.is_none());
        if is_converted {
            rollout.observed.chosen(false);
            return both.stable;
        }
        both.candidate
    }
}

/// Returns the short time of a request, if the version ran out of it.
fn overrun(chosen: &Chosen) -> Option<Duration> {
    match &chosen.converted {
        Err(ConvertError::Call(CallError::OutOfTime {
            inline: true,
            budget,
            ..
        })) => Some(*budget),
        _ => None,
    }
}

/// Returns whether the version was not called, because it has just failed on others of the connection. One
/// that was only too slow for a request is called by the worker.
fn is_skipped(chosen: &Chosen) -> bool {
    matches!(
        &chosen.converted,
        Err(ConvertError::Call(CallError::CircuitOpen {
            inline_only: false,
            ..
        }))
    )
}

struct ComparedResults<T> {
    stable: T,
    candidate: T,
    comparison: ComparedOutcomes,
    stable_converts: bool,
    candidate_converts: bool,
    fetches_differ: bool,
}

/// Compares both results: if they are large, on a thread that serves no requests.
async fn compared<T: Send + 'static>(
    (id, connection): (DeliveryId, &ConnectionId),
    is_large: bool,
    (stable, candidate): (T, T),
    outcome: fn(&T) -> Option<VersionOutcome>,
) -> ComparedResults<T> {
    let connection = connection.clone();
    offload::run(is_large, move || {
        let compared = ComparedSubject::new(Subject::Delivery(id), &connection);
        let (before, after) = (outcome(&stable), outcome(&candidate));
        let (comparison, fetches_differ) = match (&before, &after) {
            (Some(before), Some(after)) => (
                ComparedOutcomes::compare(&compared, before, after),
                fetches(before) != fetches(after),
            ),
            _ => (ComparedOutcomes::default(), false),
        };
        let converts =
            |one: &Option<VersionOutcome>| matches!(one, Some(VersionOutcome::Converted(_)));
        ComparedResults {
            stable_converts: converts(&before),
            candidate_converts: converts(&after),
            fetches_differ,
            comparison,
            stable,
            candidate,
        }
    })
    .await
}

fn memory(stable: &Chosen, candidate: &Chosen) -> Option<OfBoth<u64>> {
    let needed = |one: &Chosen| {
        let memory = one.converted.as_ref().ok()?.memory;
        (memory > 0).then_some(memory)
    };
    Some(OfBoth {
        stable: needed(stable)?,
        candidate: needed(candidate)?,
    })
}

pub fn fallback(pipeline: &Pipeline, plugin: &Loaded) -> Option<Arc<Loaded>> {
    let rollout = pipeline.rollouts.get(&plugin.description.name)?;
    (rollout.candidate.digest == plugin.digest).then(|| Arc::clone(&rollout.stable))
}

/// The longest conversion by the stable version after which the candidate converts too.
const PATIENCE: Duration = Duration::from_secs(10);

/// Returns the pointers of a conversion: a call that differs may fail where the other one does
/// not, and then there is no answer to compare.
fn fetches(outcome: &VersionOutcome) -> Vec<&ItemFields> {
    let VersionOutcome::Converted(items) = outcome else {
        return Vec::new();
    };
    let pointers = items.iter().filter(|item| item.kind == ItemKind::Fetch);
    pointers.map(|item| &item.fields).collect()
}

pub type Completed = Result<Result<Vec<ItemResult>, FetchFailure>, CallError>;

/// Compares what both versions make of the answer to a fetch: in a canary always, in a probation if the
/// candidate fails. Returns the stable version's result if it is to be used, otherwise the candidate's, and
/// which one it is.
pub async fn better(
    pipeline: &Pipeline,
    rollout: &LiveRollout,
    (delivery, connection): (DeliveryId, &ConnectionId),
    stable: Completed,
    candidate: Completed,
) -> (Completed, Winner) {
    if !was_made(&stable) || !was_made(&candidate) {
        return (candidate, Winner::Candidate);
    }
    let items = |completed: &Completed| match completed {
        Ok(Ok(items)) => items.len(),
        _ => 0,
    };
    let is_large = items(&stable).max(items(&candidate)) > limits::COMPARED_ITEMS;
    let of = (delivery, connection);
    let both = compared(of, is_large, (stable, candidate), |one| Some(outcome(one))).await;
    // In a probation a fetch is compared because it failed, and perhaps again at its next attempt.
    let is_first =
        rollout.is_canary() || rollout.observed.counts_at_once(Subject::Delivery(delivery));
    let turn = (Part::Deliveries, Turn::AtOnce);
    let harmful = is_first && record(pipeline, rollout, turn, both.comparison, Cost::default());
    let is_harm = harmful && rollout.rollout.plan.guards;
    let is_worse = both.stable_converts && (!both.candidate_converts || is_harm);
    rollout.observed.chosen(!is_worse);
    if is_worse {
        (both.stable, Winner::Stable)
    } else {
        (both.candidate, Winner::Candidate)
    }
}

fn was_made(completed: &Completed) -> bool {
    !completed.as_ref().is_err_and(CallError::is_not_made)
}

fn outcome(completed: &Completed) -> VersionOutcome {
    match completed {
        Ok(Ok(items)) => VersionOutcome::from_items(items),
        Ok(Err(failure)) => VersionOutcome::Refused(Reason::Plugin(failure.message.clone())),
        Err(error) => VersionOutcome::Failed(error.into()),
    }
}

/// Returns what identifies the lead of a delivery: the external id, phone or e-mail address of the
/// first lead or event, or else the delivery's body.
fn affinity(converted: &Result<Converted, ConvertError>, delivery: &NewDelivery) -> String {
    let items = converted.iter().flat_map(|one| &one.result.items);
    let key = items.into_iter().find_map(|item| match &item.result {
        ItemResult::Lead(lead) => lead
            .external_id
            .clone()
            .or_else(|| Some(lead.phones.first()?.best().to_owned()))
            .or_else(|| lead.emails.first().cloned()),
        ItemResult::Fetch(fetch) => fetch.external_id.clone(),
        _ => None,
    });
    let within = delivery.connection.as_str();
    match key {
        Some(key) => format!("{within} {key}"),
        None => {
            let body = hex::encode(&Sha256::digest(delivery.body.shared()));
            format!("{within} {body}")
        }
    }
}
