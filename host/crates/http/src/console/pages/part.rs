//! The part of a workspace file that a form of the console applies. The workspace keeps what the part leaves
//! out; a connection that it names gets the whole entry.

use super::change::variable;
use crate::console::pages::prelude::*;
use leadhost_admin_api::apply::{self, ApplyReport};
use leadhost_domain::workspace::{ChangeKind, PartKind};

pub async fn workspace(visit: &Visit<'_>, slug: &str) -> PageResult<Workspace> {
    let Workspaces { workspaces } = visit.api().get("/workspaces").await?;
    let mut workspaces = workspaces.into_iter();
    workspaces
        .find(|workspace| workspace.slug == slug)
        .ok_or_else(|| {
            refused(match slug {
                "" => "Choose a workspace.".to_owned(),
                slug => format!("There is no workspace `{slug}`."),
            })
        })
}

pub fn file(workspace: &Workspace, partner: &str, connection: Option<Value>) -> Value {
    // The workspace stays as it is: what its entry leaves out would get its default.
    let mut file = json!({
        "workspace": {
            "slug": workspace.slug,
            "name": workspace.name,
            "region": workspace.region,
            "time_zone": workspace.time_zone,
            "rate_limit": workspace.rate_limit,
        },
        "partners": [{"name": partner}],
    });
    if let Some(connection) = connection {
        file["connections"] = json!([resolved(connection)]);
    }
    file
}

pub async fn apply(visit: &Visit<'_>, file: &Value) -> PageResult<ApplyReport> {
    visit.api().post("/apply?part=true", file).await
}

/// Returns whether an apply of the file would make its partner. Nothing is changed.
pub async fn would_make_partner(visit: &Visit<'_>, file: &Value) -> PageResult<bool> {
    let report: ApplyReport = visit
        .api()
        .post("/apply?dryRun=true&part=true", file)
        .await?;
    Ok(makes_partner(&report))
}

pub fn makes_partner(report: &ApplyReport) -> bool {
    let mut changes = report.changes.iter();
    changes.any(|one| one.kind == PartKind::Partner && one.what == ChangeKind::Created)
}

pub fn instance_of<'a>(workspace: &str, chosen: &'a str) -> PageResult<&'a str> {
    match chosen.split_once('/') {
        Some((of, name)) if of == workspace => Ok(name),
        _ => Err(refused(format!(
            "The instance `{chosen}` does not belong to the workspace `{workspace}`. Choose one of that workspace."
        ))),
    }
}

pub fn secrets(form: &Form) -> PageResult<Map<String, Value>> {
    let mut secrets = Map::new();
    for line in form.text("secrets").lines().map(str::trim) {
        if line.is_empty() {
            continue;
        }
        let (name, value) = line.split_once('=').ok_or_else(|| {
            refused("Secrets: write one a line, as name=value or name=generate:".to_owned())
        })?;
        if ["env:", "file:"]
            .iter()
            .any(|from| value.trim().starts_with(from))
        {
            return Err(refused(format!(
                "Secrets: `{}` comes from a variable or a file, which only `leadhost apply` reads; write its value, or generate:",
                name.trim()
            )));
        }
        // As in a workspace file, where the quotes are no part of the value.
        let quotes = ['"', '\''];
        if value.trim().starts_with(quotes) && value.trim().ends_with(quotes) {
            return Err(refused(format!(
                "Secrets: the value of `{}` stands in quotes, which would be a part of it; write it without them",
                name.trim()
            )));
        }
        secrets.insert(name.trim().to_owned(), value.trim().into());
    }
    Ok(secrets)
}

/// Returns an entry as the admin API takes it: a secret to be made is an object there.
fn resolved(mut entry: Value) -> Value {
    let secrets = entry.get_mut("secrets").and_then(Value::as_object_mut);
    for (_, value) in secrets.into_iter().flatten() {
        if let Some(generated) = value.as_str().and_then(apply::to_generate) {
            *value = generated;
        }
    }
    entry
}

pub fn object(what: &str, text: &str) -> PageResult<Map<String, Value>> {
    serde_json::from_str(text)
        .map_err(|error| refused(format!("{what}: this is not a JSON object ({error}).")))
}

pub fn refused(message: String) -> ApiRefusal {
    ApiRefusal::new(StatusCode::BAD_REQUEST, message)
}

/// Returns the entry as TOML, with a name in the environment in place of each secret that was typed or kept,
/// and with its partner if the workspace did not have it before.
pub fn as_file(mut entry: Value, new_partner: Option<&str>) -> String {
    let secrets = entry.get_mut("secrets").and_then(Value::as_object_mut);
    for (name, value) in secrets.into_iter().flatten() {
        let is_made = value
            .as_str()
            .is_some_and(|text| text.starts_with(apply::GENERATED));
        if !is_made {
            *value = format!("env:{}", variable(name)).into();
        }
    }
    let mut file = json!({"connections": [entry]});
    if let Some(partner) = new_partner {
        file["partners"] = partners(partner);
    }
    toml::to_string(&file).unwrap_or_default()
}

pub fn partner_as_file(partner: &str) -> String {
    toml::to_string(&json!({"partners": partners(partner)})).unwrap_or_default()
}

fn partners(partner: &str) -> Value {
    json!([{"name": partner}])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_declaration_shows_no_secret_that_was_typed() {
        let entry = json!({
            "name": "form",
            "secrets": {"token": "s3cret", "app-key": "x", "made": "generate:", "kept": {"generate": ""}},
        });
        let text = as_file(entry, None);
        assert!(!text.contains("[[partners]]"), "{text}");
        assert!(text.contains("[[connections]]"), "{text}");
        assert!(text.contains("token = \"env:TOKEN\""), "{text}");
        assert!(text.contains("app-key = \"env:APP_KEY\""), "{text}");
        assert!(text.contains("made = \"generate:\""), "{text}");
        assert!(text.contains("kept = \"env:KEPT\""), "{text}");
        assert!(!text.contains("s3cret"), "{text}");
    }
}
