//! Compares both versions on deliveries that were answered, in the shadow stage and in the
//! probation, and on sends whose outcome was stored, in every stage. The calls run in the lane of
//! trials, so that live deliveries keep their share of the threads, and have no effect.

use std::collections::VecDeque;
use std::sync::Weak;

use crate::prelude::*;
use crate::rollout::state::{Next, Turn, Waiting};
use crate::rollout::{self, LiveRollout, sends};
use crate::verify::{self, Part, conversion::Compared};

const RECENT: usize = 64;

pub async fn run(pipeline: Weak<Pipeline>, plugin: String, number: i64, mut waiting: Waiting) {
    let mut recent = VecDeque::new();
    while let Some(next) = waiting.next().await {
        let Some(pipeline) = pipeline.upgrade() else {
            return;
        };
        if pipeline.shutdown.has_begun() {
            return;
        }
        let live = pipeline.rollouts.get(&plugin);
        let Some(live) = live.filter(|live| live.rollout.number == number) else {
            return;
        };
        // A delivery with several pointers is offered after each fetch.
        if let Next::Delivery(id) = next {
            if recent.contains(&id) {
                live.observed.pass_over();
                continue;
            }
            recent.push_back(id);
            if recent.len() > RECENT {
                recent.pop_front();
            }
        }
        match next {
            Next::Delivery(id) => delivery(&pipeline, &live, id).await,
            Next::Send(sent) => {
                let compared = sends::both(&pipeline, &live, *sent).await;
                add(&pipeline, &live, Part::Sends, compared);
            }
        }
    }
}

async fn delivery(pipeline: &Arc<Pipeline>, live: &LiveRollout, id: DeliveryId) {
    let compared = verify::one(pipeline, &live.stable, &live.candidate, id);
    match compared.await {
        Ok(compared) => add(pipeline, live, Part::Deliveries, compared),
        Err(_) => live.observed.drop_one(Turn::Waited),
    }
}

fn add(pipeline: &Pipeline, live: &LiveRollout, part: Part, compared: Compared) {
    match compared {
        Compared::Both(both) => {
            let turn = (part, Turn::Waited);
            rollout::observed::record(pipeline, live, turn, both.comparison, both.cost);
        }
        // Its person may have been erased while it waited.
        Compared::Emptied | Compared::NotTried => live.observed.drop_one(Turn::Waited),
    }
}
