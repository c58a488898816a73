//! Keeps this host in step with the fleet's active versions, and prepares proposed
//! versions. Versions compile in the background, so that heartbeats continue.

use super::state::VersionLoad;
use crate::prelude::*;
use crate::versions;
use leadhost_domain::clock::{self, Clock as _, SystemClock};
use leadhost_store::{Announcement, Preparation, Proposal};

/// The wait before a version that is active elsewhere and failed to load here is loaded
/// again.
const TRY_AGAIN: Duration = Duration::from_secs(30);

pub async fn run(pipeline: Arc<Pipeline>, shutdown: Shutdown) {
    let mut logged = false;
    loop {
        match step(&pipeline).await {
            Ok(_) => logged = false,
            Err(error) if error.is_logged() || logged => {}
            Err(error) => {
                logged = true;
                tracing::warn!(%error, "heartbeat failed");
            }
        }
        tokio::select! {
            () = pipeline.fleet.look.notified() => {}
            () = tokio::time::sleep(limits::HOST_BEAT) => {}
            () = shutdown.begun() => break,
        }
    }
    if let Err(error) = pipeline.store.leave(pipeline.fleet.host).await {
        tracing::debug!(%error, "host not deregistered, other hosts notice when its heartbeats stop");
    }
}

/// Joins the fleet. Returns when this host has loaded the fleet's active versions, or
/// failed to.
#[leadhost_boxed::boxed]
pub async fn join(pipeline: &Arc<Pipeline>) -> Result<(), StoreError> {
    if !pipeline.store.is_shared() {
        return Ok(());
    }
    while !step(pipeline).await? {
        tokio::select! {
            () = pipeline.fleet.look.notified() => {}
            () = tokio::time::sleep(limits::HOST_BEAT) => {}
        }
    }
    tracing::info!(host = %pipeline.fleet.host, name = pipeline.fleet.name, "host joined the fleet");
    Ok(())
}

/// Sends a heartbeat first, then reads the active versions: if the other hosts had considered this
/// one dead, they have switched versions by then. Returns false while a version is loading.
async fn step(pipeline: &Arc<Pipeline>) -> Result<bool, StoreError> {
    let since = clock::boot();
    let fleet = &pipeline.fleet;
    let beat = fleet.beat();
    if let Some(now) = pipeline.store.beat(&beat).await? {
        let took = clock::boot().saturating_sub(since);
        pipeline.clock.follow(now, took);
        fleet.clocks.compare(SystemClock.now(), now);
    }
    // In this order: a proposal that is gone by then may have become active.
    let proposals = pipeline.store.proposals().await?;
    let activations = pipeline.store.activations().await?;
    let mut all = true;
    for activation in &activations {
        all &= follow(pipeline, activation);
    }
    for proposal in &proposals {
        prepare(pipeline, proposal);
    }
    forget(pipeline, &proposals, &activations);
    if all {
        fleet.saw_all(since);
    }
    let now = fleet.beat();
    if now.report != beat.report {
        pipeline.store.beat(&now).await?;
        pipeline.store.announce(Announcement::Hosts).await?;
    }
    Ok(all)
}

/// Returns false while the version is loading.
fn follow(pipeline: &Arc<Pipeline>, activation: &Activation) -> bool {
    let fleet = &pipeline.fleet;
    if fleet.is_done_with(&pipeline.plugins, activation) {
        return true;
    }
    let name = &activation.name;
    if pipeline.plugins.by_digest(&activation.digest).is_some() {
        // It may have been retired just now: then it is loaded the next time.
        if let Ok(true) = fleet.serve(&pipeline.plugins, activation) {
            tracing::info!(plugin = %name, digest = activation.digest.short(), generation = activation.generation, "plugin version activated");
            pipeline.wake();
        }
        return true;
    }
    match load(pipeline, &activation.digest, None) {
        None => false,
        Some(reason) => {
            if fleet.cannot(&pipeline.plugins, activation, &reason) {
                tracing::error!(plugin = %name, digest = activation.digest.short(), reason, "active plugin version failed to load, its deliveries wait");
            }
            true
        }
    }
}

fn prepare(pipeline: &Arc<Pipeline>, proposal: &Proposal) {
    let fleet = &pipeline.fleet;
    if fleet.state().prepared.contains_key(&proposal.number) {
        return;
    }
    let failure = if pipeline.plugins.by_digest(&proposal.digest).is_some() {
        None
    } else {
        match load(pipeline, &proposal.digest, Some(proposal.number)) {
            None => return,
            failure => failure,
        }
    };
    match &failure {
        None => {
            tracing::info!(plugin = %proposal.name, digest = proposal.digest.short(), "proposed plugin version prepared")
        }
        Some(reason) => {
            tracing::error!(plugin = %proposal.name, digest = proposal.digest.short(), reason, "proposed plugin version not prepared")
        }
    }
    let preparation = Preparation {
        digest: proposal.digest.clone(),
        failure,
    };
    fleet.state().prepared.insert(proposal.number, preparation);
}

/// Starts loading a version, unless that is in progress or failed recently. Returns the
/// reason of the failure.
fn load(pipeline: &Arc<Pipeline>, digest: &Digest, number: Option<i64>) -> Option<String> {
    let mut state = pipeline.fleet.state();
    match state.loads.get(digest) {
        Some(VersionLoad::UnderWay) => return None,
        Some(VersionLoad::Failed {
            number: tried_for,
            reason,
            at,
        }) => {
            let stands = match number {
                Some(_) => *tried_for == number,
                None => at.elapsed() < TRY_AGAIN,
            };
            if stands {
                return Some(reason.clone());
            }
        }
        None => {}
    }
    state.loads.insert(digest.clone(), VersionLoad::UnderWay);
    if number.is_some() {
        state.aside.insert(digest.clone());
    }
    drop(state);
    let (pipeline, digest) = (Arc::clone(pipeline), digest.clone());
    tokio::spawn(async move {
        let reason = match versions::loaded(&pipeline, &digest).await {
            Ok(Some(_)) => None,
            Ok(None) => Some("it is not in the store".to_owned()),
            Err(error) => Some(error.to_string()),
        };
        {
            let mut state = pipeline.fleet.state();
            match reason {
                None => state.loads.remove(&digest),
                Some(reason) => {
                    let failed = VersionLoad::Failed {
                        number,
                        reason,
                        at: Instant::now(),
                    };
                    state.loads.insert(digest, failed)
                }
            };
        }
        pipeline.fleet.look.notify_one();
    });
    None
}

/// Drops what is no longer needed: reports on past proposals, versions that were loaded for
/// them and not activated, and their failures.
fn forget(pipeline: &Pipeline, proposals: &[Proposal], activations: &[Activation]) {
    let mut state = pipeline.fleet.state();
    state
        .prepared
        .retain(|number, _| proposals.iter().any(|one| one.number == *number));
    let proposed = proposals.iter().map(|one| &one.digest);
    let active = activations.iter().map(|one| &one.digest);
    let previous = activations.iter().filter_map(|one| one.previous.as_ref());
    let wanted: HashSet<&Digest> = proposed.chain(active).chain(previous).collect();
    state
        .loads
        .retain(|digest, load| matches!(load, VersionLoad::UnderWay) || wanted.contains(digest));
    let aside = std::mem::take(&mut state.aside);
    let (kept, unwanted): (HashSet<Digest>, HashSet<Digest>) = aside
        .into_iter()
        .partition(|digest| wanted.contains(digest) || state.loads.contains_key(digest));
    state.aside = kept;
    drop(state);
    for digest in unwanted {
        pipeline.plugins.retire(&digest);
    }
}
