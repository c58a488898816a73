//! A new connection in a form: its configuration is tried on a pasted body first, and saved as a
//! workspace file with this connection alone would be applied.

use super::faults::Faults;
use super::part;
use crate::console::pages::prelude::*;
use leadhost_admin_api::apply::FileProblem;
use leadhost_admin_api::connections::Senders;
use leadhost_admin_api::plugins::PluginList;
use leadhost_admin_api::tried::{ReadHow, TriedBody, TriedField, TryRequest};
use leadhost_domain::plugin::PluginKind;

pub static ROUTES: &[Route] = pages! {
    GET "/connections/new" => page show();
    POST "/connections/new/try" => form "/connections/new" try_body(form);
    POST "/connections/new" => form "/connections/new" make(form);
};

/// The converter whose fields can be typed one by one.
const MAPPING: &str = "mapping";

/// The fields of the mapping that the form has, each with what its input is called.
const FIELDS: [(&str, &str); 6] = [
    ("externalId", "External id"),
    ("name", "Name"),
    ("phones", "Phones"),
    ("emails", "E-mail addresses"),
    ("listings", "Listings"),
    ("message", "Message"),
];

#[derive(Template)]
#[template(path = "console/new_connection.html")]
pub struct NewConnectionPage {
    frame: Frame,
    workspaces: Vec<Workspace>,
    partners: Vec<String>,
    /// The instances that may get its deals, each as `workspace/name`.
    instances: Vec<String>,
    converters: Vec<String>,
    /// The values typed so far, by field.
    typed: BTreeMap<String, String>,
    tried: Option<TriedBody>,
    /// Whether the configuration has what the trial guessed.
    is_guessed: bool,
    faults: Faults,
    /// A partner that the workspace does not have: saving the form again makes it.
    new_partner: Option<String>,
}

impl NewConnectionPage {
    fn typed(&self, name: &str) -> &str {
        self.typed.get(name).map_or("", String::as_str)
    }

    fn field(&self, name: &str) -> &str {
        self.typed(&format!("field-{name}"))
    }
}

/// The names that an entry of a connection may use.
pub struct Choices {
    pub partners: Vec<String>,
    /// Each as `workspace/name`.
    pub instances: Vec<String>,
    /// The active converters.
    pub converters: Vec<String>,
}

impl Choices {
    pub async fn read(visit: &Visit<'_>) -> PageResult<Self> {
        let api = visit.api();
        let Connections { connections } = api.get("/connections").await?;
        let Instances { instances } = api.get("/instances").await?;
        let plugins: PluginList = api.get("/plugins").await?;
        let mut partners: Vec<String> = connections.into_iter().map(|one| one.partner).collect();
        partners.sort_unstable();
        partners.dedup();
        let is_converter = |kind: Option<PluginKind>| kind == Some(PluginKind::Converter);
        let active = plugins.plugins.into_iter().filter(|plugin| {
            let mut versions = plugin.versions.iter();
            plugin.digest.is_some() && versions.any(|version| is_converter(version.kind))
        });
        Ok(Self {
            partners,
            instances: instances
                .into_iter()
                .map(|one| name_in_workspace(&one.workspace, &one.name))
                .collect(),
            converters: active.map(|plugin| plugin.name).collect(),
        })
    }
}

async fn show(visit: &Visit<'_>) -> PageResult<NewConnectionPage> {
    let Workspaces { workspaces } = visit.api().get("/workspaces").await?;
    let Choices {
        partners,
        instances,
        converters,
    } = Choices::read(visit).await?;
    Ok(NewConnectionPage {
        frame: visit.frame("connections", "New connection"),
        workspaces,
        partners,
        instances,
        converters,
        typed: BTreeMap::new(),
        tried: None,
        is_guessed: false,
        faults: Faults::default(),
        new_partner: None,
    })
}

async fn filled(visit: &Visit<'_>, form: &Form) -> PageResult<NewConnectionPage> {
    let own = [
        "workspace",
        "partner",
        "name",
        "plugin",
        "instance",
        "config",
        "secrets",
        "more",
        "body",
    ];
    let fields = FIELDS.iter().map(|(field, _)| format!("field-{field}"));
    let names = own.into_iter().map(str::to_owned).chain(fields);
    let mut shown = show(visit).await?;
    shown.typed = names
        .map(|name| {
            let value = form.text(&name).to_owned();
            (name, value)
        })
        .collect();
    if form.get("plugin").is_empty() {
        shown.faults.add("plugin", "Choose a converter.".to_owned());
    }
    Ok(shown)
}

