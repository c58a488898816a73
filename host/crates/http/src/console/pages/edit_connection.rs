//! Changes a saved connection as a whole, all but its name: the form shows the present entry and applies the
//! one that was typed as a part of the workspace file. Retires a connection, and brings it back.

use super::change::{self, AppliedEntry};
use super::faults::Faults;
use super::{connections, new_connection, part};
use crate::console::pages::prelude::*;
use leadhost_admin_api::apply::{ApplyReport, FileProblem};
use leadhost_admin_api::connections::{ConnectionView, GreetingView};
use leadhost_domain::exchange::{Encoding, SenderCheck};

pub static ROUTES: &[Route] = pages! {
    GET "/connections/{connection}/entry" => page show(connection);
    POST "/connections/{connection}/entry" => form "/connections/{}/entry" save(connection, form);
    GET "/connections/{connection}/retire" => page retirement(connection);
    POST "/connections/{connection}/retire" => form "/connections/{}/retire" retire(connection, form);
};

/// The word for an allow-list without any host. An empty one means the hosts that the converter declares.
const NO_HOST: &str = "none";

/// The fields with an input for a text, named like the keys of the workspace file.
const TEXTS: [&str; 12] = [
    "partner",
    "plugin",
    "instance",
    "config",
    "secrets",
    "checks",
    "allow",
    "origins",
    "routes",
    "reply_secrets",
    "region",
    "time_zone",
];

/// The fields with inputs of another kind, or with several.
const OTHERS: [&str; 2] = ["dedupe_by_content", "greeting"];

/// The inputs of the greeting whose value is a text.
const GREETING_TEXTS: [&str; 3] = [
    "greeting-instance",
    "greeting-template",
    "greeting-language",
];

#[derive(Template)]
#[template(path = "console/edit_connection.html")]
pub struct EditConnectionPage {
    frame: Frame,
    id: ConnectionId,
    name: String,
    /// The entry that the form was opened with: a change since then is not overwritten.
    seen: String,
    partners: Vec<String>,
    /// The instances of its workspace, each as `workspace/name`.
    instances: Vec<String>,
    converters: Vec<String>,
    typed: BTreeMap<&'static str, String>,
    parameters: String,
    transfer: bool,
    dedupe: bool,
    /// Its secrets, each with whether it keeps it.
    kept: Vec<(String, bool)>,
    faults: Faults,
    /// A partner that the workspace does not have: saving the form again makes it.
    new_partner: Option<String>,
}

impl EditConnectionPage {
    fn typed(&self, name: &str) -> &str {
        self.typed.get(name).map_or("", String::as_str)
    }

    fn is_active(&self) -> bool {
        let chosen = self.typed("plugin");
        self.converters.iter().any(|one| one == chosen)
    }
}

/// A connection, with what an entry of it names.
struct Known {
    connection: ConnectionView,
    /// The name of the instance that gets its deals.
    instance: Option<String>,
    workspace: Workspace,
}

impl Known {
    async fn read(visit: &Visit<'_>, which: &str) -> PageResult<Self> {
        let connection = connections::named(visit, which).await?;
        let Instances { instances } = visit.api().get("/instances").await?;
        let name = |id: AgentId| {
            let mut all = instances.iter();
            Some(all.find(|one| one.id == id)?.name.clone())
        };
        Ok(Self {
            instance: connection.instance_id.and_then(name),
            workspace: part::workspace(visit, &connection.workspace).await?,
            connection,
        })
    }

