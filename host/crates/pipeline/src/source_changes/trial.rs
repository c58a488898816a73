//! Converts a few deliveries with the version that serves and with the one before it, in the lane of
//! trials and without any effect, to see whether the previous version does better on the same
//! deliveries. In a canary, these are the candidate and the stable version.

use std::sync::Arc;

use super::sketch::counts::Leads;
use super::sketch::verdict::TrialVerdict;
use super::{leads, version};
use crate::connections::Live;
use crate::convert::{Converted, convert};
use crate::replay_answers;
use crate::state::Pipeline;
use crate::versions::{activation, loaded};
use leadhost_domain::id::{ConnectionId, DeliveryId};
use leadhost_domain::limits;
use leadhost_domain::plugin::Digest;
use leadhost_plugin::{CallBudget, Loaded};
use leadhost_store::{KeptAnswer, NewDelivery};

/// The reason to try both versions.
#[derive(Clone, Debug)]
pub enum Asked {
    /// Deliveries keep failing.
    Failures,
    /// The share of leads with these fields fell.
    Fields(Vec<usize>),
}

/// Deliveries of one connection, to be converted with both versions.
#[derive(Clone, Debug)]
pub struct VersionTrial {
    pub connection: ConnectionId,
    pub plugin: String,
    /// The version that was called last.
    pub digest: Digest,
    /// In the order in which they are tried, until enough of them were.
    pub deliveries: Vec<DeliveryId>,
    /// The answers to their fetches on which the version failed, and which are not stored.
    pub failed: Vec<(DeliveryId, KeptAnswer)>,
    pub asked: Asked,
    /// The version whose leads had the fields, as the report names it.
    pub before: String,
}

impl VersionTrial {
    /// Returns what came of it. `None`: nothing can be said, because another version serves meanwhile,
    /// or the host, the store or the previous version could not answer.
    pub async fn run(&self, pipeline: &Arc<Pipeline>) -> Option<TrialVerdict> {
        let ran = tokio::time::timeout(limits::BLAME_TIME, self.verdict(pipeline)).await;
        match ran {
            Ok(Ok(verdict)) => Some(verdict),
            Ok(Err(why)) => self.not_made(&why),
            Err(_) => self.not_made("it took too long"),
        }
    }

    fn not_made(&self, why: &str) -> Option<TrialVerdict> {
        tracing::debug!(plugin = %self.plugin, digest = self.digest.short(), %why, "previous version not tried on deliveries");
        None
    }

    /// Returns the version that may be at fault, and the one before it, if there is one that can be
    /// called.
    async fn versions(
        &self,
        pipeline: &Arc<Pipeline>,
    ) -> Result<(Arc<Loaded>, Option<Arc<Loaded>>), String> {
        if let Some(rollout) = pipeline.rollouts.get(&self.plugin)
            && rollout.is_canary()
            && match self.asked {
                Asked::Failures => rollout.candidate.digest == self.digest,
                // Either version may have converted the last of them.
                Asked::Fields(_) => self.before == version(&rollout.stable),
            }
        {
            let (candidate, stable) = (&rollout.candidate, &rollout.stable);
            return Ok((Arc::clone(candidate), Some(Arc::clone(stable))));
        }
        let active = pipeline.core.plugins.active(&self.plugin);
        let active = active
            .filter(|active| active.digest == self.digest)
            .ok_or("another version serves")?;
        let activation = activation(pipeline, &self.plugin)
            .await
            .map_err(|error| error.to_string())?;
        let activation = activation
            .filter(|one| one.digest == self.digest)
            .ok_or("another version is about to serve")?;
        let Some(digest) = activation.previous else {
            return Ok((active, None));
        };
        let previous = loaded(pipeline, &digest)
            .await
            .map_err(|error| error.to_string())?
            .filter(|previous| previous.kind == active.kind);
        Ok((active, previous))
    }

