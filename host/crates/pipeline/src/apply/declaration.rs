//! A workspace as its file declares it: the meaning of the fields, and all checks that need
//! no store. The file is TOML. It arrives here as JSON; the command line, the only part
//! that may read its user's files and environment, has resolved the `env:` and `file:`
//! references.

use serde_json::Map;

use super::binding::AvailablePlugins;
use super::connection::{DeclaredConnection, read_sources};
use super::instance::read_instances;
use super::key::check_label;
use super::names::{
    LANGUAGE, REGION, TIME_ZONE, Unique, is_language, is_region, is_slug, is_time_zone, known,
};
use super::reader::{FileTable, Problems, Unchecked, kind};
use crate::prelude::*;
use leadhost_domain::connection::ConnectionSettings;
use leadhost_domain::key::KeyKind;
use leadhost_domain::workspace::Agent;
use leadhost_domain::{contact, text, zone};
use leadhost_input::Fault;
use leadhost_store::{PlannedAgent, PlannedOwner, PlannedProduct};

/// The region of a workspace whose file names none: ISO 3166 alpha-2.
pub const DEFAULT_REGION: &str = "BR";

/// Requests per minute on the data API if the file names no other number.
pub const DEFAULT_RATE_LIMIT: u32 = 120;

/// The greatest number of requests per minute that a file may name.
pub const RATE_LIMIT_MOST: u32 = 10_000_000;

#[derive(Debug)]
pub struct Declaration {
    pub slug: String,
    pub name: String,
    pub region: String,
    pub time_zone: String,
    pub rate_limit: u32,
    pub partners: Vec<String>,
    pub agents: Vec<PlannedAgent>,
    pub owners: Vec<PlannedOwner>,
    /// Sources, then the channels of instances.
    pub connections: Vec<DeclaredConnection>,
    pub products: Vec<PlannedProduct>,
    pub keys: Vec<DeclaredKey>,
}

/// A key that the workspace should have. It is created once, and recognised by its kind and
/// label.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DeclaredKey {
    pub kind: KeyKind,
    pub label: String,
    pub partner: Option<String>,
}

/// A file that was read; its configurations are not checked yet.
#[derive(Debug)]
pub struct Reading {
    declaration: Option<Declaration>,
    problems: Vec<InputProblem>,
    pub unchecked: Vec<Unchecked>,
}

impl Reading {
    /// Returns the declaration. `found` has the results for the configurations, in their
    /// order.
    pub fn checked(mut self, found: Vec<Checked>) -> Result<Declaration, Vec<InputProblem>> {
        // From the last on, so that the places of earlier insertions stay valid.
        for (unchecked, found) in self.unchecked.iter().zip(found).rev() {
            let problems: Vec<_> = match found {
                Ok(faults) => faults
                    .into_iter()
                    .map(|fault| InputProblem {
                        path: fault.path_below(&unchecked.path),
                        message: fault.what,
                    })
                    .collect(),
                Err(why) => vec![InputProblem {
                    path: unchecked.path.clone(),
                    message: format!(
                        "cannot be checked against the schema of {}: {why}",
                        unchecked.plugin
                    ),
                }],
            };
            let after = unchecked.after;
            self.problems.splice(after..after, problems);
        }
        match self.declaration {
            Some(declaration) if self.problems.is_empty() => Ok(declaration),
            _ => Err(self.problems),
        }
    }
}

/// The faults of a configuration, or why it could not be checked.
pub type Checked = Result<Vec<Fault>, String>;

/// Reads everything that needs no plugin and no store. `stored` are the instances that the workspace has
/// already.
pub fn read(file: &Value, plugins: &AvailablePlugins, stored: &[Agent]) -> Reading {
    let problems = Problems::default();
    let declaration = read_file(file, plugins, stored, &problems);
    let (problems, unchecked) = problems.into_parts();
    Reading {
        declaration,
        problems,
        unchecked,
    }
}

fn read_file(
    file: &Value,
    plugins: &AvailablePlugins,
    stored: &[Agent],
    problems: &Problems,
) -> Option<Declaration> {
    if let Some(path) = text::first_zero(file) {
        problems.add(path, "contains the character U+0000, which is not allowed");
    }
    let file = FileTable::new(file, "", problems)?;
    if file.value("workspace").is_none() {
        file.problem(
            "workspace",
            "is missing: expected [workspace] with slug and name",
        );
    }
    let empty = Value::Object(Map::new());
    let workspace = match file.table("workspace") {
        Some(table) => read_workspace(table),
        None => read_workspace(FileTable::new(&empty, "workspace", &Problems::default())?),
    };
    let partners = read_partners(&file);
    let (agents, channels) = read_instances(&file, plugins, &workspace.language);
    let mut connections = read_sources(&file, plugins, &partners, &agents, stored);
    connections.extend(channels);
    let declaration = Declaration {
        slug: workspace.slug,
        name: workspace.name,
        region: workspace.region,
        time_zone: workspace.time_zone,
        rate_limit: workspace.rate_limit,
        owners: read_owners(&file),
        connections,
        products: read_products(&file),
        keys: read_keys(&file, &partners),
        partners,
        agents,
    };
    file.finish();
    Some(declaration)
}

