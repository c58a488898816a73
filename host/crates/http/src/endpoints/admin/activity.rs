//! `GET /admin/v1/activity?period=hour|day|week`: what came in and went out, by connection and
//! instance. The counts are those that this host keeps in memory; a request for old ones has them made
//! again, and waits no longer than a page may.

use crate::endpoints::admin::prelude::*;
use leadhost_admin_api::activity::{Activity, ActivityPeriod, ActivityRow};
use leadhost_pipeline::activity::{ActivityCounts, ActivitySeries, HOUR, SLOTS_PER_HOUR};

describe!(show, |operation| {
    operation
        .summary("Shows what came in and went out, by connection and instance")
        .describe("Each host keeps the counts in memory and makes them again at a request, at most every ten seconds. After its start, the first count of a busy week takes some seconds; until then `countedAt` is null.")
        .period()
        .answers::<Activity>(200, "The counts.")
        .refuses(&[400])
});
pub async fn show(call: &Call<'_>) -> ApiResult {
    let period = period(&call.query())?;
    let now = call.http.core.clock.now();
    let activity = &call.http.pipeline.activity;
    if activity.is_due(now) {
        let counting = call.to_end(|http| async move {
            let counted = http.pipeline.activity.count(&http.core);
            if let Err(error) = counted.await {
                tracing::debug!(%error, "activity was not counted");
            }
        });
        // It goes on if it takes longer, and the next request shows it.
        let _ = tokio::time::timeout(limits::ACTIVITY_WAIT, counting).await;
    }
    let (counted_at, all) = activity.counted();
    let slots = PeriodSlots::ending_at(period, now);
    let series = all.values().filter_map(|series| slots.row(series));
    let series = series.collect();
    reply::ok(&Activity {
        counted_at,
        period,
        slots: slots.starts(),
        series,
    })
}

pub(super) fn period(query: &Query<'_>) -> ApiResult<ActivityPeriod> {
    let period = query.word(
        "period",
        "a period",
        &ActivityPeriod::ALL,
        ActivityPeriod::as_str,
    )?;
    Ok(period.unwrap_or_default())
}

/// The slots of a period, in units that are counted: five minutes or hours.
pub(super) struct PeriodSlots {
    pub(super) of_hours: bool,
    units: u32,
    first: i64,
    count: i64,
}

impl PeriodSlots {
    pub(super) fn ending_at(period: ActivityPeriod, now: Micros) -> Self {
        let (of_hours, units, count) = match period {
            ActivityPeriod::Hour => (false, 1, SLOTS_PER_HOUR),
            ActivityPeriod::Day => (true, 1, 24),
            ActivityPeriod::Week => (true, 6, 28),
        };
        let last = now.slot(unit(of_hours) * units);
        Self {
            of_hours,
            units,
            first: last - count + 1,
            count,
        }
    }

    pub(super) fn len(&self) -> usize {
        usize::try_from(self.count).unwrap_or_default()
    }

    pub(super) fn within<'a, T>(
        &self,
        counts: &'a BTreeMap<i64, T>,
    ) -> impl Iterator<Item = (usize, &'a T)> {
        let units = i64::from(self.units);
        let begin = self.first * units;
        let within = counts.range(begin..begin + self.count * units);
        within.filter_map(move |(at, one)| Some((usize::try_from((at - begin) / units).ok()?, one)))
    }

    pub(super) fn starts(&self) -> Vec<Micros> {
        let length = unit(self.of_hours) * self.units;
        let slots = self.first..self.first + self.count;
        slots.map(|slot| Micros::from_slot(slot, length)).collect()
    }

    /// Returns the row of a series. `None` if it took nothing.
    fn row(&self, series: &ActivitySeries) -> Option<ActivityRow> {
        let counts: &BTreeMap<i64, ActivityCounts> = if self.of_hours {
            &series.hours
        } else {
            &series.slots
        };
        let zeros = vec![0; self.len()];
        let (mut taken, mut leads, mut failures) = (zeros.clone(), zeros.clone(), zeros.clone());
        let mut rejected = zeros.clone();
        let mut is_any = false;
        for (place, count) in self.within(counts) {
            taken[place] += count.taken;
            leads[place] += count.leads;
            failures[place] += count.failed;
            rejected[place] += count.rejected;
            is_any = true;
        }
        let (deliveries, messages) = if series.is_instance {
            (zeros, taken)
        } else {
            (taken, zeros)
        };
        is_any.then(|| ActivityRow {
            workspace: series.workspace.clone(),
            name: series.name.clone(),
            deliveries,
            leads,
            messages,
            failures,
            rejected,
        })
    }
}

fn unit(of_hours: bool) -> Duration {
    if of_hours {
        HOUR
    } else {
        limits::ACTIVITY_SLOT
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_are_in_the_slots_of_their_period_and_the_last_slot_is_that_of_now() {
        let now = Micros(1_800_000_000_000_000);
        let hour = now.slot(unit(true));
        let one = ActivityCounts {
            taken: 3,
            leads: 2,
            failed: 1,
            rejected: 1,
        };
        let mut series = ActivitySeries::default();
        series.hours.insert(hour, one);
        series.hours.insert(hour - 24 * 8, one);
        series.slots.insert(now.slot(unit(false)), one);
        for period in ActivityPeriod::ALL {
            let slots = PeriodSlots::ending_at(period, now);
            let starts = slots.starts();
            let last = *starts.last().expect("slots");
            assert!(last <= now, "{period:?}");
            let row = slots.row(&series).expect("it took something");
            assert_eq!(row.deliveries.len(), starts.len());
            assert_eq!(row.deliveries.last(), Some(&3));
            assert_eq!(row.deliveries.iter().sum::<u64>(), 3);
            assert_eq!(row.leads.last(), Some(&2));
            assert_eq!(row.failures.last(), Some(&1));
            assert_eq!(row.rejected.last(), Some(&1));
            assert_eq!(row.messages.iter().sum::<u64>(), 0);
        }
        assert!(
            PeriodSlots::ending_at(ActivityPeriod::Day, now)
                .row(&ActivitySeries::default())
                .is_none()
        );
    }
}
