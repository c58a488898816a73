//! The configuration by an integrator: where the leads are, and which path of the source
//! fills which field. Unknown keys are refused, so that a typing error is noticed
//! when the connection is created and not in lost data.

use std::collections::BTreeMap;

use leadhost_sdk::serde_json::{self, Value};
use serde::{Deserialize, Deserializer, de::Error};

use crate::path::Path;
use crate::time;

/// The configuration as JSON Schema, for people and for the host.
pub const SCHEMA: &str = include_str!("config.schema.json");

#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct Config {
    pub format: Format,
    /// Paths of texts that contain JSON.
    pub decode: Vec<Path>,
    /// Paths of the leads: the first one that exists counts. `None`: the usual places.
    pub items: Vec<Path>,
    pub only: Vec<Condition>,
    #[serde(deserialize_with = "one_or_many")]
    pub pairs: Vec<Pairs>,
    pub fields: Fields,
    pub attributes: Attributes,
    /// Whether fields that are not configured are searched under the usual names.
    pub defaults: bool,
    pub carried_secrets: Vec<Carried>,
    /// Whether notes say what was read from where.
    pub explain: bool,
}

impl Config {
    /// Whether the configuration says neither where the leads are nor who they are.
    pub fn is_guessing(&self) -> bool {
        let fields = &self.fields;
        let who = [
            &fields.external_id,
            &fields.name,
            &fields.phones,
            &fields.emails,
        ];
        self.defaults
            && self.items.is_empty()
            && self.pairs.is_empty()
            && who.iter().all(|field| field.is_none())
    }
}

impl Default for Config {
    fn default() -> Self {
        Self {
            format: Format::Auto,
            decode: Vec::new(),
            items: Vec::new(),
            only: Vec::new(),
            pairs: Vec::new(),
            fields: Fields::default(),
            attributes: Attributes::Rest,
            defaults: true,
            carried_secrets: Vec::new(),
            explain: false,
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Format {
    Auto,
    Json,
    Form,
    Multipart,
    Xml,
}

/// A condition on the value at a path. An item is a lead only if it holds.
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Condition {
    pub path: Path,
    /// The value is one of these.
    pub equals: Option<Vec<Value>>,
    /// The value is none of these.
    pub not_equals: Option<Vec<Value>>,
    /// The value exists (true), or does not (false).
    pub exists: Option<bool>,
}

/// A list of questions and answers, whose names then count as the item's own.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Pairs {
    #[serde(rename = "in")]
    pub list: Path,
    #[serde(deserialize_with = "one_or_many")]
    pub name: Vec<Path>,
    #[serde(deserialize_with = "one_or_many")]
    pub value: Vec<Path>,
    /// A readable name, for the attribute.
    #[serde(default, deserialize_with = "one_or_many")]
    pub label: Vec<Path>,
    pub labels: Option<Labels>,
}

/// Readable names that are in a separate list, joined by an id.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Labels {
    #[serde(rename = "in")]
    pub list: Path,
    /// The id in this list.
    pub id: Path,
    /// The id in the pair.
    #[serde(rename = "match")]
    pub matches: Path,
    pub label: Path,
}

/// A field that is not configured has no source; an empty list turns a default off.
#[derive(Debug, Clone, Default)]
pub struct Fields {
    pub external_id: Option<Field>,
    pub name: Option<Field>,
    pub phones: Option<Field>,
    pub emails: Option<Field>,
    pub listings: Option<Field>,
    pub message: Option<Field>,
    pub occurred_at: Option<Field>,
    pub source: Option<Field>,
    pub is_test: Option<Field>,
    pub region: Option<Field>,
    pub action: Option<Field>,
    pub campaign: BTreeMap<String, Field>,
    pub consents: BTreeMap<String, Field>,
}

/// The sources of a field, best first.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Field(pub Vec<Source>);

/// One source of a field, and the transformations of its text.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Source {
    #[serde(alias = "path", deserialize_with = "one_or_many")]
    pub paths: Vec<Path>,
    /// The texts of all these; missing ones are left out.
    pub join: Vec<Path>,
    /// The separator of joined texts.
    #[serde(rename = "with")]
    pub between: Option<String>,
    pub constant: Option<String>,
    pub header: Option<String>,
    pub query: Option<String>,
    pub trim: Option<String>,
    pub digits: bool,
    pub lower: bool,
    pub prefix: String,
    /// From text found to replacement; other texts stay unchanged.
    pub map: BTreeMap<String, String>,
    /// For a time: `epoch`, or a pattern such as `%d/%m/%Y %H:%M`.
    #[serde(deserialize_with = "formats")]
    pub format: Vec<String>,
    /// For a listing: `client`, `portal`, or the source's word.
    pub kind: Option<String>,
}

