//! `GET /admin/v1/audit?actor=&act=&since=&before=&folded=&limit=`, newest first; with `after`, the rows
//! after that number, oldest first, for an export.

use hyper::StatusCode;

use crate::call::Call;
use crate::endpoints::admin::request::{flag, last_of_full, moment, page_limit};
use crate::error::ApiError;
use crate::query::Query;
use crate::reply::{self, ApiResponse};
use leadhost_admin_api::audit::Audit;
use leadhost_domain::audit::OperatorAct;
use leadhost_store::AuditFilter;

/// What `before` and `after` are.
const ROW: &str = "that a row has";

/// Returns a page of the audit.
pub async fn list(call: &Call<'_>) -> Result<ApiResponse, ApiError> {
    let query = call.query();
    let limit = page_limit(&query)?;
    let store = &call.http.core.store;
    let after = query.whole("after", ROW)?;
    let filter = AuditFilter {
        actor: query.filled(&["actor"]).map(str::to_owned),
        act: act(&query)?,
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
    let audit = Audit {
        rows,
        next,
        checkpoint,
    };
    reply::json(StatusCode::OK, &audit)
}

fn act(query: &Query<'_>) -> Result<Option<String>, ApiError> {
    let Some(text) = query.filled(&["act"]) else {
        return Ok(None);
    };
    match text.parse::<OperatorAct>() {
        Ok(act) => Ok(Some(act.as_str().to_owned())),
        Err(_) => Err(ApiError::BadRequest(format!(
            "`act={text}` is not an act; there are {}.",
            OperatorAct::ALL
                .iter()
                .map(|act| act.as_str())
                .collect::<Vec<_>>()
                .join(", ")
        ))),
    }
}