    /// Returns the entry of the workspace file that the connection has now. Its secrets are kept.
    fn entry(&self) -> Map<String, Value> {
        let connection = &self.connection;
        let bound = &connection.bound;
        let mut entry = Map::new();
        let mut put = |key: &str, value: Value| {
            entry.insert(key.to_owned(), value);
        };
        put("name", json!(connection.name));
        put("partner", json!(connection.partner));
        put("plugin", json!(connection.plugin));
        put("config", bound.config.clone());
        put("checks", bound.checks.iter().map(declared).collect());
        put(
            "allow",
            bound.allow.iter().map(|one| one.declared()).collect(),
        );
        put("origins", json!(connection.origins));
        put("routes", json!(bound.routes));
        put("reply_secrets", json!(bound.reply_secrets));
        put("region", json!(bound.region));
        put("time_zone", json!(bound.time_zone));
        put("dedupe_by_content", json!(connection.dedupe_by_content));
        if let Some(instance) = &self.instance {
            put("instance", json!(instance));
        }
        if let Some(greeting) = &connection.greeting {
            put("greeting", greeted(greeting));
        }
        if connection.retired {
            put("retired", json!(true));
        }
        put(
            "secrets",
            bound
                .secrets
                .iter()
                .map(|one| unchanged_secret(one))
                .collect(),
        );
        entry
    }

    fn seen(&self) -> String {
        let entry = json!([self.entry(), self.connection.bound.config_version]);
        Digest::compute(entry.to_string().as_bytes()).to_string()
    }
}

/// Returns a secret whose value stays: the host makes only those that a connection lacks.
fn unchanged_secret(name: &str) -> (String, Value) {
    (name.to_owned(), json!({"generate": ""}))
}

fn declared(check: &SenderCheck) -> Value {
    let SenderCheck {
        secret,
        scheme,
        proof,
        encoding,
        prefix,
        timestamp_header,
        tolerance_seconds,
        signed,
    } = check;
    let mut entry = json!({"secret": secret, "scheme": scheme, "proof": proof});
    if *encoding != Encoding::default() {
        entry["encoding"] = json!(encoding);
    }
    if !prefix.is_empty() {
        entry["prefix"] = json!(prefix);
    }
    if !timestamp_header.is_empty() {
        entry["timestamp_header"] = json!(timestamp_header);
    }
    if *tolerance_seconds > 0 {
        entry["tolerance_seconds"] = json!(tolerance_seconds);
    }
    if !signed.is_empty() {
        entry["signed"] = json!(signed);
    }
    entry
}

fn greeted(greeting: &GreetingView) -> Value {
    let mut entry = json!(greeting);
    if greeting.language.is_none()
        && let Some(fields) = entry.as_object_mut()
    {
        fields.remove("language");
    }
    entry
}

async fn show(visit: &Visit<'_>, which: &str) -> PageResult<EditConnectionPage> {
    let known = Known::read(visit, which).await?;
    with(visit, &known).await
}

async fn with(visit: &Visit<'_>, known: &Known) -> PageResult<EditConnectionPage> {
    let choices = new_connection::Choices::read(visit).await?;
    let connection = &known.connection;
    let slug = &connection.workspace;
    let bound = &connection.bound;
    let lines = |all: &[String]| all.join("\n");
    let hosts: Vec<String> = bound.allow.iter().map(|one| one.declared()).collect();
    let hosts = if hosts.is_empty() {
        NO_HOST.to_owned()
    } else {
        lines(&hosts)
    };
    let checks: Vec<Value> = bound.checks.iter().map(declared).collect();
    let checks = if checks.is_empty() {
        String::new()
    } else {
        format!("{:#}", json!(checks))
    };
    let routes = if bound.routes.is_empty() {
        String::new()
    } else {
        format!("{:#}", json!(bound.routes))
    };
    let instance = known.instance.as_ref();
    let instance = instance.map_or_else(String::new, |name| name_in_workspace(slug, name));
    let greeting = connection.greeting.as_ref();
    let of_greeting = |text: fn(&GreetingView) -> String| greeting.map_or_else(String::new, text);
    let in_workspace = format!("{slug}/");
    Ok(EditConnectionPage {
        seen: known.seen(),
        partners: choices.partners,
        instances: choices
            .instances
            .into_iter()
            .filter(|name| name.starts_with(&in_workspace))
            .collect(),
        converters: choices.converters,
        typed: BTreeMap::from([
            ("partner", connection.partner.clone()),
            ("plugin", connection.plugin.clone()),
            ("instance", instance),
            ("config", bound.config_text()),
            ("checks", checks),
            ("allow", hosts),
            ("origins", lines(&connection.origins)),
            ("routes", routes),
            ("reply_secrets", lines(&bound.reply_secrets)),
            ("region", bound.region.clone()),
            ("time_zone", bound.time_zone.clone()),
            (
                "greeting-instance",
                greeting.map_or_else(String::new, |one| name_in_workspace(slug, &one.instance)),
            ),
            ("greeting-template", of_greeting(|one| one.template.clone())),
            (
                "greeting-language",
                of_greeting(|one| one.language.clone().unwrap_or_default()),
            ),
        ]),
        parameters: of_greeting(|one| one.parameters.join("\n")),
        transfer: greeting.is_none_or(|one| one.transfer),
        dedupe: connection.dedupe_by_content,
        kept: bound
            .secrets
            .iter()
            .map(|one| (one.clone(), true))
            .collect(),
        faults: Faults::default(),
        new_partner: None,
        frame: visit.frame("connections", format!("Change {slug}/{}", connection.name)),
        id: connection.id.clone(),
        name: connection.name.clone(),
    })
}