struct DeclaredWorkspace {
    slug: String,
    name: String,
    region: String,
    time_zone: String,
    rate_limit: u32,
    language: String,
}

fn read_workspace(table: FileTable<'_>) -> DeclaredWorkspace {
    let slug = table.required_text("slug");
    if !slug.is_empty() && !is_slug(&slug) {
        table.problem(
            "slug",
            format!("`{slug}`: expected lower-case letters, digits and hyphens, at most 64"),
        );
    }
    let name = table.required_text("name");
    let region = table.matching("region", REGION, is_region);
    let time_zone = table.matching("time_zone", TIME_ZONE, is_time_zone);
    let rate_limit = table.number("rate_limit", 1, RATE_LIMIT_MOST);
    let language = table.matching("language", LANGUAGE, is_language);
    table.finish();
    DeclaredWorkspace {
        slug,
        name,
        region: region.unwrap_or_else(|| DEFAULT_REGION.to_owned()),
        time_zone: time_zone.unwrap_or_else(|| zone::DEFAULT.to_owned()),
        rate_limit: rate_limit.unwrap_or(DEFAULT_RATE_LIMIT),
        language: language.unwrap_or_else(|| ConnectionSettings::default().language),
    }
}

fn read_partners(file: &FileTable<'_>) -> Vec<String> {
    let mut names = Unique::default();
    file.tables("partners")
        .into_iter()
        .map(|table| {
            let name = table.required_text("name");
            names.take(&table, "name", &name);
            table.finish();
            name
        })
        .collect()
}

/// Reads the owners, each with a unique e-mail address in its normal form. Problems are added to `file`.
pub(super) fn read_owners(file: &FileTable<'_>) -> Vec<PlannedOwner> {
    let mut emails = Unique::default();
    file.tables("owners")
        .into_iter()
        .map(|table| {
            if table.value("email").is_none() {
                table.problem("email", "is missing: expected an e-mail address");
            }
            let valid = |text: &str| contact::email(text).is_some();
            let email = table
                .matching("email", "an e-mail address", valid)
                .and_then(|text| contact::email(&text))
                .unwrap_or_default();
            emails.take(&table, "email", &email);
            let owner = PlannedOwner {
                name: table.required_text("name"),
                email,
            };
            table.finish();
            owner
        })
        .collect()
}

fn read_products(file: &FileTable<'_>) -> Vec<PlannedProduct> {
    let mut ids = Unique::default();
    file.tables("products")
        .into_iter()
        .map(|table| {
            let external_id = table.required_text("external_id");
            ids.take(&table, "external_id", &external_id);
            let description = match table.value("description") {
                Some(Value::String(text)) => Some(text.clone()),
                Some(other) => {
                    table.problem(
                        "description",
                        format!("expected a text, found {}", kind(other)),
                    );
                    None
                }
                None => None,
            };
            let product = PlannedProduct {
                external_id,
                name: table.required_text("name"),
                description,
            };
            table.finish();
            product
        })
        .collect()
}

fn read_keys(file: &FileTable<'_>, partners: &[String]) -> Vec<DeclaredKey> {
    // A key is recognised by kind and label.
    let mut labels = BTreeMap::<String, Unique>::new();
    file.tables("keys")
        .into_iter()
        .filter_map(|table| {
            let label = table.required_text("label");
            if let Err(why) = check_label(&label) {
                table.problem("label", why);
            }
            let text = table.required_text("kind");
            let of_kind = labels.entry(text.clone()).or_default();
            of_kind.take(&table, "label", &label);
            let kind = KeyKind::from_text(&text).filter(|kind| *kind != KeyKind::Admin);
            if kind.is_none() && !text.is_empty() {
                table.problem(
                    "kind",
                    format!("`{text}`: expected partner, workspace or access-token"),
                );
            }
            let partner = table.text("partner");
            match (kind?, &partner) {
                (KeyKind::Workspace, Some(_)) => {
                    table.problem("partner", "a workspace key cannot belong to a partner");
                }
                (KeyKind::Partner | KeyKind::AccessToken, None) => {
                    table.problem(
                        "partner",
                        "is missing: a key of this kind belongs to a partner",
                    );
                }
                (_, Some(name)) => known(&table, "partner", name, "partner", partners),
                _ => {}
            }
            table.finish();
            Some(DeclaredKey {
                kind: kind?,
                label,
                partner,
            })
        })
        .collect()
}
