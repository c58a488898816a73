//! Bounds the work of a schema before it is used. A few hundred bytes of nested `allOf` and
//! `$ref` can take more steps than there is time. So the schema is treated as a graph: its
//! subschemas, which of them check the same value, and which check values one level deeper.
//! From the graph follows the most steps that one value of a configuration can take, by the
//! depth of the configuration. The analysis itself is linear in the size of the schema. A
//! schema that it cannot bound is refused with a reason.

use std::collections::HashMap;

use serde_json::{Map, Value};

use leadhost_domain::limits;

/// A schema whose work is bounded.
#[derive(Debug)]
pub struct BoundedSchema {
    pub text: String,
    /// Most steps for one value, by the number of levels of the configuration below its
    /// root.
    steps: Vec<u64>,
}

impl BoundedSchema {
    /// Parses a schema and bounds its work. Returns `None` for an empty text: the plugin
    /// takes no configuration.
    pub fn read(text: &str) -> Result<Option<Self>, String> {
        if text.trim().is_empty() {
            return Ok(None);
        }
        if text.len() > limits::CONFIG_SCHEMA_BYTES {
            return Err(format!(
                "it has {} bytes; at most {} are taken",
                text.len(),
                limits::CONFIG_SCHEMA_BYTES
            ));
        }
        let schema: Value =
            serde_json::from_str(text).map_err(|error| format!("it is not JSON: {error}"))?;
        scan(&schema)?;
        let parts = SubschemaGraph::new(&schema)?;
        let steps = parts.steps()?;
        let most = steps.last().copied().unwrap_or(u64::MAX);
        if most > limits::CONFIG_SCHEMA_STEPS {
            return Err(format!(
                "it can take {} steps for one value of a configuration; at most {} are taken: use fewer `$ref`, `allOf`, `anyOf` and `oneOf` inside each other",
                if most == u64::MAX {
                    "endless".to_owned()
                } else {
                    most.to_string()
                },
                limits::CONFIG_SCHEMA_STEPS
            ));
        }
        Ok(Some(Self {
            text: text.to_owned(),
            steps,
        }))
    }

    /// Returns the most steps that checking this configuration can take.
    pub fn steps_for(&self, config: &Value) -> Result<u64, String> {
        let size = ValueSize::measure(config);
        if size.depth > limits::CONFIG_DEPTH {
            return Err(format!(
                "it is nested deeper than {} levels",
                limits::CONFIG_DEPTH
            ));
        }
        if size.bytes > limits::CONFIG_BYTES {
            return Err(format!("it has more than {} bytes", limits::CONFIG_BYTES));
        }
        let each = self.steps.get(size.depth).copied().unwrap_or(u64::MAX);
        let steps = each.saturating_mul(size.values);
        if steps > limits::CONFIG_STEPS {
            return Err(format!(
                "its {} values take up to {steps} steps to check by the plugin's schema; at most {} are taken",
                size.values,
                limits::CONFIG_STEPS
            ));
        }
        Ok(steps)
    }
}

/// The size of a value.
pub struct ValueSize {
    pub values: u64,
    pub bytes: usize,
    pub depth: usize,
}

impl ValueSize {
    /// Measures a value: its values, bytes of text, and depth of nesting. Names of members
    /// count as values too.
    pub fn measure(value: &Value) -> Self {
        let mut size = Self {
            values: 0,
            bytes: 0,
            depth: 0,
        };
        let mut left = vec![(value, 0)];
        while let Some((value, depth)) = left.pop() {
            size.values += 1;
            size.depth = size.depth.max(depth);
            size.bytes += 1;
            match value {
                Value::String(text) => size.bytes += text.len(),
                Value::Number(number) => size.bytes += number.to_string().len(),
                Value::Array(list) => left.extend(list.iter().map(|value| (value, depth + 1))),
                Value::Object(fields) => {
                    for (name, value) in fields {
                        // `propertyNames` checks a name as a value of its own.
                        size.values += 1;
                        size.bytes += name.len();
                        left.push((value, depth + 1));
                    }
                }
                Value::Null | Value::Bool(_) => {}
            }
        }
        size
    }
}

/// Keywords that make the target of a reference depend on more than the document and the
/// path in it.
const MOVING: [&str; 5] = [
    "$dynamicRef",
    "$dynamicAnchor",
    "$recursiveRef",
    "$recursiveAnchor",
    "$anchor",
];

