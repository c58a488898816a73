//! Counts the operations that never began, because the key's role does not allow them, so that refused requests do
//! not fill the audit. The first one of a key and an operation gets its row at once. Those after it are counted, and
//! one row has their count when the minute ends or the service stops.

use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::endpoints::admin::prelude::*;
use leadhost_domain::audit::Act;
use leadhost_domain::id::KeyId;

const MINUTE: Duration = Duration::from_mins(1);

/// Between two looks for minutes that have ended.
const LOOK: Duration = Duration::from_secs(1);

/// The refusals of the current minute, by key and operation: no more than there are of these.
#[derive(Default)]
pub struct RefusedActs(Mutex<RefusedTally>);

#[derive(Default)]
struct RefusedTally {
    minutes: HashMap<(KeyId, &'static str), RefusedMinute>,
    /// The service stops: each further refusal gets a row.
    is_closed: bool,
}

struct RefusedMinute {
    since: Micros,
    /// Refusals without rows.
    count: u64,
    last: Act,
}

impl RefusedActs {
    /// Counts a refusal. Returns false if it gets a row of its own.
    pub fn counts(&self, key: KeyId, act: &'static str, refusal: &Act) -> bool {
        let mut tally = self.lock();
        if tally.is_closed {
            return false;
        }
        let Some(minute) = tally.minutes.get_mut(&(key, act)) else {
            let minute = RefusedMinute {
                since: refusal.at,
                count: 0,
                last: refusal.clone(),
            };
            tally.minutes.insert((key, act), minute);
            return false;
        };
        minute.last = refusal.clone();
        minute.count += 1;
        true
    }

    /// Stores the counts of the minutes that have ended, or all if the service stops. What cannot be stored is
    /// tried again.
    async fn write(&self, http: &Http, stops: bool) {
        let now = http.core.clock.now();
        for (key, count, row) in self.due(now, stops) {
            match http.core.store.add_audit(row).await {
                Ok(_) => {
                    // A flood goes on: the next refusal is not taken for the first.
                    if let Some(minute) = self.lock().minutes.get_mut(&key) {
                        minute.count -= count;
                        minute.since = now;
                    }
                }
                Err(error) if stops => {
                    tracing::error!(act = key.1, count, %error, "refusals not stored in the audit");
                }
                Err(_) => {}
            }
        }
    }

    /// Returns the rows that are due with their counts, and forgets minutes that ended without any.
    fn due(&self, now: Micros, stops: bool) -> Vec<((KeyId, &'static str), u64, Act)> {
        let mut tally = self.lock();
        tally.is_closed = stops;
        let is_due = |minute: &RefusedMinute| stops || !minute.since.is_recent(now, MINUTE);
        tally
            .minutes
            .retain(|_, minute| minute.count > 0 || !is_due(minute));
        let due = tally.minutes.iter().filter(|(_, minute)| is_due(minute));
        due.map(|(key, minute)| {
            let mut detail: Value = serde_json::from_str(&minute.last.detail).unwrap_or_default();
            detail["count"] = json!(minute.count);
            detail["since"] = json!(minute.since);
            let row = Act {
                at: now,
                detail: detail.to_string(),
                ..minute.last.clone()
            };
            (*key, minute.count, row)
        })
        .collect()
    }

    fn lock(&self) -> MutexGuard<'_, RefusedTally> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Stores the counts when their minutes end, and the last ones before the drain ends.
pub async fn run(http: Arc<Http>) {
    let shutdown = http.core.shutdown.clone();
    let _hold = shutdown.hold();
    loop {
        let stops = tokio::select! {
            () = tokio::time::sleep(LOOK) => false,
            () = shutdown.begun() => true,
        };
        http.refused_acts.write(&http, stops).await;
        if stops {
            return;
        }
    }
}
