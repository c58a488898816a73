//! Compares both versions on deliveries that were answered: in the shadow stage, and in the
//! probation. The conversions run in the lane of trials, so that live deliveries keep their share
//! of the threads, and have no effect.

use std::collections::VecDeque;
use std::sync::{Arc, Weak};

use tokio::sync::mpsc;

use crate::domain::id::DeliveryId;
use crate::pipeline::rollout::{self, LiveRollout};
use crate::pipeline::state::Pipeline;
use crate::pipeline::verify::{self, Compared};

/// Deliveries that are not compared again.
const RECENT: usize = 64;

/// Compares what arrives in the queue, until the rollout has ended.
pub async fn run(
    pipeline: Weak<Pipeline>,
    plugin: String,
    number: i64,
    mut waiting: mpsc::Receiver<DeliveryId>,
) {
    let mut recent = VecDeque::new();
    while let Some(id) = waiting.recv().await {
        // A delivery with several pointers is offered after each fetch.
        if recent.contains(&id) {
            continue;
        }
        recent.push_back(id);
        if recent.len() > RECENT {
            recent.pop_front();
        }
        let Some(pipeline) = pipeline.upgrade() else {
            return;
        };
        if pipeline.core.shutdown.has_begun() {
            return;
        }
        let live = pipeline.rollouts.of(&plugin);
        let Some(live) = live.filter(|live| live.rollout.number == number) else {
            return;
        };
        one(&pipeline, &live, id).await;
    }
}

async fn one(pipeline: &Arc<Pipeline>, live: &LiveRollout, id: DeliveryId) {
    match verify::one(pipeline, &live.stable, &live.candidate, id).await {
        Ok(Compared::Both(both)) => {
            let delivery = (both.delivery, &both.connection);
            rollout::observe(
                pipeline,
                live,
                delivery,
                &both.serving,
                &both.candidate,
                None,
            );
        }
        Ok(Compared::Emptied) => {}
        Ok(Compared::NotTried) | Err(_) => live.observed.drop_one(),
    }
}
