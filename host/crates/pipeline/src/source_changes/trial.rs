//! Converts a few deliveries with the version that serves and with the one before it, in the lane of
//! trials and without any effect, to see whether the previous version does better on the same
//! deliveries. In a canary, these are the candidate and the stable version.

use super::counts::Counts;
use super::sketch::News;
use super::{leads, version};
use crate::convert::{Converted, convert};
use crate::prelude::*;
use crate::replay_answers;
use crate::versions::{activation, loaded};
use leadhost_domain::connection::{ChangeCause, SourceChange};
use leadhost_store::KeptAnswer;

/// Deliveries of one connection, to be converted with both versions.
#[derive(Clone, Debug)]
pub struct VersionTrial {
    pub connection: ConnectionId,
    pub plugin: String,
    pub digest: Digest,
    /// In the order in which they are tried, until enough of them were.
    pub deliveries: Vec<DeliveryId>,
    /// The answers to their fetches on which the version failed, and which are not stored.
    pub failed: Vec<(DeliveryId, KeptAnswer)>,
    /// The change of leads that it is about. `None`: deliveries keep failing.
    pub of_leads: Option<News>,
}

/// The result of converting some deliveries with the version that serves and with the one before it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TrialVerdict {
    pub version: String,
    pub digest: Digest,
    /// The one before it. `None` if there is none.
    pub previous: Option<String>,
    /// The deliveries that both versions were called for, and on which the serving version still
    /// fails, if it is about failures.
    pub tried: u32,
    /// Those of them that the serving version did not just refuse.
    pub faults: u32,
    /// Those of them on which the previous version does better.
    pub better: u32,
}

/// The result of a version for a delivery, with the stored answers to its fetches.
enum Outcome {
    Failed { is_fault: bool, at_answer: bool },
    Waits,
    Read(Counts),
}

impl VersionTrial {
    /// Returns what came of it. `None`: nothing can be said, because another version serves meanwhile,
    /// or the host, the store or the previous version could not answer.
    pub async fn run(&self, pipeline: &Arc<Pipeline>) -> Option<TrialVerdict> {
        let ran = tokio::time::timeout(limits::BLAME_TIME, self.verdict(pipeline)).await;
        let why = match ran {
            Ok(Ok(verdict)) => return Some(verdict),
            Ok(Err(why)) => why,
            Err(_) => "it took too long".to_owned(),
        };
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
            && match &self.of_leads {
                None => rollout.candidate.digest == self.digest,
                // Either version may have converted the last of them.
                Some(change) => change.before == version(&rollout.stable),
            }
        {
            let (candidate, stable) = (&rollout.candidate, &rollout.stable);
            return Ok((Arc::clone(candidate), Some(Arc::clone(stable))));
        }
        let active = pipeline.plugins.active(&self.plugin);
        let active = active
            .filter(|active| active.digest == self.digest)
            .ok_or("another version serves")?;
        let activation = activation(pipeline, &self.plugin).await.map_err(text)?;
        let activation = activation
            .filter(|one| one.digest == self.digest)
            .ok_or("another version is about to serve")?;
        let Some(digest) = activation.previous else {
            return Ok((active, None));
        };
        let previous = loaded(pipeline, &digest).await.map_err(text)?;
        let previous = previous.filter(|previous| previous.kind == active.kind);
        Ok((active, previous))
    }

