//! A captured delivery: a stored one with everything that its conversion depends on, so that it can
//! be converted outside the service, and what the serving version makes of it now. Its secrets were
//! masked when it was stored.

use super::conversion::convert_and_complete;
use super::outcome::VersionOutcome;
use crate::prelude::*;
use crate::replay_answers::ANSWERS_PER_READ;
use leadhost_store::{DeliveryDetail, KeptAnswer};

pub struct Capture {
    pub delivery: DeliveryDetail,
    pub answers: Vec<CapturedAnswer>,
    pub is_cut: bool,
    /// The outcome of the serving version. `None`: no version serves, or the host could not call it
    /// just now.
    pub outcome: Option<VersionOutcome>,
}

pub struct CapturedAnswer {
    pub answer: KeptAnswer,
    /// The state of the pointer that it completes with the serving version. `None` if that version
    /// would not ask for it.
    pub state: Option<Vec<u8>>,
}

#[leadhost_boxed::boxed]
pub async fn capture(
    pipeline: &Arc<Pipeline>,
    live: &Arc<Live>,
    serving: Option<&Arc<Loaded>>,
    delivery: DeliveryDetail,
    room: usize,
) -> Result<Capture, StoreError> {
    let made = match serving {
        Some(serving) => convert_and_complete(pipeline, serving, live, &delivery.request).await?,
        None => None,
    };
    let (outcome, used) = match made {
        Some(made) => (Some(made.outcome), made.answers),
        None => (None, Vec::new()),
    };
    let mut states: HashMap<i64, Vec<u8>> = used
        .into_iter()
        .map(|used| (used.number, used.state))
        .collect();
    let (kept, is_cut) = answers(pipeline, &delivery, room).await?;
    let answers = kept.into_iter().map(|answer| CapturedAnswer {
        state: states.remove(&answer.number),
        answer,
    });
    Ok(Capture {
        answers: answers.collect(),
        delivery,
        is_cut,
        outcome,
    })
}

async fn answers(
    pipeline: &Pipeline,
    delivery: &DeliveryDetail,
    room: usize,
) -> Result<(Vec<KeptAnswer>, bool), StoreError> {
    let (mut kept, mut bytes, mut after) = (Vec::new(), 0, 0);
    loop {
        let store = &pipeline.store;
        let page = store
            .answers(delivery.summary.id, after, ANSWERS_PER_READ)
            .await?;
        let Some(last) = page.last() else {
            return Ok((kept, false));
        };
        after = last.number;
        for answer in page {
            bytes += answer.response.body.len();
            if bytes > room {
                return Ok((kept, true));
            }
            kept.push(answer);
        }
    }
}
