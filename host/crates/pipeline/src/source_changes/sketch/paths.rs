//! The paths of a body with their types, read as the body is parsed. Bounded in depth, values, paths
//! and their lengths.

use std::collections::BTreeMap;
use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};

use leadhost_domain::limits;
use leadhost_domain::{json, text};

const KINDS: [&str; ANY] = ["string", "number", "bool", "null", "object", "array"];
const STRING: usize = 0;
const NUMBER: usize = 1;
const BOOL: usize = 2;
const NULL: usize = 3;
const OBJECT: usize = 4;
const ARRAY: usize = 5;
/// The index of the count of any type.
pub(super) const ANY: usize = 6;

/// The number of deliveries in which a path had each type, and any type.
pub(super) type Kinds = [u32; ANY + 1];

/// The paths of bodies, each with the types that it had.
pub type Paths = BTreeMap<String, Kinds>;

/// Returns the paths of a body: of JSON, or the names of a form's fields. Any other body has none.
pub fn paths(body: &[u8], is_form: bool) -> Paths {
    let mut walk = Walk {
        paths: Paths::new(),
        path: String::new(),
        depth: 0,
        left: limits::SKETCH_VALUES,
    };
    if is_form {
        for (name, _) in form_urlencoded::parse(body).take(limits::SKETCH_VALUES) {
            walk.path.clear();
            walk.path.push_str(step(&name));
            walk.note(STRING);
        }
        return walk.paths;
    }
    let text = json::decode(body);
    let text = json::without_halves(text.trim_start_matches('\u{feff}'));
    let mut json = serde_json::Deserializer::from_str(&text);
    match WalkSeed(&mut walk).deserialize(&mut json) {
        Ok(()) => walk.paths,
        Err(_) => Paths::new(),
    }
}

/// Returns the name of a key in a path. Keys that are values themselves, such as ids and
/// addresses, are one path.
fn step(key: &str) -> &str {
    let digits = key.chars().filter(char::is_ascii_digit).count();
    let is_value = digits >= 6 || key.contains('@') || key.contains(text::is_active);
    if is_value { "*" } else { key }
}

/// A walk through a body as it is parsed, without building its values.
struct Walk {
    paths: Paths,
    path: String,
    depth: usize,
    /// Values that are still looked at.
    left: usize,
}

impl Walk {
    fn note(&mut self, kind: usize) {
        self.left = self.left.saturating_sub(1);
        let is_known = self.paths.contains_key(&self.path);
        let has_room = is_known || self.paths.len() < limits::SKETCH_PATHS;
        if self.path.is_empty() || self.is_long() || !has_room {
            return;
        }
        let kinds = self.paths.entry(self.path.clone()).or_default();
        kinds[kind] = 1;
        kinds[ANY] = 1;
    }

    fn is_long(&self) -> bool {
        self.path.chars().count() > limits::SKETCH_PATH_CHARACTERS
    }

    fn enters(&self) -> bool {
        self.depth < limits::SKETCH_DEPTH && self.left > 0 && !self.is_long()
    }
}

struct WalkSeed<'w>(&'w mut Walk);

impl<'de> DeserializeSeed<'de> for WalkSeed<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_any(self)
    }
}

/// The key of a number that serde_json passes on as it is written.
const WRITTEN_NUMBER: &str = "$serde_json::private::Number";

