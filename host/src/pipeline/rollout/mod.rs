//! Which version converts a delivery while a rollout is open, and what is seen of it.
//!
//! In the canary stage the stable version converts every delivery first. Its result names the
//! lead, so one lead keeps one version over retries and hosts; it stands by if the candidate
//! fails; and the candidate is compared with it on the same delivery. A source that changes its
//! payloads changes both results, and trips no guard.

pub(super) mod guard;
pub(super) mod state;

use std::sync::Arc;
use std::time::{Duration, Instant};

use sha2::{Digest as _, Sha256};

pub use self::state::{LiveRollout, Observations};

use self::state::Took;
use super::connections::Live;
use super::convert::{self, Converted};
use super::failure::ConvertError;
use crate::domain::hex;
use crate::domain::id::{ConnectionId, DeliveryId};
use crate::domain::plugin::Failure;
use crate::domain::rollout::RolloutStage;
use crate::pipeline::state::Pipeline;
use crate::pipeline::verify::compare::{Tally, Whose};
use crate::pipeline::verify::seen::{Fields, ItemKind, Seen};
use crate::plugin::{Budget, CallError, Loaded};
use crate::store::{ItemResult, NewDelivery};

/// The result of a conversion, and the version that it is of.
pub struct Chosen {
    pub plugin: Arc<Loaded>,
    pub converted: Result<Converted, ConvertError>,
    /// Whether both versions were compared on it already.
    pub compared: bool,
}

impl Chosen {
    /// Returns whether it can be compared after the answer: not before its fetches.
    pub fn is_complete(&self) -> bool {
        let mut items = self.converted.iter().flat_map(|one| &one.result.items);
        !self.compared && !items.any(|item| matches!(item.result, ItemResult::Fetch(_)))
    }
}

/// Converts a delivery with the version that the rollout of the plugin chooses, or with the
/// active one. If the candidate fails or, with guards, does harm, the result is that of the
/// stable version.
pub async fn convert(
    pipeline: &Arc<Pipeline>,
    live: &Arc<Live>,
    active: &Arc<Loaded>,
    delivery: &NewDelivery,
    budget: Budget,
) -> Chosen {
    let rollout = match budget {
        // An operator's replay is for the active version.
        Budget::Inline | Budget::Worker => pipeline.rollouts.of(&live.connection.plugin),
        _ => None,
    };
    let Some(rollout) = rollout else {
        return Chosen {
            plugin: Arc::clone(active),
            converted: convert::convert(pipeline, live, active, delivery, budget).await,
            compared: false,
        };
    };
    let conversion = Conversion {
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
        RolloutStage::Canary | RolloutStage::Probation
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

/// Has a delivery compared whose sender was answered, if the rollout of the plugin samples it.
pub fn answered(pipeline: &Pipeline, plugin: &str, delivery: DeliveryId) {
    if let Some(rollout) = pipeline.rollouts.of(plugin)
        && rollout.samples(delivery)
    {
        rollout.observed.offer(delivery);
    }
}

/// The conversion of one delivery.
struct Conversion<'a> {
    pipeline: &'a Arc<Pipeline>,
    live: &'a Arc<Live>,
    delivery: &'a NewDelivery,
    budget: Budget,
}

impl Conversion<'_> {
    async fn with(&self, plugin: &Arc<Loaded>) -> Chosen {
        let converted =
            convert::uncounted(self.pipeline, self.live, plugin, self.delivery, self.budget);
        Chosen {
            plugin: Arc::clone(plugin),
            converted: converted.await,
            compared: false,
        }
    }

    async fn canary(&self, rollout: &LiveRollout) -> Chosen {
        let began = Instant::now();
        let stable = self.with(&rollout.stable).await;
        let stable_took = began.elapsed();
        // The worker converts it again.
        if matches!(
            stable.converted,
            Err(ConvertError::Call(CallError::OutOfTime {
                inline: true,
                ..
            }))
        ) {
            return stable;
        }
        // A second call must not outlast the lease of the work.
        if stable_took > PATIENCE || !rollout.takes(&affinity(&stable.converted, self.delivery)) {
            return stable;
        }
        let Some(before) = Converted::seen(&stable.converted) else {
            return stable;
        };
        let began = Instant::now();
        let candidate = self.with(&rollout.candidate).await;
        let took = Took {
            stable: stable_took,
            candidate: began.elapsed(),
        };
        let after = match &candidate.converted {
            // Its cause was counted; or the host was slow for both.
            Err(ConvertError::Call(CallError::CircuitOpen { .. })) => None,
            Err(ConvertError::Call(CallError::OutOfTime {
                inline: true,
                budget,
            })) if stable_took * CONTROL > *budget => None,
            converted => Converted::seen(converted),
        };
        let Some(after) = after else {
            rollout.observed.drop_one();
            return stable;
        };
        let delivery = (self.delivery.id, &self.delivery.connection);
        let harmful = observe(
            self.pipeline,
            rollout,
            delivery,
            &before,
            &after,
            Some(took),
        );
        let guards = rollout.rollout.plan.guards;
        let is_worse = !matches!(after, Seen::Converted(_))
            || guards && (harmful || fetches(&before) != fetches(&after));
        rollout.observed.chosen(!is_worse);
        if is_worse { stable } else { candidate }
    }

    /// The candidate is active; the version before it stands by.
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
            Err(ConvertError::Connection(_)) => false,
        };
        if !failed {
            if candidate.converted.is_ok() {
                rollout.observed.chosen(true);
            }
            return candidate;
        }
        let mut stable = self.with(&rollout.stable).await;
        stable.compared = true;
        let before = Converted::seen(&stable.converted);
        let after = Converted::seen(&candidate.converted);
        if let (Some(before), Some(after)) = (&before, &after) {
            let delivery = (self.delivery.id, &self.delivery.connection);
            observe(self.pipeline, rollout, delivery, before, after, None);
        }
        match before {
            Some(Seen::Converted(_)) => {
                rollout.observed.chosen(false);
                stable
            }
            _ => candidate,
        }
    }
}

