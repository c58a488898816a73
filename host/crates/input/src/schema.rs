//! A schema as it is read: its parts, each with its keywords, by number. What cannot be checked in
//! bounded time, or would not be checked at all, is refused with its place.

use std::collections::{BTreeMap, HashMap};

use serde_json::{Map, Number, Value};

use crate::pattern::{CACHE_BYTES, Pattern};

/// Bytes of a schema. The longest known, the mapping converter's, has nine thousand.
const BYTES: usize = 128 << 10;

/// Length of a chain of parts that check the same value, by `$ref`, `allOf` and the like.
const CHAIN: usize = 32;

/// Bytes of all regular expressions when they are compiled, with the caches that speed them up.
const PATTERN_BYTES: usize = 16 << 20;

/// Bytes of the place of a part, in messages. Names may be long, and many parts have the same place above them.
const PLACE_BYTES: usize = 200;

/// A schema. Its first part is its root.
#[derive(Debug)]
pub struct Schema {
    pub(crate) parts: Vec<Part>,
}

#[derive(Debug, Default)]
pub struct Part {
    pub keywords: Vec<Keyword>,
    /// Whether it uses other parts.
    pub is_inner: bool,
}

/// What a keyword demands. Other parts are named by their numbers.
#[derive(Debug)]
pub enum Keyword {
    Never,
    Type(Types),
    /// `enum`, and `const` as one of one.
    Options(Vec<Value>),
    /// A bound of a number, and whether it is excluded.
    Least(Number, bool),
    Most(Number, bool),
    AtLeast(Length, usize),
    AtMost(Length, usize),
    Pattern(Pattern),
    /// Elements at these places, and those after them.
    Items(Vec<usize>, Option<usize>),
    Fields {
        named: BTreeMap<String, usize>,
        rest: Rest,
    },
    /// The part that checks each name.
    Names(usize),
    Required(Vec<String>),
    Needs(Vec<(String, Vec<String>)>),
    /// `allOf`, and `$ref` as one of one.
    All(Vec<usize>),
    /// `anyOf`; or `oneOf`, if exactly one has to fit.
    Choice {
        forms: Vec<usize>,
        exactly: bool,
    },
    /// A refused form, and the fields that it requires.
    Not {
        form: usize,
        fields: Vec<String>,
    },
    If(usize, Option<usize>, Option<usize>),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Length {
    Text,
    List,
    Object,
}

/// Fields that have no name in the schema.
#[derive(Clone, Copy, Debug)]
pub enum Rest {
    Free,
    Refused,
    Checked(usize),
}

/// Types of values, as a set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Types(u8);

/// The names of the types in schemas, and what people call them.
const TYPES: [(&str, &str); 7] = [
    ("array", "a list"),
    ("boolean", "true or false"),
    ("integer", "a whole number"),
    ("null", "null"),
    ("number", "a number"),
    ("object", "an object"),
    ("string", "a text"),
];

impl Types {
    fn read(value: &Value) -> Option<Self> {
        let one = |value: &Value| {
            let name = value.as_str()?;
            let place = TYPES.iter().position(|(known, _)| *known == name)?;
            Some(1 << place)
        };
        match value {
            Value::Array(list) => list
                .iter()
                .try_fold(0, |set, value| Some(set | one(value)?))
                .map(Self),
            other => one(other).map(Self),
        }
    }

    fn has(self, name: &str) -> bool {
        let place = TYPES.iter().position(|(known, _)| *known == name);
        place.is_some_and(|place| self.0 & (1 << place) != 0)
    }

    pub fn fit(self, value: &Value) -> bool {
        match value {
            Value::Null => self.has("null"),
            Value::Bool(_) => self.has("boolean"),
            Value::Number(number) => self.has("number") || self.has("integer") && is_whole(number),
            Value::String(_) => self.has("string"),
            Value::Array(_) => self.has("array"),
            Value::Object(_) => self.has("object"),
        }
    }

    /// Returns what people call them.
    pub fn words(self) -> impl Iterator<Item = &'static str> {
        TYPES
            .into_iter()
            .enumerate()
            .filter(move |(place, _)| self.0 & (1 << place) != 0)
            .map(|(_, (_, word))| word)
    }
}

fn is_whole(number: &Number) -> bool {
    number.is_i64() || number.is_u64() || number.as_f64().is_some_and(|float| float.fract() == 0.0)
}