async fn filled(visit: &Visit<'_>, known: &Known, form: &Form) -> PageResult<EditConnectionPage> {
    let mut shown = with(visit, known).await?;
    shown.typed = TEXTS
        .into_iter()
        .chain(GREETING_TEXTS)
        .map(|name| (name, form.text(name).to_owned()))
        .collect();
    form.text("greeting-parameters")
        .clone_into(&mut shown.parameters);
    shown.transfer = form.has("greeting-transfer");
    shown.dedupe = form.has("dedupe_by_content");
    let keep = form.all("keep");
    for (name, is_kept) in &mut shown.kept {
        *is_kept = keep.contains(name);
    }
    // What the operator saw: a second try does not overwrite what changed since.
    form.get("seen").clone_into(&mut shown.seen);
    Ok(shown)
}

/// Applies the entry that was typed. A refusal is shown at its fields, with what was typed.
async fn save(visit: &Visit<'_>, which: &str, form: &Form) -> PageResult<FormOutcome> {
    let known = Known::read(visit, which).await?;
    let (status, faults) = match saved(visit, &known, form).await {
        Ok(Some(done)) => return Ok(done),
        Ok(None) => {
            let mut shown = filled(visit, &known, form).await?;
            shown.new_partner = Some(form.get("partner").to_owned());
            return Ok(FormOutcome::Page(page(StatusCode::OK, &shown)?));
        }
        Err(refused) => refused,
    };
    let mut shown = filled(visit, &known, form).await?;
    shown.faults = faults;
    Ok(FormOutcome::Page(page(status, &shown)?))
}

/// `None`: nothing is changed yet, because the workspace lacks the partner, and the form does not say that
/// this is meant.
async fn saved(
    visit: &Visit<'_>,
    known: &Known,
    form: &Form,
) -> Result<Option<FormOutcome>, (StatusCode, Faults)> {
    let refused = |refusal: ApiRefusal| (refusal.status, Faults::from_refusal(refusal, input_of));
    let entry = typed(known, form).map_err(|faults| (StatusCode::BAD_REQUEST, faults))?;
    if form.get("seen") != known.seen() {
        let message = format!(
            "`{}/{}` was changed since you opened this form. Open it again, then repeat your change.",
            known.connection.workspace, known.connection.name
        );
        return Err(refused(ApiRefusal::new(StatusCode::CONFLICT, message)));
    }
    let partner = form.get("partner");
    let file = part::file(&known.workspace, partner, Some(entry.clone()));
    let may_be_new = partner != known.connection.partner && form.get("new-partner") != partner;
    if may_be_new
        && part::would_make_partner(visit, &file)
            .await
            .map_err(refused)?
    {
        return Ok(None);
    }
    let report = part::apply(visit, &file).await.map_err(refused)?;
    let new_partner = part::makes_partner(&report).then_some(partner);
    let declaration = part::as_file(entry, new_partner);
    let done = done(visit, known, report, declaration, AppliedEntry::Changed).await;
    done.map(Some).map_err(refused)
}

