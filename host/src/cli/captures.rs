use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use crate::cli::prelude::*;
use leadhost_admin_api::captures::{CaptureRequest, CaptureView, CapturedDeliveries};
use leadhost_domain::id::DeliveryId;

/// Asks for the deliveries, as many as fit into one answer. `plugin`: only deliveries of this one.
pub async fn fetch(
    client: &AdminClient,
    deliveries: &[DeliveryId],
    plugin: Option<&str>,
) -> CommandResult<CapturedDeliveries> {
    let most = deliveries.len().min(limits::CAPTURES);
    let request = CaptureRequest {
        deliveries: deliveries[..most].to_vec(),
        plugin: plugin.map(str::to_owned),
    };
    let answer: AdminAnswer<CapturedDeliveries> = client
        .post("/admin/v1/deliveries/captures", &request)
        .await?;
    Ok(answer.content)
}

pub fn body(text: Option<&str>, base64: Option<&str>) -> CommandResult<Vec<u8>> {
    match (text, base64) {
        (Some(text), _) => Ok(text.as_bytes().to_vec()),
        (None, Some(encoded)) => STANDARD
            .decode(encoded)
            .map_err(|error| failed!("the service sent a body that is not base64: {error}")),
        (None, None) => Ok(Vec::new()),
    }
}

pub fn bytes(capture: &CaptureView) -> u64 {
    let answers = capture.answers.iter().map(|answer| {
        let body = answer.body.as_ref().or(answer.body_base64.as_ref());
        body.map_or(0, String::len) as u64
    });
    capture.facts.bytes + answers.sum::<u64>()
}
