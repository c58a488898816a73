//! On whose behalf a task works: one caller of the admin API, or the service itself. The trials and
//! comparisons of callers take turns, and share a lane of their own, so that they delay nobody else's.

use std::borrow::Cow;

use tokio::task::futures::TaskLocalFuture;

use crate::prelude::*;

/// The lane of trials, beside the lanes of connections. Each caller has one of its own.
pub const TRIAL_LANE: &str = "(trial)";

/// The id of a caller's key.
pub type Caller = Arc<str>;

tokio::task_local! {
    static CALLER: Option<Caller>;
}

/// Runs work on behalf of a caller, or of the service.
pub fn on_behalf_of<F: Future>(
    caller: Option<Caller>,
    work: F,
) -> TaskLocalFuture<Option<Caller>, F> {
    CALLER.scope(caller, work)
}

/// Returns on whose behalf this task works. `None`: the service.
pub fn current() -> Option<Caller> {
    CALLER.try_with(Clone::clone).ok().flatten()
}

/// Returns the lane of a call.
pub(super) fn lane(lane: &str) -> Cow<'_, str> {
    match current() {
        Some(caller) if lane == TRIAL_LANE => Cow::Owned(format!("{lane} {caller}")),
        _ => Cow::Borrowed(lane),
    }
}
