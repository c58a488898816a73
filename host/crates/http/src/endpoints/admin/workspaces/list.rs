use crate::endpoints::admin::prelude::*;
use leadhost_admin_api::workspaces::Workspaces;

describe!(list, |operation| operation
    .summary("Lists the workspaces")
    .answers::<Workspaces>(
    200,
    "All workspaces, by slug."
));
pub async fn list(call: &Call<'_>) -> ApiResult {
    let mut workspaces = call.http.core.store.workspaces().await?;
    workspaces.sort_by(|one, other| one.slug.cmp(&other.slug));
    reply::ok(&Workspaces { workspaces })
}