impl Schema {
    /// Reads a schema that a plugin describes.
    pub fn read(text: &str) -> Result<Self, String> {
        if text.len() > BYTES {
            return Err(format!(
                "it has {} bytes; at most {BYTES} are taken",
                text.len()
            ));
        }
        let schema: Value =
            serde_json::from_str(text).map_err(|error| format!("it is not JSON: {error}"))?;
        Self::within(&schema, &schema)
    }

    /// Reads a schema whose references name places of a document.
    pub fn within(document: &Value, schema: &Value) -> Result<Self, String> {
        let mut reader = Reader {
            document,
            parts: Vec::new(),
            numbers: HashMap::new(),
            unread: Vec::new(),
            pattern_bytes: 0,
        };
        reader.number(schema, || "#".to_owned());
        while let Some((value, number, place)) = reader.unread.pop() {
            reader.parts[number] = reader.part(value, &place)?;
        }
        let schema = Self {
            parts: reader.parts,
        };
        let mut lengths = vec![ChainLength::Unknown; schema.parts.len()];
        for number in 0..schema.parts.len() {
            schema.chain(number, 0, &mut lengths)?;
        }
        Ok(schema)
    }

    /// Returns the length of the longest chain of parts that check the same value through this one.
    fn chain(
        &self,
        number: usize,
        above: usize,
        lengths: &mut [ChainLength],
    ) -> Result<usize, String> {
        let mut length = match lengths[number] {
            ChainLength::Known(length) => length,
            ChainLength::Unknown => 0,
            ChainLength::Sought => {
                return Err("a part of it refers to itself without going deeper into the value: evaluating it would never end".to_owned());
            }
        };
        if above + length > CHAIN {
            return Err(format!(
                "more than {CHAIN} of its parts check one value through each other"
            ));
        }
        if length == 0 {
            lengths[number] = ChainLength::Sought;
            let keywords = self.parts[number].keywords.iter();
            for part in keywords.flat_map(Keyword::parts_of_the_same_value) {
                length = length.max(1 + self.chain(part, above + 1, lengths)?);
            }
            lengths[number] = ChainLength::Known(length);
        }
        Ok(length)
    }
}

#[derive(Clone, Copy)]
enum ChainLength {
    Unknown,
    Sought,
    Known(usize),
}

impl Keyword {
    fn parts_of_the_same_value(&self) -> Vec<usize> {
        match self {
            Self::All(parts) | Self::Choice { forms: parts, .. } => parts.clone(),
            Self::Not { form, .. } => vec![*form],
            Self::If(condition, then, otherwise) => {
                let branches = [Some(*condition), *then, *otherwise];
                branches.into_iter().flatten().collect()
            }
            _ => Vec::new(),
        }
    }
}

struct Reader<'a> {
    document: &'a Value,
    parts: Vec<Part>,
    /// Numbers of parts, by the address of the value in the document.
    numbers: HashMap<*const Value, usize>,
    /// Parts that have a number and are not read yet.
    unread: Vec<(&'a Value, usize, String)>,
    pattern_bytes: usize,
}

/// The published drafts whose keywords mean what they mean in 2020-12, as far as they are taken.
const DRAFTS: [&str; 4] = [
    "json-schema.org/draft/2020-12/schema",
    "json-schema.org/draft/2019-09/schema",
    "json-schema.org/draft-07/schema",
    "json-schema.org/draft-06/schema",
];

/// Keywords that describe and demand nothing.
const NOTES: [&str; 14] = [
    "$comment",
    "$defs",
    "contentEncoding",
    "contentMediaType",
    "default",
    "definitions",
    "deprecated",
    "description",
    "example",
    "examples",
    "format",
    "readOnly",
    "title",
    "writeOnly",
];

impl<'a> Reader<'a> {
    fn number(&mut self, value: &'a Value, place: impl FnOnce() -> String) -> usize {
        let next = self.parts.len();
        let number = *self.numbers.entry(value).or_insert(next);
        if number == next {
            self.parts.push(Part::default());
            let mut place = place();
            place.truncate(place.floor_char_boundary(PLACE_BYTES));
            self.unread.push((value, number, place));
        }
        number
    }