#[derive(Debug, Clone, PartialEq)]
pub enum Attributes {
    Rest,
    None,
    /// The values at these paths, each under the path's last key.
    Paths(Vec<Path>),
    /// Attributes under configured names.
    Named(BTreeMap<String, Path>),
}

/// The place of a secret that the source carries.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Carried {
    pub place: String,
    pub name: String,
}

impl<'de> Deserialize<'de> for Field {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let sources = match Value::deserialize(deserializer)? {
            Value::Array(sources) => sources.into_iter().map(source).collect(),
            one => source(one).map(|source| vec![source]),
        };
        sources.map(Self).map_err(D::Error::custom)
    }
}

impl<'de> Deserialize<'de> for Fields {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let mut fields = Self::default();
        for (name, value) in BTreeMap::<String, Value>::deserialize(deserializer)? {
            let place = match name.as_str() {
                "externalId" => &mut fields.external_id,
                "name" => &mut fields.name,
                "phones" => &mut fields.phones,
                "emails" => &mut fields.emails,
                "listings" => &mut fields.listings,
                "message" => &mut fields.message,
                "occurredAt" => &mut fields.occurred_at,
                "source" => &mut fields.source,
                "isTest" => &mut fields.is_test,
                "region" => &mut fields.region,
                "action" => &mut fields.action,
                "campaign" => {
                    fields.campaign = several(&name, value).map_err(D::Error::custom)?;
                    continue;
                }
                "consents" => {
                    fields.consents = several(&name, value).map_err(D::Error::custom)?;
                    continue;
                }
                _ => {
                    let known = FIELDS.join("`, `");
                    return Err(D::Error::custom(format!(
                        "the field `{name}` of `fields` is unknown; allowed are `{known}`"
                    )));
                }
            };
            *place = Some(one(&name, value).map_err(D::Error::custom)?);
        }
        Ok(fields)
    }
}

/// The names of the fields, as a configuration has them.
const FIELDS: [&str; 13] = [
    "externalId",
    "name",
    "phones",
    "emails",
    "listings",
    "message",
    "occurredAt",
    "source",
    "isTest",
    "region",
    "action",
    "campaign",
    "consents",
];

/// Reads one field. The error names it: a configuration has many.
fn one(name: &str, value: Value) -> Result<Field, String> {
    serde_json::from_value(value).map_err(|error| format!("fields.{name}: {error}"))
}

/// Reads fields under names of their own.
fn several(name: &str, value: Value) -> Result<BTreeMap<String, Field>, String> {
    let Value::Object(fields) = value else {
        return Err(format!(
            "fields.{name}: it must be an object of names and fields"
        ));
    };
    let fields = fields.into_iter();
    let fields = fields.map(|(own, value)| {
        let field = one(&format!("{name}.{own}"), value)?;
        Ok((own, field))
    });
    fields.collect()
}

