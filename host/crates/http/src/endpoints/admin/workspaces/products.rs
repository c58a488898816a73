//! `PUT /admin/v1/workspaces/{id}/products`: imports a catalogue, as NDJSON or CSV. The body
//! may have any length: it is read as fast as it is stored.
//!
//! The answer counts the outcomes of the lines, and reports the refused ones. `?replace=true`
//! removes the products that the catalogue does not name, if every line was accepted;
//! `?replace=force` removes them in any case.

use hyper::header::CONTENT_TYPE;
use sha2::{Digest as _, Sha256};

use super::find;
use crate::endpoints::admin::prelude::*;
use crate::json::{is_utf8, refuse_compressed};
use crate::terms;
use leadhost_admin_api::workspaces::{ImportReport, ProductRemoved, RefusedLine};
use leadhost_domain::hex;
use leadhost_pipeline::import::{
    ImportError, ImportFormat, ImportOutcome, ImportReader, ProductImport, Replace,
};

describe!(import, |operation| {
    operation
        .summary("Imports a catalogue of products")
        .describe("Each line is a product with `externalId`, `name` and optionally `description`. Products are created or changed by their external ids. Refused lines do not stop the others. The body may have any length, and is read as fast as it is stored. `application/ndjson` and `application/jsonl` are accepted too.")
        .query("replace", json!({"type": "string", "enum": ["false", "true", "force"], "default": "false"}), "Whether to remove the products that the catalogue does not name. `true`: only if every line was accepted, and there was at least one. `force`: always.")
        .takes_content(&json!({
            "text/csv": {
                "schema": terms::word(),
                "example": "externalId,name,description\nH-1,Casa azul,Three rooms\n",
            },
            "application/x-ndjson": {
                "schema": terms::word(),
                "example": "{\"externalId\":\"H-1\",\"name\":\"Casa azul\"}\n",
            },
        }))
        .answers::<ImportReport>(200, "The import ended. Some lines may be refused.")
        .refuses(&[404, 415])
        .refuses_with(409, "Another import of the workspace's products is under way.", &[])
});
pub async fn import(call: &Call<'_>, which: &str, body: UnreadBody) -> ApiResult {
    let format = format(&call.head.headers)?;
    let replace = replace(call)?;
    let workspace = find(&call.http.core.store, which).await?;
    call.audit(json!({ "workspace": workspace.slug, "format": word(format) }));
    // If the operator hangs up, the body ends early, and so does the import.
    let import =
        call.to_end(|http| async move { run(&http, &workspace, format, replace, body).await });
    let (report, read) = import.await?;
    call.audit(audited(&report));
    match read {
        Ok(file) => {
            call.audit(json!({ "bytes": file.bytes, "sha256": file.sha256 }));
            reply::ok(&import_report(report))
        }
        Err(error) => {
            if report.has_changed() {
                call.audit_partly_done();
            }
            Err(error)
        }
    }
}

fn audited(report: &ImportOutcome) -> Value {
    json!({
        "created": report.created,
        "changed": report.changed,
        "kept": report.kept,
        "removed": report.removed,
        "refused": report.refused,
        "replaced": report.replaced,
    })
}

describe!(remove, |operation| operation
    .summary("Removes a product permanently")
    .describe(
        "Searches no longer find it within two seconds, and deals that were linked to it show none."
    )
    .answers::<ProductRemoved>(200, "It is removed.")
    .refuses(&[404, 507]));
pub async fn remove(call: &Call<'_>, which: &str, external_id: &str) -> ApiResult {
    let store = &call.http.core.store;
    let workspace = find(store, which).await?;
    let named = [external_id.to_owned()];
    if store.remove_products(workspace.id, &named).await? == 0 {
        return Err(ApiError::NotFound(format!(
            "The workspace `{}` has no product `{external_id}`.",
            workspace.slug
        )));
    }
    reply::ok(&ProductRemoved {
        workspace: workspace.slug,
        external_id: external_id.to_owned(),
        removed: true,
    })
}