    fn part(&mut self, schema: &'a Value, place: &str) -> Result<Part, String> {
        let keywords = match schema {
            Value::Bool(true) => Vec::new(),
            Value::Bool(false) => vec![Keyword::Never],
            Value::Object(fields) => self.keywords(fields, place)?,
            _ => return Err(format!("`{place}` is no schema: it must be an object")),
        };
        let is_inner = keywords.iter().any(|keyword| {
            matches!(
                keyword,
                Keyword::Fields { .. } | Keyword::Items(..) | Keyword::Names(_)
            ) || !keyword.parts_of_the_same_value().is_empty()
        });
        Ok(Part { keywords, is_inner })
    }

    fn keywords(
        &mut self,
        fields: &'a Map<String, Value>,
        place: &str,
    ) -> Result<Vec<Keyword>, String> {
        let mut out = Vec::new();
        for (name, value) in fields {
            let at = Keyed { place, name, value };
            let keyword = match name.as_str() {
                "type" => {
                    let types = Types::read(value);
                    Keyword::Type(types.ok_or_else(|| at.must("name types of JSON"))?)
                }
                "enum" => Keyword::Options(at.list()?.clone()),
                "const" => Keyword::Options(vec![value.clone()]),
                "minimum" => Keyword::Least(at.bound()?, false),
                "exclusiveMinimum" => Keyword::Least(at.bound()?, true),
                "maximum" => Keyword::Most(at.bound()?, false),
                "exclusiveMaximum" => Keyword::Most(at.bound()?, true),
                "minLength" => Keyword::AtLeast(Length::Text, at.count()?),
                "maxLength" => Keyword::AtMost(Length::Text, at.count()?),
                "minItems" => Keyword::AtLeast(Length::List, at.count()?),
                "maxItems" => Keyword::AtMost(Length::List, at.count()?),
                "minProperties" => Keyword::AtLeast(Length::Object, at.count()?),
                "maxProperties" => Keyword::AtMost(Length::Object, at.count()?),
                "pattern" => Keyword::Pattern(self.pattern(&at)?),
                "items" if fields.contains_key("prefixItems") => continue,
                "items" => Keyword::Items(Vec::new(), Some(self.one(&at))),
                "prefixItems" => {
                    let rest = fields.get("items").map(|value| Keyed {
                        name: "items",
                        value,
                        ..at
                    });
                    Keyword::Items(self.list(&at)?, rest.map(|at| self.one(&at)))
                }
                "additionalProperties" if fields.contains_key("properties") => continue,
                "properties" | "additionalProperties" => self.fields(fields, place)?,
                "propertyNames" => Keyword::Names(self.one(&at)),
                "required" => Keyword::Required(at.names()?),
                "dependentRequired" => {
                    let needs = at.table()?.iter().map(|(name, value)| {
                        let names = Keyed { value, ..at }.names()?;
                        Ok((name.clone(), names))
                    });
                    Keyword::Needs(needs.collect::<Result<_, String>>()?)
                }
                "$ref" => Keyword::All(vec![self.target(&at)?]),
                "allOf" => Keyword::All(self.list(&at)?),
                "anyOf" | "oneOf" => Keyword::Choice {
                    forms: self.list(&at)?,
                    exactly: name == "oneOf",
                },
                "not" => {
                    let required = value.get("required").filter(|list| list.is_array());
                    let names = required.map(|value| Keyed { value, ..at }.names());
                    Keyword::Not {
                        form: self.one(&at),
                        fields: names.transpose()?.unwrap_or_default(),
                    }
                }
                "if" => {
                    let mut branch = |name| {
                        let value = fields.get(name)?;
                        Some(self.one(&Keyed { place, name, value }))
                    };
                    let (then, otherwise) = (branch("then"), branch("else"));
                    Keyword::If(self.one(&at), then, otherwise)
                }
                "then" | "else" => continue,
                "$schema" if place == "#" => {
                    check_draft(value)?;
                    continue;
                }
                "$id" if place == "#" => continue,
                note if NOTES.contains(&note) || note.starts_with("x-") => continue,
                _ => {
                    return Err(format!(
                        "it has the keyword `{name}` at `{place}`, which is not among those that values are checked by here"
                    ));
                }
            };
            out.push(keyword);
        }
        Ok(out)
    }

