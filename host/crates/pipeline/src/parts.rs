//! Commits the conversion of a stored delivery: in one write, or, if it is large, in parts,
//! behind writes with waiting callers.

use super::greeting;
use crate::prelude::*;
use leadhost_store::Reconversion;

/// Returns the answer of the last part, with the items of all parts. [`WriteOutcome::Stale`] if
/// another holder has the delivery by then: the committed parts stay, and the new holder
/// finds them.
#[leadhost_boxed::boxed]
pub async fn commit(
    pipeline: &Pipeline,
    conversion: Reconversion,
) -> Result<WriteOutcome, StoreError> {
    let (delivery, lease) = (conversion.delivery, conversion.lease);
    let lasts = pipeline.config.worker.lease();
    let mut parts = conversion.in_parts().into_iter();
    let mut items = Vec::new();
    // How long the conversion held the delivery before its first part, only its caller knows.
    let mut renewed: Option<Instant> = None;
    while let Some(mut part) = parts.next() {
        if let Some(part) = &mut part.part
            && renewed.is_none_or(|at| at.elapsed() >= lasts / 2)
        {
            renewed = Some(Instant::now());
            part.until = Some(pipeline.clock.now().plus(lasts));
        }
        let write = Write::Convert(Box::new(part));
        let committing = Instant::now();
        match pipeline.writer.submit_background(write).await? {
            WriteOutcome::Done(mut outcome) => {
                greeting::trace_stored(&outcome.greeted, committing);
                items.append(&mut outcome.items);
                if parts.len() == 0 {
                    items.sort_by_key(|item| item.index);
                    items.dedup_by_key(|item| item.index);
                    outcome.items = items;
                    return Ok(WriteOutcome::Done(outcome));
                }
            }
            other => return Ok(other),
        }
        if pipeline.shutdown.has_begun() && parts.len() > 0 {
            // The next start continues, without waiting for the lease to expire.
            let release = Write::Release { delivery, lease };
            pipeline.writer.submit_background(release).await?;
            return Ok(WriteOutcome::Stale);
        }
    }
    Ok(WriteOutcome::Stale)
}