/// Returns the version that stands by for this one, while it is in its probation.
pub fn stand_by(pipeline: &Pipeline, plugin: &Loaded) -> Option<Arc<Loaded>> {
    let rollout = pipeline.rollouts.of(&plugin.description.name)?;
    (rollout.candidate.digest == plugin.digest).then(|| Arc::clone(&rollout.stable))
}

/// The longest conversion by the stable version after which the candidate converts too.
const PATIENCE: Duration = Duration::from_secs(10);

/// A call that runs out of the short time of a request is the candidate's fault if the stable
/// version took less than one part in so many of that time just before.
const CONTROL: u32 = 4;

/// Returns the pointers of a conversion: a call that differs may fail where the other one does
/// not, and then there is no answer to compare.
fn fetches(seen: &Seen) -> Vec<&Fields> {
    let Seen::Converted(items) = seen else {
        return Vec::new();
    };
    let pointers = items.iter().filter(|item| item.kind == ItemKind::Fetch);
    pointers.map(|item| &item.fields).collect()
}

/// The answer of a version to a completion: items for the store.
pub type Completed = Result<Result<Vec<ItemResult>, Failure>, CallError>;

/// Compares what both versions make of the answer to a fetch. Returns whether the result is to be
/// that of the stable version.
pub fn prefers_stable(
    pipeline: &Pipeline,
    rollout: &LiveRollout,
    delivery: (DeliveryId, &ConnectionId),
    stable: &Completed,
    candidate: &Completed,
) -> bool {
    let seen = |completed: &Completed| match completed {
        Ok(Ok(items)) => Some(Seen::from_items(items)),
        Ok(Err(failure)) => Some(Seen::Refused(failure.message.clone())),
        Err(CallError::Busy | CallError::ShuttingDown) => None,
        Err(error) => Some(Seen::Failed(error.to_string())),
    };
    let (Some(before), Some(after)) = (seen(stable), seen(candidate)) else {
        return false;
    };
    let harmful = observe(pipeline, rollout, delivery, &before, &after, None);
    let is_worse = match (&before, &after) {
        (Seen::Converted(_), Seen::Converted(_)) => harmful && rollout.rollout.plan.guards,
        (Seen::Converted(_), _) => true,
        _ => false,
    };
    rollout.observed.chosen(!is_worse);
    is_worse
}

/// Adds a comparison to what this host has seen. Returns whether the candidate does harm.
pub fn observe(
    pipeline: &Pipeline,
    rollout: &LiveRollout,
    (delivery, connection): (DeliveryId, &ConnectionId),
    before: &Seen,
    after: &Seen,
    took: Option<Took>,
) -> bool {
    let mut one = Tally::default();
    let whose = Whose {
        delivery,
        connection,
    };
    one.add(&whose, before, after);
    let harmful = one.harm.is_harmful();
    let metrics = &pipeline.core.metrics.plugins;
    metrics.compared(&rollout.rollout.name, one.same == 1, harmful);
    one.forget_texts();
    let policy = &pipeline.core.config.verify;
    let tripped = rollout.observed.add(one, took, policy);
    let is_guarded = rollout.rollout.plan.guards && rollout.rollout.stage != RolloutStage::Shadow;
    if tripped && is_guarded && rollout.observed.stop() {
        pipeline.rollouts.hurry();
    }
    harmful
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