impl<'de> Visitor<'de> for WalkSeed<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("JSON")
    }

    fn visit_bool<E>(self, _: bool) -> Result<(), E> {
        self.0.note(BOOL);
        Ok(())
    }

    fn visit_i64<E>(self, _: i64) -> Result<(), E> {
        self.0.note(NUMBER);
        Ok(())
    }

    fn visit_u64<E>(self, _: u64) -> Result<(), E> {
        self.0.note(NUMBER);
        Ok(())
    }

    fn visit_f64<E>(self, _: f64) -> Result<(), E> {
        self.0.note(NUMBER);
        Ok(())
    }

    fn visit_str<E>(self, _: &str) -> Result<(), E> {
        self.0.note(STRING);
        Ok(())
    }

    fn visit_unit<E>(self) -> Result<(), E> {
        self.0.note(NULL);
        Ok(())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<(), A::Error> {
        let walk = self.0;
        walk.note(ARRAY);
        let (from, enters) = (walk.path.len(), walk.enters());
        walk.path.push_str("[]");
        walk.depth += 1;
        while enters && walk.left > 0 {
            if list.next_element_seed(WalkSeed(&mut *walk))?.is_none() {
                break;
            }
        }
        while list.next_element::<IgnoredAny>()?.is_some() {}
        walk.depth -= 1;
        walk.path.truncate(from);
        Ok(())
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        let walk = self.0;
        let mut key = map.next_key::<String>()?;
        if key.as_deref() == Some(WRITTEN_NUMBER) {
            walk.note(NUMBER);
            map.next_value::<IgnoredAny>()?;
            return Ok(());
        }
        walk.note(OBJECT);
        let (from, enters) = (walk.path.len(), walk.enters());
        walk.depth += 1;
        while let Some(name) = key {
            if !enters || walk.left == 0 {
                map.next_value::<IgnoredAny>()?;
                while map.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
                break;
            }
            if from > 0 {
                walk.path.push('.');
            }
            walk.path.push_str(step(&name));
            map.next_value_seed(WalkSeed(&mut *walk))?;
            walk.path.truncate(from);
            key = map.next_key()?;
        }
        walk.depth -= 1;
        Ok(())
    }
}

/// Returns the most frequent type.
pub(super) fn most(kinds: &Kinds) -> String {
    let most = (0..ANY).max_by_key(|kind| kinds[*kind]);
    KINDS[most.unwrap_or_default()].to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn json_paths(body: &str) -> Vec<String> {
        let paths = paths(body.as_bytes(), false);
        let name = |(path, kinds): (&String, &Kinds)| format!("{path} {}", most(kinds));
        paths.iter().map(name).collect()
    }

    #[test]
    fn paths_are_names_with_types() {
        let body = r#"{"a": {"b": "x", "c": 1.5}, "d": [{"e": null}, {"f": true}], "": 1}"#;
        let expect = [
            "a object",
            "a.b string",
            "a.c number",
            "d array",
            "d[] object",
            "d[].e null",
            "d[].f bool",
        ];
        assert_eq!(json_paths(body), expect);
        assert_eq!(json_paths("[1]"), ["[] number"]);
        assert_eq!(json_paths("\u{feff}{\"a\": \"\\ud83d\"}"), ["a string"]);
        let latin = paths(b"{\"regi\xe3o\": \"S\xe3o\"}", false);
        assert_eq!(latin.into_keys().collect::<Vec<_>>(), ["região"]);
        let form = paths(b"nome=Lia&telefone=1%202&nome=x", true);
        assert_eq!(form.into_keys().collect::<Vec<_>>(), ["nome", "telefone"]);
        for other in ["", "<lead/>", "{\"a\": 1", "name=Lia", "17", "\"text\""] {
            assert!(json_paths(other).is_empty(), "{other}");
        }
    }

    #[test]
    fn a_key_that_is_a_value_is_not_kept() {
        let body = r#"{"answers": {"lia@example.com": 1, "5511988880001": 2, "a\u001bb": 3}}"#;
        assert_eq!(json_paths(body), ["answers object", "answers.* number"]);
    }

    #[test]
    fn hostile_bodies_are_bounded() {
        let deep = format!("{}{}", "[".repeat(100_000), "]".repeat(100_000));
        assert_eq!(json_paths(&deep).len(), limits::SKETCH_DEPTH);
        let deep = format!("{}1{}", "{\"a\":".repeat(50), "}".repeat(50));
        assert_eq!(json_paths(&deep).len(), limits::SKETCH_DEPTH);
        let keys: Vec<_> = (0..20_000).map(|key| format!("\"k{key}\":1")).collect();
        let wide = json_paths(&format!("{{{}}}", keys.join(",")));
        assert_eq!(wide.len(), limits::SKETCH_PATHS);
        let huge = format!("{{\"{}\":{{\"a\":1}},\"b\":1}}", "k".repeat(200_000));
        assert_eq!(json_paths(&huge), ["b number"]);
        let long = format!("[{}{{\"a\":1}}]", "1,".repeat(100_000));
        assert_eq!(json_paths(&long), ["[] number"]);
    }
}
