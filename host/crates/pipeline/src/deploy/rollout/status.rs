//! The status of a rollout: the sum of the observations of all hosts, and which of them act on it.

use crate::deploy::stored::rollout_of;
use crate::prelude::*;
use crate::rollout::Observations;
use crate::verify::{self, Part};
use leadhost_domain::difference::Example;
use leadhost_domain::host_names::{self, Behind};
use leadhost_domain::text::counted;

#[derive(Debug)]
pub struct RolloutStatus {
    pub rollout: Rollout,
    pub seen: Observations,
    pub hosts: Vec<String>,
    /// Live hosts that do not, with the reason.
    pub behind: Vec<Behind>,
}

impl RolloutStatus {
    pub fn step_compared(&self) -> u64 {
        self.seen.in_step(self.rollout.percent())
    }

    /// Returns why a stage or step that has lasted for this time goes on, in words that follow
    /// "waits for". `None`: it has not lasted for its time, or it ends now.
    pub fn waits_for(&self, spent: Duration) -> Option<String> {
        let rollout = &self.rollout;
        let plan = &rollout.plan;
        if rollout.stage == RolloutStage::Verified && !self.behind.is_empty() {
            return Some("every host to prepare the versions".to_owned());
        }
        if rollout.stage != RolloutStage::Canary || rollout.paused || !rollout.is_time(spent) {
            return None;
        }
        if !self.behind.is_empty() {
            return Some("every host to follow".to_owned());
        }
        let (made, needed) = (self.step_compared(), plan.step_comparisons);
        if made < needed {
            let more = counted(needed - made, "more comparison", "more comparisons");
            return Some(format!("{more}: {made} of {needed} in this step"));
        }
        // A rollout that never had an effect has proved nothing.
        if self.seen.served == 0 && self.seen.saved > 0 {
            return Some(format!(
                "a first result of the candidate that can be used, of {} that it was chosen for; an operator may promote it or roll it back",
                self.seen.saved
            ));
        }
        if rollout.step + 1 < plan.steps.len() {
            return None;
        }
        if rollout.percent() < 100 {
            return Some(
                "an operator to promote it or roll it back: its last step is below 100 %"
                    .to_owned(),
            );
        }
        // A version that did nothing has proved nothing: an operator may promote it.
        let (deliveries, sends) = (&self.seen.tally, &self.seen.sends);
        let compared = deliveries.differences.compared + sends.differences.compared;
        (compared == 0).then(|| "a first comparison".to_owned())
    }

    pub fn failure(&self) -> Option<&Example> {
        let parts = Part::ALL.into_iter();
        let mut examples =
            parts.flat_map(|part| &self.seen.part(part).differences.newly_failing.examples);
        examples.next()
    }

    pub fn drift(&self, policy: &config::VerifySection) -> Vec<String> {
        let parts = Part::ALL.into_iter();
        let drift = parts.flat_map(|part| verify::drift(part, self.seen.part(part), policy));
        drift.collect()
    }
}

#[leadhost_boxed::boxed]
pub async fn latest(
    pipeline: &Pipeline,
    plugin: &str,
) -> Result<Option<RolloutStatus>, StoreError> {
    match rollout_of(pipeline, plugin).await? {
        Some(rollout) => Ok(Some(load(pipeline, rollout).await?)),
        None => Ok(None),
    }
}

#[leadhost_boxed::boxed]
pub async fn load(pipeline: &Pipeline, rollout: Rollout) -> Result<RolloutStatus, StoreError> {
    let store = &pipeline.store;
    let reports = store.rollout_reports(&rollout.name, rollout.number).await?;
    let mut live: Vec<(HostId, String)> = if store.is_shared() {
        let hosts = store.hosts().await?;
        let live = hosts.into_iter().filter(|host| host.alive);
        live.map(|host| (host.id, host.name)).collect()
    } else {
        Vec::new()
    };
    let own = pipeline.fleet.host();
    // Before its first heartbeat a host is not among them.
    if !live.iter().any(|(id, _)| *id == own) {
        live.push((own, pipeline.fleet.name().to_owned()));
    }
    let names = host_names::distinct(live.iter().map(|(id, name)| (*id, name.as_str())));
    for ((_, name), distinct) in live.iter_mut().zip(names) {
        *name = distinct;
    }
    let is_open = rollout.stage.is_open();
    let mut status = RolloutStatus {
        rollout,
        seen: Observations::default(),
        hosts: Vec::new(),
        behind: Vec::new(),
    };
    let mut known = HashSet::new();
    for report in reports {
        let is_live = live.iter().any(|(id, _)| *id == report.host);
        // `None`: a host of another release, which reports in another form.
        let seen: Option<Observations> = serde_json::from_value(report.seen).ok();
        if let Some((_, host)) = live.iter().find(|(id, _)| *id == report.host) {
            known.insert(report.host);
            let reason = match &report.error {
                // If the rollout has ended, the error of a host that does not follow it no longer matters.
                Some(_) if !is_open => None,
                Some(error) => Some(error.clone()),
                None if report.generation < status.rollout.generation => {
                    Some(format!("it still acts on generation {}", report.generation))
                }
                None if is_open && seen.is_none() => {
                    Some("it is of another release, whose reports cannot be read".to_owned())
                }
                None => None,
            };
            match reason {
                None => status.hosts.push(host.clone()),
                Some(reason) => status.behind.push(Behind {
                    host: host.clone(),
                    reason,
                }),
            }
        }
        // Reports of hosts that have stopped count too.
        let Some(mut seen) = seen else {
            continue;
        };
        // Waiting comparisons were in the memory of the host, so they are lost.
        if !is_open || !is_live {
            seen.drop_waiting();
        }
        status.seen.merge(seen);
    }
    live.retain(|(id, _)| is_open && !known.contains(id));
    status
        .behind
        .extend(live.into_iter().map(|(_, host)| Behind {
            host,
            reason: "it has not prepared the versions yet".to_owned(),
        }));
    Ok(status)
}