    async fn verdict(&self, pipeline: &Arc<Pipeline>) -> Result<TrialVerdict, String> {
        let (active, previous) = self.versions(pipeline).await?;
        let mut verdict = TrialVerdict {
            version: version(&active),
            digest: active.digest.clone(),
            previous: previous.as_deref().map(version),
            tried: 0,
            faults: 0,
            better: 0,
        };
        let Some(previous) = previous else {
            return Ok(verdict);
        };
        for id in &self.deliveries {
            // A field may have fallen in few of them, so the first ones do not acquit the version.
            let is_clear = self.of_leads.is_none() || verdict.better > 0;
            if verdict.tried >= limits::BLAME_DELIVERIES && is_clear {
                break;
            }
            let stored = pipeline.store.delivery(*id).await.map_err(text)?;
            let Some(request) = stored.map(|stored| stored.request) else {
                continue;
            };
            if request.is_emptied() {
                continue;
            }
            let live = pipeline.connections.get(&request.connection).await;
            let live = live.map_err(text)?.ok_or("the connection is gone")?;
            let made = self.outcome(pipeline, &live, &active, &request).await?;
            // A failure that does not repeat is of the host, or has passed.
            let is_repeated = |now: &Outcome| match self.of_leads {
                None => now.fails(),
                Some(_) => matches!(now, Outcome::Read(_)),
            };
            let Some(now) = made.filter(is_repeated) else {
                continue;
            };
            let made = self.outcome(pipeline, &live, &previous, &request).await?;
            let is_better = match (&self.of_leads, &now, made) {
                (_, _, None) => continue,
                (
                    None,
                    Outcome::Failed {
                        at_answer: false, ..
                    },
                    Some(Outcome::Waits),
                ) => true,
                // It asks for something else, and nothing of that is stored.
                (_, _, Some(Outcome::Waits)) => continue,
                (None, _, Some(before)) => !before.fails(),
                (Some(change), Outcome::Read(now), Some(Outcome::Read(before))) => {
                    before.reads_more(now, &change.fields)
                }
                (Some(_), _, Some(_)) => false,
            };
            verdict.tried += 1;
            verdict.faults += u32::from(matches!(now, Outcome::Failed { is_fault: true, .. }));
            verdict.better += u32::from(is_better);
        }
        if verdict.tried == 0 {
            return Err("none of them could be converted again as before".to_owned());
        }
        Ok(verdict)
    }

    /// Returns what a version makes of the delivery. `None`: the host could not make a call.
    async fn outcome(
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
        let failed = |is_fault, at_answer| Outcome::Failed {
            is_fault,
            at_answer,
        };
        let mut result = match converted {
            Err(_) => return Ok(Some(failed(true, false))),
            Ok(converted) if converted.problem.is_some() => return Ok(Some(failed(false, false))),
            Ok(converted) => converted.result,
        };
        let kept = self.failed.iter().filter(|(id, _)| *id == request.id);
        let kept = kept.map(|(_, answer)| answer.clone()).collect();
        let completed =
            replay_answers::complete_with(pipeline, plugin, request, &mut result, kept, budget);
        match completed.await {
            Ok(_) => {}
            Err(error) if error.is_of_the_host() => return Ok(None),
            Err(error) => return Ok(Some(failed(!error.is_refusal(), true))),
        }
        if result.has_fetch() {
            return Ok(Some(Outcome::Waits));
        }
        let items = result.items.iter().map(|item| &item.result);
        Ok(Some(Outcome::Read(leads(items))))
    }
}

fn text(error: impl ToString) -> String {
    error.to_string()
}

impl Outcome {
    fn fails(&self) -> bool {
        matches!(self, Self::Failed { .. })
    }
}

impl TrialVerdict {
    /// Returns the cause that the trial names, and that in words. `better`: what the previous version does;
    /// `same`: what both do.
    pub fn cause(&self, better: &str, same: &str) -> (ChangeCause, String) {
        let (version, tried, number) = (&self.version, self.tried, self.better);
        match &self.previous {
            None => {
                let by = format!("there is no version before {version} to try");
                (ChangeCause::Unknown, by)
            }
            Some(_) if number == 0 => (ChangeCause::Source, format!("{same}: the source changed")),
            Some(previous) => {
                let by = format!(
                    "new in {version}: the previous version {previous} {better} {number} of {tried} of them"
                );
                (ChangeCause::Version, by)
            }
        }
    }

    /// Returns the report that deliveries keep failing: so many of the last ones. `None` if there is
    /// nothing to report: a sender may well send what every version refuses.
    pub fn failing(&self, (failed, of): (usize, usize), at: Micros) -> Option<SourceChange> {
        if self.better == 0 && self.faults == 0 {
            return None;
        }
        let (cause, by) = self.cause("converts", "both versions fail");
        Some(SourceChange {
            what: format!("failing deliveries: {by}"),
            before: "converted".to_owned(),
            after: format!("{failed} of the last {of} fail"),
            since: at,
            parts: Vec::new(),
            failing: true,
            cause,
            digest: Some(self.digest.clone()),
        })
    }
}
