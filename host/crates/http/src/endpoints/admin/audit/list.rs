use crate::endpoints::admin::acts;
use crate::endpoints::admin::prelude::*;
use leadhost_admin_api::audit::Audit;
use leadhost_store::AuditFilter;

/// What `before` and `after` are.
const ROW: &str = "that a row has";

describe!(list, |operation| {
    operation
        .summary("Lists the acts of operators")
        .describe("Every operation that may change something is recorded in one row before it is done and in another one with its outcome. \
             Refusals that never began are counted in one row a minute, key and operation. Rows are never changed; \
             the oldest are removed after `retention.audit_days`. Each has a hash of itself and of the row before it.")
        .query("actor", word(), "Only acts of keys with this label.")
        .query("act", word(), "Only this operation, such as `activate-plugin`.")
        .query("since", word(), "Only acts since this date or time.")
        .query("before", json!({"type": "integer"}), "The `next` of the previous page: only rows before this number.")
        .flag("folded", "Whether the rows with which acts began are left out if another row has their outcome.")
        .query("after", json!({"type": "integer"}), "Only rows after this number, the oldest first, for an export. The filters and `before` do not apply then.")
        .page_limit()
        .answers::<Audit>(200, "A page of the audit.")
        .refuses(&[400])
});
pub async fn list(call: &Call<'_>) -> ApiResult {
    let query = call.query();
    let limit = page_limit(&query)?;
    let store = &call.http.core.store;
    let after = query.whole("after", ROW)?;
    let act = query.word("act", "an act", &acts(), |act| act)?;
    let filter = AuditFilter {
        actor: query.filled(&["actor"]).map(str::to_owned),
        act: act.map(str::to_owned),
        since: moment(call, "since")?,
        before: query.whole("before", ROW)?,
        folded: flag(call, "folded")?,
        limit,
    };
    // Rows that are removed in between are not shown: those that are left would not follow.
    let mut checkpoint = store.audit_extent().await?.removed;
    let rows = loop {
        let rows = match after {
            Some(after) => store.audit_after(after, limit).await?,
            None => store.audit(&filter).await?,
        };
        let now = store.audit_extent().await?.removed;
        if std::mem::replace(&mut checkpoint, now.clone()) == now {
            break rows;
        }
    };
    let next = last_of_full(&rows, limit).map(|row| row.number);
    reply::ok(&Audit {
        rows,
        next,
        checkpoint,
    })
}