/// Shows what the converter reads in the pasted body. Nothing is stored.
async fn try_body(visit: &Visit<'_>, form: &Form) -> PageResult<FormOutcome> {
    let mut shown = filled(visit, form).await?;
    if !shown.faults.is_empty() {
        return Ok(FormOutcome::Page(page(StatusCode::BAD_REQUEST, &shown)?));
    }
    let tried = match config(form, form.text("config")) {
        Ok(config) => tried(visit, form, config).await,
        Err(refusal) => Err(refusal),
    };
    let status = match tried {
        Ok(tried) => {
            if form.get("plugin") == MAPPING
                && form.filled("config").is_none()
                && let Some(guessed) = guessed(visit, form, &tried).await
            {
                shown.typed.insert("config".to_owned(), guessed);
                shown.is_guessed = true;
            }
            shown.tried = Some(tried);
            StatusCode::OK
        }
        Err(refusal) => {
            shown.faults.add("", refusal.message);
            refusal.status
        }
    };
    Ok(FormOutcome::Page(page(status, &shown)?))
}

async fn tried(visit: &Visit<'_>, form: &Form, config: Value) -> PageResult<TriedBody> {
    let request = TryRequest {
        plugin: form.get("plugin").to_owned(),
        config,
        body: form.text("body").to_owned(),
        content_type: None,
        query: BTreeMap::new(),
    };
    visit.api().post("/connections/try", &request).await
}

/// Returns a configuration with the paths that a trial guessed: of the fields that another trial, with this
/// configuration, reads as they were guessed.
async fn guessed(visit: &Visit<'_>, form: &Form, seen: &TriedBody) -> Option<String> {
    let mut fields = Map::new();
    for TriedField {
        field, from, how, ..
    } in seen.items.iter().flat_map(|item| &item.fields)
    {
        let places: Vec<&str> = from.as_deref().unwrap_or_default().split(", ").collect();
        // A path with a comma is not told apart, and these two fields have parts of their own.
        let is_whole =
            |place: &&str| !place.is_empty() && place.matches('"').count().is_multiple_of(2);
        let has_parts = ["campaign", "consents"].contains(&field.as_str());
        if *how == ReadHow::Guessed && !has_parts && places.iter().all(is_whole) {
            let paths = match (field.as_str(), places.as_slice()) {
                (_, [path]) => json!(path),
                ("phones" | "emails" | "listings", all) => json!(all),
                (_, all) => json!({ "join": all }),
            };
            fields.entry(field.as_str()).or_insert(paths);
        }
    }
    let all = config(form, &json!({ "fields": fields }).to_string()).ok()?;
    let again = tried(visit, form, all).await.ok()?;
    let values = |of: &TriedBody, field: &str| -> Vec<Value> {
        let leads = of.items.iter().map(|item| &item.outcome["lead"][field]);
        leads.cloned().collect()
    };
    fields.retain(|field, _| values(&again, field) == values(seen, field));
    (!fields.is_empty()).then(|| format!("{:#}", json!({ "fields": fields })))
}

#[derive(Template)]
#[template(path = "console/made_connection.html")]
pub struct MadeConnectionPage {
    frame: Frame,
    name: String,
    id: ConnectionId,
    /// Secrets that the host made: shown only now.
    generated: BTreeMap<String, String>,
    warnings: Vec<FileProblem>,
    /// Whether anybody who knows the address can send to it.
    is_open: bool,
    /// Whether its partner was made with it.
    makes_partner: bool,
    /// The connection as a workspace file declares it, with its partner if that is new.
    declaration: String,
}

/// Saves the connection. A partner that the workspace lacks is made only after a question that names it.
async fn make(visit: &Visit<'_>, form: &Form) -> PageResult<FormOutcome> {
    if form.get("plugin").is_empty() {
        let shown = filled(visit, form).await?;
        return Ok(FormOutcome::Page(page(StatusCode::BAD_REQUEST, &shown)?));
    }
    let refusal = match made(visit, form).await {
        Ok(Some(made)) => return Ok(FormOutcome::Page(page(StatusCode::OK, &made)?)),
        Ok(None) => {
            let mut shown = filled(visit, form).await?;
            shown.new_partner = Some(form.get("partner").to_owned());
            return Ok(FormOutcome::Page(page(StatusCode::OK, &shown)?));
        }
        Err(refusal) => refusal,
    };
    let status = refusal.status;
    let mut shown = filled(visit, form).await?;
    shown.faults = Faults::from_refusal(refusal, input_of);
    Ok(FormOutcome::Page(page(status, &shown)?))
}

