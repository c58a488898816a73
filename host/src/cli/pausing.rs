use serde::de::IgnoredAny;

use crate::cli::prelude::*;
use leadhost_admin_api::connections::PauseRequest;

pub async fn pause(
    client: &AdminClient,
    (list, name): (&str, &str),
    reason: String,
    said: &str,
) -> CommandResult {
    let path = format!("/admin/v1/{list}/{}/pause", encoded(name));
    let show = |_: &IgnoredAny| say(said);
    client.act(&path, &PauseRequest { reason }, show).await
}

pub async fn resume(client: &AdminClient, (list, name): (&str, &str), said: &str) -> CommandResult {
    let path = format!("/admin/v1/{list}/{}/resume", encoded(name));
    client
        .act(&path, &json!({}), |_: &IgnoredAny| say(said))
        .await
}