fn import_report(report: ImportOutcome) -> ImportReport {
    let problems = report.problems.into_iter().map(|problem| RefusedLine {
        line: problem.line,
        message: problem.message,
    });
    view! { ImportReport from report: created, changed, kept, removed, refused, ignored, replaced;
        problems: problems.collect(),
        note: report.note.map(str::to_owned)
    }
}

fn word(format: ImportFormat) -> &'static str {
    match format {
        ImportFormat::Ndjson => "ndjson",
        ImportFormat::Csv => "csv",
    }
}

fn format(headers: &HeaderMap) -> ApiResult<ImportFormat> {
    refuse_compressed(headers)?;
    let text = headers.get(CONTENT_TYPE).map(HeaderValue::to_str);
    let text = text.and_then(Result::ok).unwrap_or_default();
    let essence = text.split(';').next().unwrap_or_default().trim();
    if !is_utf8(text) {
        return Err(ApiError::UnsupportedMediaType(
            "The catalogue has to be UTF-8.".to_owned(),
        ));
    }
    match essence.to_ascii_lowercase().as_str() {
        "application/x-ndjson" | "application/ndjson" | "application/jsonl" => {
            Ok(ImportFormat::Ndjson)
        }
        "text/csv" => Ok(ImportFormat::Csv),
        _ => Err(ApiError::UnsupportedMediaType(
            "Send the catalogue with Content-Type: text/csv or application/x-ndjson.".to_owned(),
        )),
    }
}

fn replace(call: &Call<'_>) -> ApiResult<Replace> {
    match call.query().get("replace") {
        None | Some("" | "false") => Ok(Replace::No),
        Some("true") => Ok(Replace::Yes),
        Some("force") => Ok(Replace::Force),
        Some(other) => Err(ApiError::BadRequest(format!(
            "`replace={other}`: expected true, false or force."
        ))),
    }
}

struct CatalogueFile {
    bytes: usize,
    /// By which an operator recognises the file, in hexadecimal.
    sha256: String,
}

/// Returns the outcome, and the file, or the reason for which the import ended early.
async fn run(
    http: &Http,
    workspace: &Workspace,
    format: ImportFormat,
    replace: Replace,
    body: UnreadBody,
) -> (ImportOutcome, ApiResult<CatalogueFile>) {
    let mut import = match ProductImport::begin(&http.pipeline, workspace.id).await {
        Ok(import) => import,
        Err(stopped) => return (ImportOutcome::default(), Err(refused(stopped))),
    };
    let mut reader = ImportReader::new(format);
    let mut result = read(http, &mut import, &mut reader, body).await;
    if result.is_ok()
        && let Err(stopped) = import.finish(replace, reader.ignored()).await
    {
        result = Err(refused(stopped));
    }
    (import.leave().await, result)
}

async fn read(
    http: &Http,
    import: &mut ProductImport<'_>,
    reader: &mut ImportReader,
    mut body: UnreadBody,
) -> ApiResult<CatalogueFile> {
    let time = http.core.config.server.body_time();
    let mut rows = Vec::new();
    let (mut size, mut hash) = (0, Sha256::new());
    while let Some(bytes) = body.next(time).await? {
        size += bytes.len();
        hash.update(&bytes);
        let pushed = reader.push(&bytes, &mut rows);
        // The rows before a mistake count.
        import.take(&mut rows).await.map_err(refused)?;
        pushed.map_err(|wrong| refused(wrong.into()))?;
    }
    let ended = reader.end(&mut rows);
    import.take(&mut rows).await.map_err(refused)?;
    ended.map_err(|wrong| refused(wrong.into()))?;
    Ok(CatalogueFile {
        bytes: size,
        sha256: hex::encode(&hash.finalize()),
    })
}

fn refused(stopped: ImportError) -> ApiError {
    match stopped {
        ImportError::File(fault) => ApiError::BadRequest(fault.0),
        ImportError::Taken => ApiError::conflict(
            "Another import of this workspace's products is under way; wait for its end.",
        ),
        ImportError::Stopping => ApiError::Overloaded {
            shed: Shed::Stopping,
            what: "The service is stopping; send the whole catalogue again.",
            retry_after: Duration::from_secs(5),
        },
        ImportError::Store(error) => ApiError::Store(error),
    }
}
