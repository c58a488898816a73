//! Commits what a stored delivery was converted to: in one write, or, when it is
//! large, part by part behind what others wait for.

use std::time::{Duration, Instant};

use crate::pipeline::state::Pipeline;
use crate::store::{Reconversion, StoreError, Write, Written};

/// The answer is that of the last part, with the items of all of them. `Stale` when
/// somebody else holds the delivery by now: what was committed stays, and who holds
/// it finds it.
pub async fn commit(pipeline: &Pipeline, conversion: Reconversion) -> Result<Written, StoreError> {
    let (delivery, lease) = (conversion.delivery, conversion.lease);
    let lasts = pipeline.core.config.worker.lease_seconds;
    let half = Duration::from_secs(u64::try_from(lasts).unwrap_or(0)) / 2;
    let mut parts = conversion.in_parts().into_iter();
    let mut items = Vec::new();
    let mut since = Instant::now();
    while let Some(mut part) = parts.next() {
        if let Some(part) = &mut part.part
            && since.elapsed() >= half
        {
            since = Instant::now();
            part.until = Some(pipeline.core.clock.now().plus_seconds(lasts));
        }
        let write = Write::Convert(Box::new(part));
        match pipeline.core.writer.submit_background(write).await? {
            Written::Done(mut outcome) => {
                items.append(&mut outcome.items);
                if parts.len() == 0 {
                    items.sort_by_key(|item| item.index);
                    items.dedup_by_key(|item| item.index);
                    outcome.items = items;
                    return Ok(Written::Done(outcome));
                }
            }
            other => return Ok(other),
        }
        if pipeline.core.shutdown.has_begun() && parts.len() > 0 {
            // The next start goes on, and needs not wait for the lease to end.
            let release = Write::Release { delivery, lease };
            pipeline.core.writer.submit_background(release).await?;
            return Ok(Written::Stale);
        }
    }
    Ok(Written::Stale)
}