async fn done(
    visit: &Visit<'_>,
    known: &Known,
    mut report: ApplyReport,
    declaration: String,
    what: AppliedEntry,
) -> PageResult<FormOutcome> {
    let ConnectionView {
        id,
        name,
        workspace,
        bound,
        ..
    } = &known.connection;
    let differs = report.changed_connections.pop();
    let (fields, removed) =
        differs.map_or_else(Default::default, |one| (one.fields, one.removed_secrets));
    let removed = removed.into_iter().map(|secret| FileProblem {
        path: None,
        message: format!("The secret `{secret}` is removed."),
    });
    // The change is made: that it cannot be read just now does not hide it.
    let id = id.to_string();
    let now = connections::named(visit, &id).await;
    let now = now.map_or(bound.config_version, |one| one.bound.config_version);
    let changed = leadhost_admin_api::connections::Changed {
        name: name.clone(),
        workspace: workspace.clone(),
        config_version: now,
        fields,
        secrets: Vec::new(),
        generated: report.generated.remove(name).unwrap_or_default(),
        warnings: removed.chain(report.warnings).collect(),
    };
    change::shown_entry(visit, &id, changed, declaration, what).await
}

/// Returns the field for a key of the entry, if the form has one.
fn input_of(key: &str) -> &str {
    if TEXTS.contains(&key) || OTHERS.contains(&key) {
        key
    } else {
        ""
    }
}

fn typed(known: &Known, form: &Form) -> Result<Value, Faults> {
    let mut faults = Faults::default();
    let mut entry = Map::new();
    let texts = |name: &str| -> Vec<String> {
        let lines = form.text(name).lines().map(str::trim);
        lines
            .filter(|line| !line.is_empty())
            .map(str::to_owned)
            .collect()
    };
    let mut put = |field: &str, value: PageResult<Option<Value>>| match value {
        Ok(Some(value)) => {
            entry.insert(field.to_owned(), value);
        }
        Ok(None) => {}
        Err(refusal) => faults.add(field, refusal.message),
    };
    let filled = |name: &str| Ok(form.filled(name).map(Value::from));
    put("name", Ok(Some(json!(known.connection.name))));
    put("partner", Ok(Some(form.get("partner").into())));
    put("plugin", Ok(Some(form.get("plugin").into())));
    put("instance", chosen_instance(known, form, "instance"));
    put("config", object(form, "config", "Configuration").map(Some));
    put("secrets", secrets(known, form).map(Some));
    put("checks", list(form, "checks", "Sender checks"));
    let hosts = texts("allow");
    put(
        "allow",
        Ok(match hosts.as_slice() {
            [] => None,
            [only] if only == NO_HOST => Some(json!([])),
            hosts => Some(json!(hosts)),
        }),
    );
    put("origins", Ok(Some(json!(texts("origins")))));
    put("routes", object(form, "routes", "Routes").map(Some));
    put("reply_secrets", Ok(Some(json!(texts("reply_secrets")))));
    put("region", filled("region"));
    put("time_zone", filled("time_zone"));
    let dedupe = form.has("dedupe_by_content");
    put("dedupe_by_content", Ok(Some(dedupe.into())));
    put(
        "greeting",
        greeting(known, form, texts("greeting-parameters")),
    );
    if known.connection.retired {
        put("retired", Ok(Some(true.into())));
    }
    if faults.is_empty() {
        Ok(entry.into())
    } else {
        Err(faults)
    }
}

fn chosen_instance(known: &Known, form: &Form, field: &str) -> PageResult<Option<Value>> {
    let Some(chosen) = form.filled(field) else {
        return Ok(None);
    };
    let name = part::instance_of(&known.connection.workspace, &chosen)?;
    Ok(Some(name.into()))
}

fn object(form: &Form, field: &str, what: &str) -> PageResult<Value> {
    match form.filled(field) {
        None => Ok(json!({})),
        Some(text) => Ok(part::object(what, &text)?.into()),
    }
}

fn list(form: &Form, field: &str, what: &str) -> PageResult<Option<Value>> {
    let Some(text) = form.filled(field) else {
        return Ok(None);
    };
    let all: Vec<Value> = serde_json::from_str(&text)
        .map_err(|error| part::refused(format!("{what}: this is not a JSON list ({error}).")))?;
    Ok(Some(all.into()))
}

