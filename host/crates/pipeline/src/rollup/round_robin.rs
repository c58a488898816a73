//! Runs pieces of work in small steps that take turns: a long piece does not delay the
//! others, and a failing one ends alone.

use std::collections::VecDeque;

use tokio::task::JoinSet;

use super::permit::{RoundPermit, RoundStop};
use crate::prelude::*;

pub enum StepOutcome {
    More,
    Done,
    /// Another holder works on the same piece: it is retried a moment later.
    Passed,
}

pub struct UnfinishedPieces<T> {
    /// The time was up.
    pub left: Vec<T>,
    pub failed: Vec<(T, StoreError)>,
}

/// The pause before a piece that another holder works on is retried.
const ASIDE: Duration = Duration::from_millis(5);

/// Runs the steps of all pieces in turn. Each piece gets at least one step; after `until` no
/// further step begins.
pub async fn all<T, F, Step>(
    pipeline: &Arc<Pipeline>,
    permit: &mut RoundPermit<'_>,
    pieces: Vec<T>,
    until: Instant,
    step: F,
) -> Result<UnfinishedPieces<T>, RoundStop>
where
    T: Clone + Send + 'static,
    F: Fn(Arc<Pipeline>, T) -> Step,
    Step: Future<Output = Result<StepOutcome, StoreError>> + Send + 'static,
{
    let at_once = at_once(pipeline);
    let mut first = pieces.len();
    let mut waiting = VecDeque::from(pieces);
    let mut steps = JoinSet::new();
    let mut under_way = HashMap::new();
    let mut failed = Vec::new();
    let mut cut = None;
    loop {
        while cut.is_none() && steps.len() < at_once && (first > 0 || Instant::now() < until) {
            let Some(piece) = waiting.pop_front() else {
                break;
            };
            if let Err(why) = permit.check().await {
                cut = Some(why);
                break;
            }
            first = first.saturating_sub(1);
            let id = steps.spawn(step(Arc::clone(pipeline), piece.clone())).id();
            under_way.insert(id, piece);
        }
        // Steps in progress complete even if the round ends.
        let Some(ended) = steps.join_next_with_id().await else {
            break;
        };
        let (id, turn) = match ended {
            Ok((id, turn)) => (id, turn),
            Err(defect) => {
                let what = format!("a step did not finish: {defect}");
                (defect.id(), Err(StoreError::Inconsistent { what }))
            }
        };
        let piece = under_way.remove(&id).expect("each step has its piece");
        match turn {
            Ok(StepOutcome::More) => waiting.push_back(piece),
            Ok(StepOutcome::Done) => {}
            Ok(StepOutcome::Passed) => {
                waiting.push_back(piece);
                tokio::time::sleep(ASIDE).await;
            }
            Err(error) if is_of_the_store(&error) => cut = Some(error.into()),
            Err(error) => failed.push((piece, error)),
        }
    }
    match cut {
        Some(why) => Err(why),
        None => Ok(UnfinishedPieces {
            left: waiting.into(),
            failed,
        }),
    }
}

/// Returns a quarter of the connections, so that requests find free ones. A file has one
/// writer, so a second step would only wait for the first.
fn at_once(pipeline: &Pipeline) -> usize {
    let most = pipeline.store.pool().map_or(1, |pool| pool.most);
    let quarter = usize::try_from(most / 4).unwrap_or(1);
    quarter.clamp(1, limits::ROLLUP_STEPS_AT_ONCE)
}

/// Returns whether every piece would fail in the same way.
fn is_of_the_store(error: &StoreError) -> bool {
    match error {
        StoreError::Full
        | StoreError::Unavailable(_)
        | StoreError::Lost(_)
        | StoreError::Open(_) => true,
        StoreError::Busy
        | StoreError::Contended
        | StoreError::Inconsistent { .. }
        | StoreError::Outdated
        | StoreError::Query(_)
        | StoreError::Refused(_) => false,
    }
}
