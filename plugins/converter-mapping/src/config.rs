//! The configuration by an integrator: where the leads are, and which path of the source
//! fills which field. Unknown keys are refused, so that a typing error is noticed
//! when the connection is created and not in lost data.

use std::collections::BTreeMap;

use leadhost_sdk::path::Path;
use leadhost_sdk::serde_json::{self, Value};
use leadhost_sdk::text_of;
use serde::{Deserialize, Deserializer, de::Error};

use crate::time_format;

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
    #[serde(deserialize_with = "conditions")]
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
    let refused = |error: &dyn std::fmt::Display| format!("fields.{name}: {error}");
    let field: Field = serde_json::from_value(value).map_err(|error| refused(&error))?;
    for source in &field.0 {
        source.check_for(name).map_err(|error| refused(&error))?;
    }
    Ok(field)
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
            let checked = check_options(&value);
            let source = serde_json::from_value(value).map_err(|error| error.to_string());
            // An unknown option is refused first: it may be the missing one.
            source.and_then(|source| checked.map(|()| source))
        }
        other => Err(format!(
            "a field is a path, a list of paths, or an object with `paths`, `join` or `constant`; not {other}"
        )),
    }
}

/// The options that say where the value of a source is.
const ORIGINS: [&str; 6] = ["path", "paths", "join", "constant", "header", "query"];

/// Refuses options of a source that contradict each other: one of them would be left out silently.
fn check_options(source: &Value) -> Result<(), String> {
    let is_given = |name: &&&str| source.get(**name).is_some();
    let given: Vec<&&str> = ORIGINS.iter().filter(is_given).collect();
    match given.as_slice() {
        [] => Err(
            "nothing says where the value is: write `path`, `join`, `constant`, `header` or `query`, or [] to leave the field empty"
                .to_owned(),
        ),
        [first, second, ..] => Err(format!(
            "`{first}` and `{second}` contradict each other: write two sources of the field, [{{\"{first}\": ..}}, {{\"{second}\": ..}}]; the first with a value counts"
        )),
        [name] if source[**name].as_array().is_some_and(Vec::is_empty) => {
            Err(format!("`{name}` is an empty list"))
        }
        [name] if source.get("with").is_some() && **name != "join" => {
            Err("`with` needs `join`: it is the text between joined values".to_owned())
        }
        [_] => Ok(()),
    }
}

impl Source {
    /// Refuses an option that only another field has.
    fn check_for(&self, field: &str) -> Result<(), String> {
        let is_foreign = |option: &str, of: &str, is_given: bool| {
            if is_given && field != of {
                Err(format!(
                    "`{option}` is an option of `{of}`, and does nothing here"
                ))
            } else {
                Ok(())
            }
        };
        if self.digits && matches!(field, "name" | "emails") {
            return Err(format!(
                "`digits` leaves nothing of `{field}`: leave it out"
            ));
        }
        is_foreign("format", "occurredAt", !self.format.is_empty())?;
        is_foreign("kind", "listings", self.kind.is_some())
    }
}

impl Condition {
    /// Refuses a condition that says nothing, or that no item can meet.
    fn check(&self) -> Result<(), &'static str> {
        let is_empty = |values: &Option<Vec<Value>>| values.as_ref().is_some_and(Vec::is_empty);
        if is_empty(&self.equals) || is_empty(&self.not_equals) {
            return Err("`equals` and `notEquals` of `only` need at least one value");
        }
        if self.equals.is_some() && self.exists == Some(false) {
            return Err("`equals` and `\"exists\": false` of `only` contradict each other");
        }
        if let (Some(wanted), Some(unwanted)) = (&self.equals, &self.not_equals)
            && wanted
                .iter()
                .all(|one| unwanted.iter().any(|other| is_same(one, other)))
        {
            return Err(
                "`equals` and `notEquals` of `only` have the same value in one condition: no item meets it",
            );
        }
        match (&self.equals, &self.not_equals, self.exists) {
            (None, None, None) => Err(
                "a condition of `only` needs `equals`, `notEquals` or `exists`: with `path` alone it says nothing",
            ),
            _ => Ok(()),
        }
    }
}

/// Whether a condition takes two values for the same one: `1` and `"1"` are.
pub fn is_same(one: &Value, other: &Value) -> bool {
    one == other || text_of(one) == text_of(other)
}

