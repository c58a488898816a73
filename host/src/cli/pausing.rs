use serde::de::IgnoredAny;
use serde_json::json;

use super::client::{AdminClient, encoded};
use super::failure::CommandFailure;
use super::output::say;
use leadhost_admin_api::connections::PauseRequest;

pub async fn pause(
    client: &AdminClient,
    (list, name): (&str, &str),
    reason: String,
    said: &str,
) -> Result<(), CommandFailure> {
    let path = format!("/admin/v1/{list}/{}/pause", encoded(name));
    let show = |_: &IgnoredAny| say(said);
    client.act(&path, &PauseRequest { reason }, show).await
}

pub async fn resume(
    client: &AdminClient,
    (list, name): (&str, &str),
    said: &str,
) -> Result<(), CommandFailure> {
    let path = format!("/admin/v1/{list}/{}/resume", encoded(name));
    client
        .act(&path, &json!({}), |_: &IgnoredAny| say(said))
        .await
}