fn secrets(known: &Known, form: &Form) -> PageResult<Value> {
    let keep = form.all("keep");
    let had = known.connection.bound.secrets.iter();
    let mut secrets: Map<String, Value> = had
        .filter(|name| keep.contains(name))
        .map(|one| unchanged_secret(one))
        .collect();
    secrets.extend(part::secrets(form)?);
    Ok(secrets.into())
}

fn greeting(known: &Known, form: &Form, parameters: Vec<String>) -> PageResult<Option<Value>> {
    let template = form.filled("greeting-template");
    let instance = chosen_instance(known, form, "greeting-instance")?;
    if template.is_none() && instance.is_none() {
        return Ok(None);
    }
    let mut entry = json!({
        "instance": instance,
        "template": template,
        "parameters": parameters,
        "transfer": form.has("greeting-transfer"),
    });
    if let Some(language) = form.filled("greeting-language") {
        entry["language"] = language.into();
    }
    // What is missing is reported as missing, and not as a wrong value.
    if let Some(fields) = entry.as_object_mut() {
        fields.retain(|_, value| !value.is_null());
    }
    Ok(Some(entry))
}

#[derive(Template)]
#[template(path = "console/retire_connection.html")]
pub struct RetirementPage {
    frame: Frame,
    connection: ConnectionView,
    problems: Vec<String>,
}

async fn retirement(visit: &Visit<'_>, which: &str) -> PageResult<RetirementPage> {
    let connection = connections::named(visit, which).await?;
    let name = name_in_workspace(&connection.workspace, &connection.name);
    let title = if connection.retired {
        format!("{name} is retired")
    } else {
        format!("Retire {name}")
    };
    Ok(RetirementPage {
        frame: visit.frame("connections", title),
        connection,
        problems: Vec::new(),
    })
}

/// Retires a connection, or brings it back. Everything else of it stays as it is.
async fn retire(visit: &Visit<'_>, which: &str, form: &Form) -> PageResult<FormOutcome> {
    let known = Known::read(visit, which).await?;
    let what = if form.has("back") {
        AppliedEntry::BroughtBack
    } else {
        AppliedEntry::Retired
    };
    let retired = what == AppliedEntry::Retired;
    let mut entry = known.entry();
    entry.insert("retired".to_owned(), retired.into());
    let name = &known.connection.name;
    let file = part::file(
        &known.workspace,
        &known.connection.partner,
        Some(entry.into()),
    );
    let refusal = match part::apply(visit, &file).await {
        Ok(report) => {
            let lines = json!({"connections": [{"name": name, "retired": retired}]});
            let declaration = toml::to_string(&lines).unwrap_or_default();
            return done(visit, &known, report, declaration, what).await;
        }
        Err(refusal) => refusal,
    };
    let status = refusal.status;
    let mut shown = retirement(visit, which).await?;
    shown.problems = Faults::from_refusal(refusal, input_of).all();
    Ok(FormOutcome::Page(page(status, &shown)?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use leadhost_domain::exchange::{Place, Scheme, ValueLocation};

    #[test]
    fn a_check_is_declared_with_what_is_not_its_default() {
        let mut check = SenderCheck {
            secret: "token".to_owned(),
            scheme: Scheme::Equals,
            proof: ValueLocation {
                place: Place::Header,
                name: "x-token".to_owned(),
            },
            encoding: Encoding::default(),
            prefix: String::new(),
            timestamp_header: String::new(),
            tolerance_seconds: 0,
            signed: Vec::new(),
        };
        let expect = json!({
            "secret": "token", "scheme": "equals", "proof": {"place": "header", "name": "x-token"},
        });
        assert_eq!(declared(&check), expect);
        check.timestamp_header = "x-time".to_owned();
        check.tolerance_seconds = 300;
        let found = declared(&check);
        assert_eq!(found["timestamp_header"], "x-time");
        assert_eq!(found["tolerance_seconds"], 300);
    }
}
