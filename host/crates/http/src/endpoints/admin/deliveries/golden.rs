//! `POST /admin/v1/deliveries/{id}/golden`: a delivery as golden cases, with masked persons. Nothing is
//! changed, but the audit has it, as it has captures: what a text says of a person may still be in them.

use std::time::Instant;

use leadhost_golden::{Case, case_files};

use super::capture::captured;
use super::{parse_id, unknown};
use crate::endpoints::admin::prelude::*;
use crate::golden_export::{ExportError, ExportedCases, Patience};
use leadhost_admin_api::captures::{CaptureRequest, ExportedCase, ExportedFile, GoldenExport};
use leadhost_pipeline::offload;

describe!(export, |operation| {
    operation
        .summary("Gives a delivery as golden cases, with masked persons")
        .describe("A case is a folder with these files, in which the letters of names, addresses and messages are `x`, and digits of phones \
             other digits. The expected output is not in it: `leadhost plugin test --write` \
             writes that. A person has to read the files before they are shared: a text may name persons in a way that \
             the service cannot detect. The audit has the request. Nothing is changed.")
        .answers::<GoldenExport>(200, "The cases.")
        .refuses(&[404, 409])
});
pub async fn export(call: &Call<'_>, id: &str) -> ApiResult {
    let id = parse_id(id)?;
    let request = CaptureRequest {
        deliveries: vec![id],
        plugin: None,
    };
    let captured = captured(call, request).await?;
    if !captured.emptied.is_empty() {
        return Err(ApiError::conflict(format!(
            "The delivery {id} has no body: it was erased, or removed by its age."
        )));
    }
    let missing = || unknown(&id.to_string());
    let capture = captured.deliveries.into_iter().next();
    let capture = capture.ok_or_else(missing)?;
    let received_by = &capture.facts.connection_id;
    let mut connections = captured.connections.into_iter();
    let connection = connections.find(|one| one.id == *received_by);
    let connection = connection.ok_or_else(missing)?;
    let is_long = capture.facts.bytes > SHORT_BYTES || !capture.answers.is_empty();
    let caller = Arc::new(());
    let patience = Patience {
        until: Instant::now() + limits::GOLDEN_EXPORT_TIME,
        caller: Arc::downgrade(&caller),
    };
    let exported = offload::run(is_long, move || {
        let exported = ExportedCases::new(&capture, &connection, false, Some(patience))?;
        let cases = exported.cases(&format!("delivery-{id}"))?;
        Ok((cases, exported.notes(), capture.plugin.clone()))
    });
    let exported = exported.await;
    // A caller that leaves drops it earlier, and the work ends.
    drop(caller);
    let (cases, notes, plugin) = exported.map_err(refusal)?;
    call.audit(json!({ "cases": cases.len() }));
    let cases = cases.iter().map(|(case, body)| view(case, body));
    reply::ok(&GoldenExport {
        plugin,
        cases: cases.collect::<Result<_, _>>()?,
        notes,
    })
}

/// Bytes of a body whose persons are masked in less than a millisecond.
const SHORT_BYTES: u64 = 4 << 10;

fn view(case: &Case, body: &str) -> ApiResult<ExportedCase> {
    let files = case_files(case, body).map_err(ApiError::internal)?;
    let files = files.into_iter().map(|(name, content)| {
        let text = String::from_utf8(content).map_err(ApiError::internal)?;
        Ok(ExportedFile { name, text })
    });
    Ok(ExportedCase {
        name: case.name.clone(),
        files: files.collect::<ApiResult<_>>()?,
    })
}

fn refusal(error: ExportError) -> ApiError {
    match error {
        ExportError::NotText | ExportError::NotInTime => ApiError::conflict(format!(
            "{error}; `leadhost delivery export --raw` exports it as it is."
        )),
        ExportError::NotBase64(_) => ApiError::internal(error),
    }
}
