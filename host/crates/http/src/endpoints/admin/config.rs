use crate::endpoints::admin::prelude::*;
use leadhost_admin_api::config::EffectiveConfig;

describe!(show, |operation| {
    operation
        .summary("Shows the configuration in force")
        .describe("That of the host that answers. Possible secrets are left out: the user, the password and the parameters of an address, and the values of headers.")
        .answers::<EffectiveConfig>(200, "Every key with its value and where it is set.")
});
pub async fn show(call: &Call<'_>) -> ApiResult {
    reply::ok(&EffectiveConfig {
        host: call.http.pipeline.fleet.name().to_owned(),
        settings: call.http.core.config.settings.clone(),
    })
}
