pub mod list;
pub mod show;

use super::workspaces;
use crate::endpoints::admin::prelude::*;
use leadhost_admin_api::deals::DealRemoved;

describe!(remove, |operation| {
    operation
        .summary("Removes a deal permanently")
        .describe("The history and the notes are removed too. The contact stays, and so does the dedupe key of the lead: a repeat of the lead does not restore the deal.")
        .workspace()
        .answers::<DealRemoved>(200, "It is removed.")
        .refuses(&[404, 507])
});
pub async fn remove(call: &Call<'_>, id: &str) -> ApiResult {
    let deal = parse_id(id)?;
    let store = &call.http.core.store;
    for workspace in among(call).await? {
        if store.remove_deal(workspace.id, deal).await? {
            let answer = DealRemoved {
                id: deal,
                workspace: workspace.slug,
                removed: true,
            };
            return reply::ok(&answer);
        }
    }
    Err(unknown(id))
}

fn unknown(id: &str) -> ApiError {
    ApiError::NotFound(format!(
        "There is no deal `{id}`; `leadhost delivery show` names the deals of a delivery."
    ))
}

fn parse_id(text: &str) -> ApiResult<DealId> {
    text.parse().map_err(|_| unknown(text))
}

async fn among(call: &Call<'_>) -> ApiResult<Vec<Workspace>> {
    workspaces::among(call, call.query().filled(&["workspace"])).await
}
