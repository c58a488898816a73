//! Converts a few deliveries with the version that serves and with the one before it, in the lane of
//! trials and without any effect: whether the previous version does better on the same deliveries.

use std::sync::Arc;

use super::sketch::TrialVerdict;
use super::{leads, version};
use crate::domain::id::{ConnectionId, DeliveryId};
use crate::domain::plugin::Digest;
use crate::limits;
use crate::pipeline::convert::{Converted, convert};
use crate::pipeline::failure::ConvertError;
use crate::pipeline::state::Pipeline;
use crate::pipeline::versions::{activation, loaded};
use crate::plugin::{CallBudget, Loaded};

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
    /// The version that converted them.
    pub digest: Digest,
    /// In the order in which they are tried, until enough of them were.
    pub deliveries: Vec<DeliveryId>,
    pub asked: Asked,
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

    async fn verdict(&self, pipeline: &Arc<Pipeline>) -> Result<TrialVerdict, String> {
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
        let mut verdict = TrialVerdict {
            version: version(&active),
            previous: None,
            tried: 0,
            faults: 0,
            better: 0,
        };
        let Some(digest) = activation.previous else {
            return Ok(verdict);
        };
        let previous = loaded(pipeline, &digest)
            .await
            .map_err(|error| error.to_string())?;
        let Some(previous) = previous else {
            return Ok(verdict);
        };
        if previous.kind != active.kind {
            return Ok(verdict);
        }
        verdict.previous = Some(version(&previous));
        for id in &self.deliveries {
            if verdict.tried >= limits::BLAME_DELIVERIES {
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
        let live = pipeline.connections.get(&self.connection).await;
        let live = live.map_err(|error| error.to_string())?;
        let live = live.ok_or("the connection no longer exists")?;
        let by = |plugin| convert(pipeline, &live, plugin, &request, CallBudget::Trial);
        let now = by(active).await;
        // A failure that does not repeat is of the host, or has passed.
        let is_as_before = match &self.asked {
            Asked::Failures => fails(&now),
            Asked::Fields(_) => now.is_ok(),
        };
        if !Converted::was_made(&now) || !is_as_before {
            return Ok(());
        }
        let before = by(previous).await;
        if !Converted::was_made(&before) {
            return Ok(());
        }
        verdict.tried += 1;
        verdict.faults += u32::from(now.is_err());
        let is_better = match (&self.asked, &now, &before) {
            (Asked::Failures, _, before) => !fails(before),
            (Asked::Fields(fields), Ok(now), Ok(before)) => {
                leads(&before.result.items).reads_more(&leads(&now.result.items), fields)
            }
            (Asked::Fields(_), _, _) => false,
        };
        verdict.better += u32::from(is_better);
        Ok(())
    }
}

/// Returns whether the version fails on the delivery or refuses it.
fn fails(converted: &Result<Converted, ConvertError>) -> bool {
    converted
        .as_ref()
        .map_or(true, |converted| converted.problem.is_some())
}