    async fn verdict(&self, pipeline: &Arc<Pipeline>) -> Result<TrialVerdict, String> {
        let (active, previous) = self.versions(pipeline).await?;
        let mut verdict = TrialVerdict {
            version: version(&active),
            digest: active.digest.clone(),
            previous: None,
            tried: 0,
            faults: 0,
            better: 0,
        };
        let Some(previous) = previous else {
            return Ok(verdict);
        };
        verdict.previous = Some(version(&previous));
        for id in &self.deliveries {
            // A field may have fallen in few of them, so the first ones do not acquit the version.
            let is_clear = matches!(self.asked, Asked::Failures) || verdict.better > 0;
            if verdict.tried >= limits::BLAME_DELIVERIES && is_clear {
                break;
            }
            self.one(pipeline, &active, &previous, *id, &mut verdict)
                .await?;
        }
        if verdict.tried == 0 {
            return Err("none of them could be converted again as before".to_owned());
        }
        Ok(verdict)
    }

    async fn one(
        &self,
        pipeline: &Arc<Pipeline>,
        active: &Arc<Loaded>,
        previous: &Arc<Loaded>,
        id: DeliveryId,
        verdict: &mut TrialVerdict,
    ) -> Result<(), String> {
        let stored = pipeline.core.store.delivery(id).await;
        let Some(stored) = stored.map_err(|error| error.to_string())? else {
            return Ok(());
        };
        let request = stored.request;
        if request.is_emptied() {
            return Ok(());
        }
        let live = pipeline.connections.get(&request.connection).await;
        let live = live.map_err(|error| error.to_string())?;
        let live = live.ok_or("the connection no longer exists")?;
        let Some(now) = self.by(pipeline, &live, active, &request).await? else {
            return Ok(());
        };
        // A failure that does not repeat is of the host, or has passed.
        let is_as_before = match &self.asked {
            Asked::Failures => now.fails(),
            Asked::Fields(_) => matches!(now, Outcome::Read(_)),
        };
        if !is_as_before {
            return Ok(());
        }
        let Some(before) = self.by(pipeline, &live, previous, &request).await? else {
            return Ok(());
        };
        let is_better = match (&self.asked, &now, &before) {
            // It asks for something else, and nothing of that is stored.
            (
                _,
                Outcome::Failed {
                    at_answer: true, ..
                }
                | Outcome::Read(_),
                Outcome::Waits,
            ) => return Ok(()),
            (Asked::Failures, _, before) => !before.fails(),
            (Asked::Fields(fields), Outcome::Read(now), Outcome::Read(before)) => {
                before.reads_more(now, fields)
            }
            (Asked::Fields(_), _, _) => false,
        };
        verdict.tried += 1;
        verdict.faults += u32::from(matches!(now, Outcome::Failed { is_fault: true, .. }));
        verdict.better += u32::from(is_better);
        Ok(())
    }

    /// Returns what a version makes of the delivery. `None`: the host could not make a call.
    async fn by(
        &self,
        pipeline: &Arc<Pipeline>,
        live: &Arc<Live>,
        plugin: &Arc<Loaded>,
        request: &NewDelivery,
    ) -> Result<Option<Outcome>, String> {
        let budget = CallBudget::Trial;
        let converted = convert(pipeline, live, plugin, request, budget).await;
        if !Converted::was_made(&converted) {
            return Ok(None);
        }
        let failed = |is_fault, at_answer| {
            Ok(Some(Outcome::Failed {
                is_fault,
                at_answer,
            }))
        };
        let mut result = match converted {
            Err(_) => return failed(true, false),
            Ok(converted) if converted.problem.is_some() => return failed(false, false),
            Ok(converted) => converted.result,
        };
        let kept = self.failed.iter().filter(|(id, _)| *id == request.id);
        let kept = kept.map(|(_, answer)| answer.clone()).collect();
        let completed =
            replay_answers::complete_with(pipeline, plugin, request, &mut result, kept, budget);
        match completed.await {
            Ok(_) => {}
            Err(error) if error.is_of_the_host() => return Ok(None),
            Err(error) => return failed(!error.is_refusal(), true),
        }
        if result.has_fetch() {
            return Ok(Some(Outcome::Waits));
        }
        let items = result.items.iter().map(|item| &item.result);
        Ok(Some(Outcome::Read(leads(items).unwrap_or_default())))
    }
}

/// The result of a version for a delivery, with the stored answers to its fetches.
enum Outcome {
    /// It fails, or refuses the delivery or an answer.
    Failed {
        is_fault: bool,
        at_answer: bool,
    },
    /// Leads are still to be fetched.
    Waits,
    Read(Leads),
}

impl Outcome {
    fn fails(&self) -> bool {
        matches!(self, Self::Failed { .. })
    }
}