/// The published drafts of JSON Schema.
const DRAFTS: [&str; 5] = [
    "json-schema.org/draft/2020-12/schema",
    "json-schema.org/draft/2019-09/schema",
    "json-schema.org/draft-07/schema",
    "json-schema.org/draft-06/schema",
    "json-schema.org/draft-04/schema",
];

/// Refuses faults that can be found without knowing which parts of the text are schemas.
fn scan(schema: &Value) -> Result<(), String> {
    if let Some(draft) = schema.get("$schema") {
        let known = draft.as_str().is_some_and(|draft| {
            let name = draft
                .trim_start_matches("https://")
                .trim_start_matches("http://")
                .trim_end_matches('#');
            DRAFTS.contains(&name)
        });
        if !known {
            let shown: String = draft.to_string().chars().take(100).collect();
            return Err(format!(
                "`$schema` is {shown}; known are the drafts 4, 6, 7, 2019-09 and 2020-12"
            ));
        }
    }
    let mut left = vec![(schema, 0)];
    while let Some((value, depth)) = left.pop() {
        if depth > limits::CONFIG_SCHEMA_DEPTH {
            return Err(format!(
                "it is nested deeper than {} levels",
                limits::CONFIG_SCHEMA_DEPTH
            ));
        }
        match value {
            Value::Array(list) => left.extend(list.iter().map(|value| (value, depth + 1))),
            Value::Object(fields) => {
                scan_table(fields, depth)?;
                left.extend(fields.values().map(|value| (value, depth + 1)));
            }
            _ => {}
        }
    }
    Ok(())
}

fn scan_table(fields: &Map<String, Value>, depth: usize) -> Result<(), String> {
    for name in MOVING {
        if fields.get(name).is_some_and(|value| !value.is_object()) {
            return Err(format!(
                "it uses `{name}`; a reference must be a `$ref` to a place of the same schema, such as \"#/$defs/name\""
            ));
        }
    }
    if depth > 0 {
        for name in ["$id", "id", "$schema"] {
            if fields.get(name).is_some_and(Value::is_string) {
                return Err(format!(
                    "it has `{name}` below its root; only the root may have one"
                ));
            }
        }
    }
    let pattern = fields.get("pattern").and_then(Value::as_str);
    let names = fields.get("patternProperties").and_then(Value::as_object);
    let patterns = names
        .into_iter()
        .flat_map(|names| names.keys().map(String::as_str));
    for pattern in pattern.into_iter().chain(patterns) {
        if pattern.len() > limits::CONFIG_PATTERN_BYTES {
            return Err(format!(
                "a regular expression in it has {} bytes; at most {} are taken",
                pattern.len(),
                limits::CONFIG_PATTERN_BYTES
            ));
        }
    }
    Ok(())
}

/// The subschemas that can be reached from the root, which is the first.
struct SubschemaGraph<'a> {
    root: &'a Value,
    parts: Vec<Subschema>,
    /// Numbers of subschemas, by the address of the value in the document.
    known: HashMap<usize, usize>,
    /// Subschemas that have a number and are not read yet.
    unread: Vec<(&'a Value, usize)>,
    patterns: usize,
}

/// One subschema: its own steps, and the subschemas that it uses.
#[derive(Default)]
struct Subschema {
    own: u64,
    /// Subschemas that check the same value.
    same: Vec<usize>,
    /// `unevaluated…` repeats the work of the subschemas beside it.
    looks_again: bool,
    fields: Below,
    elements: Below,
    /// Subschemas that check the names of fields.
    names: Vec<usize>,
}

/// Subschemas that check values one level deeper.
#[derive(Default)]
struct Below {
    /// At most one of them applies to each value.
    one: Vec<usize>,
    /// All of them apply to each value.
    all: Vec<usize>,
}

impl<'a> SubschemaGraph<'a> {
    fn new(root: &'a Value) -> Result<Self, String> {
        let mut parts = Self {
            root,
            parts: Vec::new(),
            known: HashMap::new(),
            unread: Vec::new(),
            patterns: 0,
        };
        parts.number(root)?;
        while let Some((value, number)) = parts.unread.pop() {
            if let Value::Object(fields) = value {
                let part = parts.read(fields)?;
                parts.parts[number] = part;
            }
        }
        Ok(parts)
    }

