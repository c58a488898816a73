use super::view::find;
use crate::endpoints::admin::prelude::*;
use leadhost_admin_api::repairs::{RepairChangeView, RepairChanges};
use leadhost_domain::repair::RepairChange;

describe!(list, |operation| operation
    .summary("Lists what a repair changed, in the order of the changes")
    .describe("Values of erased persons and of removed deals are left out.")
    .query(
        "after",
        json!({"type": "integer", "minimum": 0}),
        "The `next` of the previous page: only changes after this one."
    )
    .page_limit()
    .answers::<RepairChanges>(200, "A page of the receipt.")
    .refuses(&[400, 404]));
pub async fn list(call: &Call<'_>, id: &str) -> ApiResult {
    let query = call.query();
    let limit = page_limit(&query)?;
    let after = after(&query)?;
    let id = find(call, id).await?.id;
    let changes = call
        .http
        .core
        .store
        .repair_changes(id, after, limit)
        .await?;
    let next = last_of_full(&changes, limit).map(|change| change.number);
    reply::ok(&RepairChanges {
        changes: changes.into_iter().map(repair_change_view).collect(),
        next,
    })
}

fn after(query: &Query<'_>) -> ApiResult<i64> {
    let Some(text) = query.filled(&["after"]) else {
        return Ok(0);
    };
    text.parse().map_err(|_| {
        ApiError::BadRequest(format!("`after={text}`: expected the number of a change."))
    })
}

fn repair_change_view(change: RepairChange) -> RepairChangeView {
    let erased = change.values.is_none();
    let (before, after) = change.values.unwrap_or((Value::Null, Value::Null));
    view! { RepairChangeView from change: number, item, kind, field, undone;
        workspace_id: change.workspace,
        delivery_id: change.delivery,
        row_id: change.row,
        before,
        after,
        erased
    }
}