/// Reads the conditions of `only`.
fn conditions<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<Condition>, D::Error> {
    let conditions = Vec::<Condition>::deserialize(deserializer)?;
    if conditions.is_empty() {
        return Err(D::Error::custom(
            "`only` has no condition: leave it out, and every item is read",
        ));
    }
    for condition in &conditions {
        condition.check().map_err(D::Error::custom)?;
    }
    Ok(conditions)
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
        time_format::check_format(format).map_err(D::Error::custom)?;
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
    fn options_that_contradict_each_other_are_refused_by_field_and_name() {
        let says = |field: &str, source: &str, parts: &[&str]| {
            let said = refused(&format!(r#"{{"fields": {{"{field}": {source}}}}}"#));
            assert!(said.starts_with(&format!("fields.{field}: ")), "{said}");
            for part in parts {
                assert!(said.contains(part), "{part}: {said}");
            }
        };
        let two = [
            (
                "name",
                r#"{"constant": "a", "header": "b"}"#,
                ["`constant`", "`header`"],
            ),
            (
                "name",
                r#"{"constant": "a", "path": "b"}"#,
                ["`path`", "`constant`"],
            ),
            (
                "name",
                r#"{"join": ["a"], "path": "b"}"#,
                ["`path`", "`join`"],
            ),
            (
                "name",
                r#"["x", {"query": "a", "paths": ["b"]}]"#,
                ["`paths`", "`query`"],
            ),
            (
                "name",
                r#"{"path": "a", "with": "-"}"#,
                ["`with`", "`join`"],
            ),
            (
                "name",
                r#"{"path": "a", "format": "epoch"}"#,
                ["`format`", "`occurredAt`"],
            ),
            (
                "phones",
                r#"{"path": "a", "kind": "portal"}"#,
                ["`kind`", "`listings`"],
            ),
            ("name", "{}", ["`path`", "[]"]),
            ("name", r#"{"lower": true}"#, ["`path`", "[]"]),
            ("name", r#"{"paths": []}"#, ["`paths`", "empty"]),
        ];
        for (field, source, parts) in two {
            says(field, source, &parts);
        }
        let campaign = refused(r#"{"fields": {"campaign": {"x": {"path": "a", "kind": "b"}}}}"#);
        assert!(
            campaign.starts_with("fields.campaign.x: `kind`"),
            "{campaign}"
        );
        for (only, part) in [
            ("[]", "no condition"),
            (r#"[{"path": "a"}]"#, "`exists`"),
            (r#"[{"path": "a", "equals": []}]"#, "at least one"),
            (
                r#"[{"path": "a", "equals": [1], "exists": false}]"#,
                "contradict",
            ),
            (
                r#"[{"path": "a", "equals": ["1"], "notEquals": [2, 1]}]"#,
                "the same value",
            ),
        ] {
            let said = refused(&format!(r#"{{"only": {only}}}"#));
            assert!(said.contains("`only`") && said.contains(part), "{said}");
        }
    }

    #[test]
    fn options_that_belong_together_are_read() {
        for fields in [
            r#"{"name": []}"#,
            r#"{"name": {"join": ["a", "b"], "with": "-", "trim": "."}}"#,
            r#"{"name": ["a", {"constant": "b"}]}"#,
            r#"{"occurredAt": {"path": "a", "format": ["epoch", "%d.%m.%Y"]}}"#,
            r#"{"occurredAt": {"path": "a", "format": ["epoch"]}, "listings": {"path": "b", "kind": "portal"}}"#,
        ] {
            let text = format!(r#"{{"fields": {fields}}}"#);
            serde_json::from_str::<Config>(&text).unwrap();
        }
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
        for (format, instead) in [
            ("yyyy-MM-dd", "`%Y-%m-%d`"),
            ("DD/MM/YYYY HH:mm:ss", "`%d/%m/%Y %H:%M:%S`"),
            ("yyyy-MM-dd'T'HH:mm:ssXXX", "`%Y-%m-%dT%H:%M:%S%z`"),
            ("d MMM yyyy h:mm a", "`%d %b %Y %I:%M %p`"),
            ("unix", "write `epoch`"),
            ("iso8601", "leave it out"),
            ("", "such as"),
            ("date é", "such as"),
        ] {
            let format =
                format!(r#"{{"fields": {{"occurredAt": {{"path": "a", "format": {format:?}}}}}}}"#);
            let said = refused(&format);
            assert!(said.contains(instead), "{instead}: {said}");
        }
    }

    #[test]
    fn a_condition_that_some_item_meets_is_read() {
        let text = r#"{"only": [{"path": "a", "equals": [1, 2], "notEquals": [1]}]}"#;
        serde_json::from_str::<Config>(text).unwrap();
    }
}