    fn number(&mut self, value: &'a Value) -> Result<usize, String> {
        let address = std::ptr::from_ref(value) as usize;
        if let Some(number) = self.known.get(&address) {
            return Ok(*number);
        }
        let number = self.parts.len();
        if number >= limits::CONFIG_SCHEMA_PARTS {
            return Err(format!(
                "it has more than {} parts",
                limits::CONFIG_SCHEMA_PARTS
            ));
        }
        self.parts.push(Subschema {
            own: 1,
            ..Subschema::default()
        });
        self.known.insert(address, number);
        self.unread.push((value, number));
        Ok(number)
    }

    fn each(&mut self, values: impl Iterator<Item = &'a Value>) -> Result<Vec<usize>, String> {
        values.map(|value| self.number(value)).collect()
    }

    fn read(&mut self, fields: &'a Map<String, Value>) -> Result<Subschema, String> {
        let mut part = Subschema {
            own: 1,
            ..Subschema::default()
        };
        for (keyword, value) in fields {
            let list = || value.as_array().into_iter().flatten();
            let table = || value.as_object().into_iter().flat_map(Map::values);
            // The cost of looking for the named fields or elements.
            part.own += match value {
                Value::Array(list) => list.len() as u64,
                Value::Object(fields) => fields.len() as u64,
                _ => 1,
            };
            match keyword.as_str() {
                "$ref" => {
                    if let Some(reference) = value.as_str() {
                        let target = self.target(reference)?;
                        part.same.push(target);
                    }
                }
                "allOf" | "anyOf" | "oneOf" => part.same.extend(self.each(list())?),
                "not" | "if" | "then" | "else" => part.same.push(self.number(value)?),
                "dependentSchemas" => part.same.extend(self.each(table())?),
                "dependencies" => {
                    let schemas = table().filter(|value| !value.is_array());
                    part.same.extend(self.each(schemas)?);
                }
                "properties" => part.fields.one.extend(self.each(table())?),
                "patternProperties" => {
                    self.count_patterns(value.as_object().map_or(0, Map::len))?;
                    part.fields.all.extend(self.each(table())?);
                }
                "additionalProperties" => part.fields.all.push(self.number(value)?),
                "unevaluatedProperties" => {
                    part.looks_again = true;
                    part.fields.all.push(self.number(value)?);
                }
                "propertyNames" => part.names.push(self.number(value)?),
                "prefixItems" => part.elements.one.extend(self.each(list())?),
                "items" if value.is_array() => part.elements.one.extend(self.each(list())?),
                "items" | "additionalItems" | "contains" => {
                    part.elements.all.push(self.number(value)?);
                }
                "unevaluatedItems" => {
                    part.looks_again = true;
                    part.elements.all.push(self.number(value)?);
                }
                "pattern" => self.count_patterns(1)?,
                "enum" | "const" => part.own += ValueSize::measure(value).values,
                _ => {}
            }
        }
        Ok(part)
    }

    fn count_patterns(&mut self, more: usize) -> Result<(), String> {
        self.patterns += more;
        if self.patterns > limits::CONFIG_PATTERNS {
            return Err(format!(
                "it has more than {} regular expressions",
                limits::CONFIG_PATTERNS
            ));
        }
        Ok(())
    }

    /// Returns the subschema that a reference names. Only places of this document are
    /// allowed.
    fn target(&mut self, reference: &str) -> Result<usize, String> {
        let refused = |why: &str| {
            let shown: String = reference.chars().take(100).collect();
            format!("its `$ref` {shown:?} {why}")
        };
        let Some(pointer) = reference.strip_prefix('#') else {
            return Err(refused(
                "leads out of it; only places of the same schema are followed, such as \"#/$defs/name\"",
            ));
        };
        if !pointer.is_empty() && !pointer.starts_with('/') {
            return Err(refused(
                "is not a JSON pointer; write the place, such as \"#/$defs/name\"",
            ));
        }
        let pointer = percent_encoding::percent_decode_str(pointer)
            .decode_utf8()
            .map_err(|_| refused("is not UTF-8"))?;
        let root = self.root;
        let target = root
            .pointer(&pointer)
            .ok_or_else(|| refused("names nothing"))?;
        self.number(target)
    }