fn source(value: Value) -> Result<Source, String> {
    match value {
        Value::String(path) => Ok(Source {
            paths: vec![Path::parse(&path)?],
            ..Source::default()
        }),
        Value::Object(_) => {
            let source: Source =
                serde_json::from_value(value).map_err(|error| error.to_string())?;
            match source.join.is_empty() || source.constant.is_none() {
                true => Ok(source),
                false => Err(
                    "`join` and `constant` contradict each other: put the constant into a second source of the field"
                        .to_owned(),
                ),
            }
        }
        other => Err(format!(
            "a field is a path, a list of paths, or an object with `paths`, `join` or `constant`; not {other}"
        )),
    }
}

impl<'de> Deserialize<'de> for Attributes {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let value = Value::deserialize(deserializer)?;
        let read = match &value {
            Value::String(word) if word == "rest" => return Ok(Self::Rest),
            Value::String(word) if word == "none" => return Ok(Self::None),
            Value::Array(_) => serde_json::from_value(value).map(Self::Paths),
            Value::Object(_) => serde_json::from_value(value).map(Self::Named),
            _ => {
                return Err(D::Error::custom(
                    "`attributes` is \"rest\", \"none\", a list of paths, or an object of names and paths",
                ));
            }
        };
        read.map_err(D::Error::custom)
    }
}

/// Reads the formats of a time. One with an unknown directive would fit no time.
fn formats<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<String>, D::Error> {
    let formats: Vec<String> = one_or_many(deserializer)?;
    for format in &formats {
        time::check_format(format).map_err(D::Error::custom)?;
    }
    Ok(formats)
}

fn one_or_many<'de, D, T>(deserializer: D) -> Result<Vec<T>, D::Error>
where
    D: Deserializer<'de>,
    T: serde::de::DeserializeOwned,
{
    match Value::deserialize(deserializer)? {
        Value::Array(many) => many.into_iter().map(serde_json::from_value).collect(),
        one => serde_json::from_value(one).map(|one| vec![one]),
    }
    .map_err(D::Error::custom)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn refused(text: &str) -> String {
        serde_json::from_str::<Config>(text)
            .unwrap_err()
            .to_string()
    }

    #[test]
    fn a_field_is_a_path_a_list_or_an_object() {
        let text = r#"{"fields": {"name": "a.b", "phones": ["c", {"join": ["d", "e"], "with": ""}],
            "source": {"constant": "Site"}, "message": {"path": "f"}},
            "pairs": {"in": "x", "name": "y", "value": ["z"]}}"#;
        let config: Config = serde_json::from_str(text).unwrap();
        assert_eq!(config.fields.phones.unwrap().0.len(), 2);
        assert_eq!(config.fields.message.unwrap().0[0].paths.len(), 1);
        assert_eq!(config.pairs.len(), 1);
        assert!(config.defaults);
    }

    #[test]
    fn unknown_and_malformed_keys_are_refused_by_name() {
        assert!(refused(r#"{"feilds": {}}"#).contains("feilds"));
        assert!(refused(r#"{"fields": {"nome": "a"}}"#).contains("nome"));
        assert!(refused(r#"{"fields": {"name": {"pathes": "a"}}}"#).contains("pathes"));
        assert!(refused(r#"{"fields": {"name": "a["}}"#).contains("a["));
        assert!(refused(r#"{"fields": {"name": 1}}"#).contains("not 1"));
        assert!(refused(r#"{"attributes": "some"}"#).contains("rest"));
        let both = refused(r#"{"fields": {"name": {"join": ["a", "b"], "constant": "c"}}}"#);
        assert!(
            both.starts_with("fields.name: ") && both.contains("contradict"),
            "{both}"
        );
        let path = refused(r#"{"fields": {"campaign": {"form-id": ["a", "b["]}}}"#);
        assert!(path.starts_with("fields.campaign.form-id: "), "{path}");
        let campaign = refused(r#"{"fields": {"campaign": "a"}}"#);
        assert!(campaign.contains("names and fields"), "{campaign}");
        let format = refused(r#"{"fields": {"occurredAt": {"path": "a", "format": "%d/%Q"}}}"#);
        assert!(
            format.contains("`%Q`") && format.contains("`%Y`"),
            "{format}"
        );
    }
}
