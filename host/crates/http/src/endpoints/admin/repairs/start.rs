use super::view::{refusal, to_view};
use crate::endpoints::admin::connections;
use crate::endpoints::admin::prelude::*;
use crate::endpoints::admin::request::moment_of;
use leadhost_admin_api::repairs::{RepairRequest, RepairView};
use leadhost_domain::repair::RepairPlan;
use leadhost_pipeline::repair::{RepairOrder, operate};
use leadhost_store::PluginRecord;

describe!(start, |operation| {
    operation
        .summary("Replays all deliveries that a version converted, in the background")
        .describe("The deliveries that the version converted last are converted with the active one, oldest first, behind live \
             traffic, on one host at a time; it continues after a stop. With `apply` the differences are written, except where \
             a person has edited since, and each is a row of the receipt; without, they are only counted. A version that \
             converted nothing is answered with a repair that has ended.")
        .takes::<RepairRequest>(&[
            (
                "phones",
                "Give leads their phones back",
                json!({"convertedBy": "9b0f7a3c5d2e", "field": "phone", "apply": true}),
            ),
            (
                "look",
                "Count what would change",
                json!({"convertedBy": "1.4.0", "plugin": "portal", "since": "2026-03-02"}),
            ),
        ])
        .answers::<RepairView>(201, "It has begun.")
        .refuses(&[404])
        .refuses_with(409, "The version is active, no version is, another repair is open, or the name matches several connections.", &[])
});
pub async fn start(call: &Call<'_>, caller: &AdminCaller, body: UnreadBody) -> ApiResult {
    let request: RepairRequest = read_json(call, body).await?;
    let store = &call.http.core.store;
    let version = version(store, &request).await?;
    let connection = match &request.connection {
        Some(text) => Some(connections::find(store, text).await?.id),
        None => None,
    };
    let moment =
        |name: &str, text: Option<&str>| text.map(|text| moment_of(call, name, text)).transpose();
    let plan = RepairPlan {
        plugin: version.description.name.clone(),
        converted_by: version.digest.clone(),
        connection,
        since: moment("since", request.since.as_deref())?,
        until: moment("until", request.until.as_deref())?,
        field: request.field,
        apply: request.apply,
    };
    call.audit(json!({ "plugin": plan.plugin, "plan": plan }));
    let order = RepairOrder {
        plan,
        started_by: caller.label(),
    };
    let begun =
        call.to_end(|http| async move { operate::begin(&http.pipeline, &version, order).await });
    let repair = begun.await?.map_err(refusal)?;
    call.audit(json!({ "repair": repair.id }));
    reply::json(StatusCode::CREATED, &to_view(call, repair).await?)
}

/// Returns the one stored version that the request names: by its number or the beginning of its digest,
/// alone or after `NAME@`.
async fn version(store: &Store, request: &RepairRequest) -> ApiResult<PluginRecord> {
    let wanted = request.converted_by.trim();
    let (plugin, number_or_digest) = match wanted.rsplit_once('@') {
        Some((plugin, version)) => (Some(plugin), version),
        None => (None, wanted),
    };
    let start = number_or_digest.to_ascii_lowercase();
    let is_digest =
        start.len() >= Digest::SHORTEST && start.bytes().all(|byte| byte.is_ascii_hexdigit());
    let is_meant = |record: &PluginRecord| {
        record.description.version == number_or_digest
            || (is_digest && record.digest.0.starts_with(&start))
    };
    let plugins = [plugin, request.plugin.as_deref()];
    let is_of_plugin = |name: &str| plugins.iter().flatten().all(|wanted| *wanted == name);
    let mut found = store.plugins().await?;
    found.retain(|record| is_meant(record) && is_of_plugin(&record.description.name));
    let names: Vec<String> = found
        .iter()
        .map(|record| format!("{}@{}", record.description.name, record.digest.short()))
        .collect();
    let Some(first) = found.pop() else {
        return Err(ApiError::NotFound(format!(
            "There is no version `{wanted}`; `leadhost plugin list` shows those that exist."
        )));
    };
    if found.is_empty() {
        return Ok(first);
    }
    let message = format!(
        "`convertedBy={wanted}` may be any of {}: write one of these.",
        names.join(", ")
    );
    Err(ApiError::BadRequest(message))
}
