pub mod changes;
pub mod start;
pub mod view;

use self::view::{Versions, find, parse_id, refusal, to_view};
use crate::endpoints::admin::prelude::*;
use leadhost_admin_api::repairs::{RepairFacts, RepairList, RepairView};
use leadhost_domain::repair::{Repair, RepairState};
use leadhost_pipeline::repair::operate;

describe!(list, |operation| operation
    .summary("Lists repairs, newest first")
    .paged("repairs")
    .answers::<RepairList>(200, "A page of repairs.")
    .refuses(&[400, 404]));
pub async fn list(call: &Call<'_>) -> ApiResult {
    let query = call.query();
    let limit = page_limit(&query)?;
    let before = query.filled(&["before"]).map(parse_id).transpose()?;
    let store = &call.http.core.store;
    let repairs = store.repairs(before, limit).await?;
    let next = last_of_full(&repairs, limit).map(|repair| repair.id);
    let versions = Versions::load(store).await?;
    let repairs = repairs.into_iter().map(|repair| versions.facts(repair));
    reply::ok(&RepairList {
        repairs: repairs.collect(),
        next,
    })
}

describe!(show, |operation| operation
    .summary("Shows how far a repair is, and the sum of its receipt")
    .answers::<RepairView>(200, "The repair.")
    .refuses(&[404]));
pub async fn show(call: &Call<'_>, id: &str) -> ApiResult {
    let repair = find(call, id).await?;
    reply::ok(&to_view(call, repair).await?)
}

describe!(cancel, |operation| {
    operation
        .summary("Ends a running repair or an undo")
        .describe("No delivery is changed, and nothing is undone, after the answer. The changes of the repair are kept and can \
             be undone, also after an undo that was cancelled.")
        .answers::<RepairView>(200, "It has ended.")
        .refuses(&[404, 409])
});
pub async fn cancel(call: &Call<'_>, id: &str) -> ApiResult {
    let id = parse_id(id)?;
    let cancelled = call.to_end(|http| async move { operate::cancel(&http.pipeline, id).await });
    let repair = cancelled.await?.map_err(refusal)?;
    reply::ok(&to_view(call, repair).await?)
}

describe!(undo, |operation| {
    operation
        .summary("Undoes an ended repair")
        .describe("A field gets its former value if it still has the value of the repair. What a person or a newer delivery \
             changed since stays; so do deals that the repair created, contacts that it merged, and match keys that other \
             leads name. It runs in the background: `state` is `undoing`, then `undone`; or `cancelled`, with `why`, if \
             the store failed with some changes, which are left.")
        .answers::<RepairView>(200, "The undo has begun.")
        .refuses(&[404, 409])
});
pub async fn undo(call: &Call<'_>, id: &str) -> ApiResult {
    let id = parse_id(id)?;
    let begun = call.to_end(|http| async move { operate::undo(&http.pipeline, id).await });
    let repair = begun.await?.map_err(refusal)?;
    reply::ok(&to_view(call, repair).await?)
}

/// Returns the newest repairs of a version that are running, are being undone, or wrote changes that are not
/// undone, at most [`limits::IMPACT_REPAIRS`], out of the newest [`limits::IMPACT_REPAIRS_READ`] repairs.
pub async fn relevant(call: &Call<'_>, converted_by: &Digest) -> ApiResult<Vec<RepairFacts>> {
    let store = &call.http.core.store;
    let newest = store.repairs(None, limits::IMPACT_REPAIRS_READ).await?;
    let relevant: Vec<Repair> = newest
        .into_iter()
        .filter(|repair| repair.plan.converted_by == *converted_by)
        .filter(|repair| match repair.state {
            RepairState::Running | RepairState::Undoing => true,
            state if state.stands() => repair.plan.apply,
            _ => false,
        })
        .take(limits::IMPACT_REPAIRS)
        .collect();
    if relevant.is_empty() {
        return Ok(Vec::new());
    }
    let versions = Versions::load(store).await?;
    Ok(relevant
        .into_iter()
        .map(|repair| versions.facts(repair))
        .collect())
}