    fn fields(&mut self, fields: &'a Map<String, Value>, place: &str) -> Result<Keyword, String> {
        let keyed = |name| {
            Some(Keyed {
                place,
                name,
                value: fields.get(name)?,
            })
        };
        let mut named = BTreeMap::new();
        if let Some(at) = keyed("properties") {
            for (key, value) in at.table()? {
                let number = self.number(value, || format!("{place}/properties/{key}"));
                named.insert(key.clone(), number);
            }
        }
        let rest = match keyed("additionalProperties") {
            None => Rest::Free,
            Some(at) => match at.value {
                Value::Bool(true) => Rest::Free,
                Value::Bool(false) => Rest::Refused,
                _ => Rest::Checked(self.one(&at)),
            },
        };
        Ok(Keyword::Fields { named, rest })
    }

    fn one(&mut self, at: &Keyed<'_, 'a>) -> usize {
        self.number(at.value, || format!("{}/{}", at.place, at.name))
    }

    fn list(&mut self, at: &Keyed<'_, 'a>) -> Result<Vec<usize>, String> {
        let list = at.list()?.iter().enumerate();
        let numbers = list.map(|(index, value)| {
            self.number(value, || format!("{}/{}/{index}", at.place, at.name))
        });
        Ok(numbers.collect())
    }

    fn pattern(&mut self, at: &Keyed<'_, 'a>) -> Result<Pattern, String> {
        let text = at.value.as_str().ok_or_else(|| at.must("be a text"))?;
        let pattern = Pattern::read(text).map_err(|why| format!("at `{}`, {why}", at.place))?;
        self.pattern_bytes += pattern.size + CACHE_BYTES;
        if self.pattern_bytes > PATTERN_BYTES {
            return Err(format!(
                "its regular expressions need more than {} MiB together",
                PATTERN_BYTES >> 20
            ));
        }
        Ok(pattern)
    }

    /// Returns the part that a reference names. Only places of the document are allowed.
    fn target(&mut self, at: &Keyed<'_, 'a>) -> Result<usize, String> {
        let reference = at.value.as_str().ok_or_else(|| at.must("be a text"))?;
        let refused = |why: &str| {
            let shown: String = reference.chars().take(100).collect();
            Err(format!("its `$ref` {shown:?} {why}"))
        };
        let Some(pointer) = reference.strip_prefix('#') else {
            return refused(
                "leads out of it; only places of the same schema are followed, such as \"#/$defs/name\"",
            );
        };
        if !pointer.is_empty() && !pointer.starts_with('/') {
            return refused("is not a JSON pointer; write the place, such as \"#/$defs/name\"");
        }
        let document = self.document;
        match document.pointer(pointer) {
            Some(target) => Ok(self.number(target, || reference.to_owned())),
            None => refused("names nothing"),
        }
    }
}

fn check_draft(draft: &Value) -> Result<(), String> {
    let is_known = draft.as_str().is_some_and(|draft| {
        let name = draft
            .trim_start_matches("https://")
            .trim_start_matches("http://")
            .trim_end_matches('#');
        DRAFTS.contains(&name)
    });
    if is_known {
        return Ok(());
    }
    let shown: String = draft.to_string().chars().take(100).collect();
    Err(format!(
        "`$schema` is {shown}; known are the drafts 6, 7, 2019-09 and 2020-12"
    ))
}

/// A keyword with its value, for the message about a wrong one.
#[derive(Clone, Copy)]
struct Keyed<'p, 'a> {
    place: &'p str,
    name: &'p str,
    value: &'a Value,
}

impl<'a> Keyed<'_, 'a> {
    fn must(&self, what: &str) -> String {
        format!("`{}` at `{}` must {what}", self.name, self.place)
    }

    fn list(&self) -> Result<&'a Vec<Value>, String> {
        let list = self.value.as_array();
        list.ok_or_else(|| self.must("be a list"))
    }

    fn table(&self) -> Result<&'a Map<String, Value>, String> {
        let table = self.value.as_object();
        table.ok_or_else(|| self.must("be an object"))
    }

    fn names(&self) -> Result<Vec<String>, String> {
        let names = self.list()?.iter();
        let names = names.map(|name| name.as_str().map(str::to_owned));
        let names: Option<_> = names.collect();
        names.ok_or_else(|| self.must("list names"))
    }

    fn count(&self) -> Result<usize, String> {
        let count = self.value.as_u64().and_then(|count| count.try_into().ok());
        count.ok_or_else(|| self.must("be a whole number"))
    }

    fn bound(&self) -> Result<Number, String> {
        let number = self.value.as_number();
        let number = number.filter(|number| number.as_f64().is_some());
        number.cloned().ok_or_else(|| self.must("be a number"))
    }
}