/// Returns the field for a key of the entry: its own, or the field for all other keys.
fn input_of(key: &str) -> &str {
    let own = ["name", "partner", "plugin", "instance", "config", "secrets"];
    if own.contains(&key) { key } else { "more" }
}

/// Makes the connection. `None`: nothing is made yet, because the workspace lacks the partner, and the form
/// does not say that this is meant.
async fn made(visit: &Visit<'_>, form: &Form) -> PageResult<Option<MadeConnectionPage>> {
    let api = visit.api();
    let (slug, name) = (form.get("workspace"), form.get("name"));
    let partner = form.get("partner");
    let workspace = part::workspace(visit, slug).await?;
    let connections: Connections = api.get("/connections").await?;
    let of_workspace = connections.connections.iter();
    let of_workspace = of_workspace.filter(|one| one.workspace == slug);
    if of_workspace.clone().any(|one| one.name == name) {
        let message = format!("There is a connection `{slug}/{name}` already.");
        return Err(ApiRefusal::new(StatusCode::CONFLICT, message));
    }
    let is_known = of_workspace.clone().any(|one| one.partner == partner);
    let connection = declaration(form)?;
    let file = part::file(&workspace, partner, Some(connection.clone()));
    let may_be_new = !is_known && form.get("new-partner") != partner;
    if may_be_new && part::would_make_partner(visit, &file).await? {
        return Ok(None);
    }
    let mut report = part::apply(visit, &file).await?;
    let new_partner = part::makes_partner(&report).then_some(partner);
    let id = report
        .connections
        .remove(name)
        .ok_or_else(|| ApiRefusal::new(StatusCode::INTERNAL_SERVER_ERROR, "It was not made."))?;
    let connections: Connections = api.get("/connections").await?;
    let mut connections = connections.connections.iter();
    let made = connections.find(|one| one.id == id);
    Ok(Some(MadeConnectionPage {
        is_open: made.is_some_and(|made| made.senders == Senders::Anybody),
        frame: visit.frame("connections", format!("{slug}/{name} is made")),
        name: name.to_owned(),
        id,
        generated: report.generated.remove(name).unwrap_or_default(),
        warnings: report.warnings,
        makes_partner: new_partner.is_some(),
        declaration: part::as_file(connection, new_partner),
    }))
}

fn declaration(form: &Form) -> PageResult<Value> {
    let mut entry = match form.filled("more") {
        None => Map::new(),
        Some(text) => part::object("Further keys", &text)?,
    };
    entry.insert("name".to_owned(), form.get("name").into());
    entry.insert("partner".to_owned(), form.get("partner").into());
    entry.insert("plugin".to_owned(), form.get("plugin").into());
    if let Some(instance) = form.filled("instance") {
        entry.insert(
            "instance".to_owned(),
            part::instance_of(form.get("workspace"), &instance)?.into(),
        );
    }
    let config = config(form, form.text("config"))?;
    if config.as_object().is_some_and(|config| !config.is_empty()) {
        entry.insert("config".to_owned(), config);
    }
    let secrets = part::secrets(form)?;
    if !secrets.is_empty() {
        entry.insert("secrets".to_owned(), secrets.into());
    }
    Ok(entry.into())
}

/// Returns the configuration: the JSON of this text, and for the mapping the fields that are filled in.
fn config(form: &Form, text: &str) -> PageResult<Value> {
    let mut config = match text.trim() {
        "" => Map::new(),
        text => part::object("Configuration", text)?,
    };
    let mut fields = Map::new();
    for (field, _) in FIELDS {
        let text = form.get(&format!("field-{field}"));
        let mut paths: Vec<Value> = text
            .split(',')
            .map(str::trim)
            .filter(|path| !path.is_empty())
            .map(Into::into)
            .collect();
        match paths.len() {
            0 => {}
            1 => {
                fields.insert(field.to_owned(), paths.remove(0));
            }
            _ => {
                fields.insert(field.to_owned(), paths.into());
            }
        }
    }
    if form.get("plugin") == MAPPING && !fields.is_empty() {
        let known = config.entry("fields").or_insert_with(|| Map::new().into());
        let known = known
            .as_object_mut()
            .ok_or_else(|| part::refused("Configuration: `fields` is not an object.".to_owned()))?;
        known.extend(fields);
    }
    Ok(config.into())
}