    /// Returns the most steps for one value, including the steps of all values below it, by
    /// the number of levels.
    fn steps(&self) -> Result<Vec<u64>, String> {
        let order = self.inner_first()?;
        let none = SchemaCosts::default();
        let mut above = vec![none; self.parts.len()];
        let mut steps = Vec::with_capacity(limits::CONFIG_DEPTH + 1);
        for level in 0..=limits::CONFIG_DEPTH {
            let mut costs = vec![none; self.parts.len()];
            for &number in &order {
                costs[number] = self.cost(number, &costs, &above, level == 0);
            }
            steps.push(costs[0].most());
            above = costs;
        }
        Ok(steps)
    }

    fn cost(
        &self,
        number: usize,
        same: &[SchemaCosts],
        below: &[SchemaCosts],
        leaf_only: bool,
    ) -> SchemaCosts {
        let part = &self.parts[number];
        let mut costs = SchemaCosts {
            leaf: part.own,
            table: part.own,
            list: part.own,
        };
        let looks = if part.looks_again {
            limits::CONFIG_UNEVALUATED_LOOKS
        } else {
            1
        };
        for &other in &part.same {
            let other = same[other];
            costs.leaf = costs.leaf.saturating_add(other.leaf.saturating_mul(looks));
            costs.table = costs
                .table
                .saturating_add(other.table.saturating_mul(looks));
            costs.list = costs.list.saturating_add(other.list.saturating_mul(looks));
        }
        if leaf_only {
            return costs;
        }
        let names = part.names.iter().map(|&name| same[name].leaf);
        let names = names.fold(0, u64::saturating_add);
        costs.table = costs
            .table
            .saturating_add(part.fields.cost(below))
            .saturating_add(names);
        costs.list = costs.list.saturating_add(part.elements.cost(below));
        costs
    }

    /// Returns the subschemas in an order in which each comes after those that check the
    /// same value for it.
    fn inner_first(&self) -> Result<Vec<usize>, String> {
        #[derive(Clone, Copy, PartialEq)]
        enum VisitState {
            New,
            Begun,
            Done,
        }
        let mut state = vec![VisitState::New; self.parts.len()];
        let mut length = vec![0_usize; self.parts.len()];
        let mut order = Vec::with_capacity(self.parts.len());
        // Names are checked together with the value, so they come first too.
        let inner = |number: usize| {
            let part: &Subschema = &self.parts[number];
            part.same.iter().chain(&part.names).copied()
        };
        for first in 0..self.parts.len() {
            let mut path = vec![first];
            while let Some(&number) = path.last() {
                match state[number] {
                    VisitState::New => {
                        state[number] = VisitState::Begun;
                        for other in inner(number) {
                            match state[other] {
                                VisitState::New => path.push(other),
                                VisitState::Begun => {
                                    return Err(
                                        "a part of it refers to itself without going deeper into the configuration: evaluating it would never end"
                                            .to_owned(),
                                    );
                                }
                                VisitState::Done => {}
                            }
                        }
                    }
                    VisitState::Begun => {
                        state[number] = VisitState::Done;
                        let longest = inner(number).map(|other| length[other]).max();
                        length[number] = longest.map_or(0, |longest| longest + 1);
                        if length[number] > limits::CONFIG_SCHEMA_CHAIN {
                            return Err(format!(
                                "more than {} of its parts check one value through each other",
                                limits::CONFIG_SCHEMA_CHAIN
                            ));
                        }
                        order.push(number);
                        path.pop();
                    }
                    VisitState::Done => {
                        path.pop();
                    }
                }
            }
        }
        Ok(order)
    }
}

/// Steps by the kind of the value.
#[derive(Clone, Copy, Default)]
struct SchemaCosts {
    leaf: u64,
    table: u64,
    list: u64,
}

impl SchemaCosts {
    fn most(self) -> u64 {
        self.leaf.max(self.table).max(self.list)
    }
}

impl Below {
    fn cost(&self, below: &[SchemaCosts]) -> u64 {
        let one = self.one.iter().map(|&part| below[part].most()).max();
        let all = self.all.iter().map(|&part| below[part].most());
        all.fold(one.unwrap_or(0), u64::saturating_add)
    }
}
