//! Where the leads are in a body.

use leadhost_sdk::{
    Delivery, Item,
    serde_json::{Map, Value},
};

use crate::config::Config;
use crate::fold::fold;
use crate::lead;
use crate::names;
use crate::path::{Path, Step};

pub fn of(config: &Config, delivery: &Delivery, body: &Value) -> Vec<Item> {
    let item = |value, path: &str| lead::item(config, delivery, body, value, path);
    let Some((found, place, many)) = found(config, body) else {
        return vec![Item::ignored(
            "nothing is where `items` says that leads are",
        )];
    };
    if !many {
        return found.into_iter().map(|value| item(value, &place)).collect();
    }
    let numbered = found.into_iter().enumerate();
    numbered
        .map(|(index, value)| match place.as_str() {
            "" => item(value, &index.to_string()),
            place => item(value, &format!("{place}.{index}")),
        })
        .collect()
}

/// The items, where they are, and whether there may be several.
fn found<'a>(config: &Config, body: &'a Value) -> Option<(Vec<&'a Value>, String, bool)> {
    if config.items.is_empty() {
        return Some(usual(body));
    }
    for path in &config.items {
        let found = path.find(body, body);
        let place = place(path);
        match found.as_slice() {
            // An empty list is there, and holds nothing.
            [] if is_empty_list(path, body) => return Some((Vec::new(), place, true)),
            [] => {}
            // A list without [*]: the leads are its elements.
            [Value::Array(items)] => return Some((items.iter().collect(), place, true)),
            [_] if !path.steps.contains(&Step::All) => return Some((found, place, false)),
            _ => return Some((found, place, true)),
        }
    }
    None
}

fn is_empty_list(path: &Path, body: &Value) -> bool {
    let Some((Step::All, steps)) = path.steps.split_last() else {
        return false;
    };
    let mut value = body;
    for step in steps {
        match step {
            Step::Key(key) => match value.get(key) {
                Some(next) => value = next,
                None => return false,
            },
            _ => return false,
        }
    }
    value.as_array().is_some_and(Vec::is_empty)
}

/// The path's keys, for whoever reads a problem.
fn place(path: &Path) -> String {
    let keys = path.steps.iter().filter_map(|step| match step {
        Step::Key(key) => Some(key.clone()),
        Step::Index(index) => Some(index.to_string()),
        Step::All | Step::Where(..) => None,
    });
    keys.collect::<Vec<_>>().join(".")
}

/// A list of leads, or one under a usual name, or else the body is one lead.
fn usual(body: &Value) -> (Vec<&Value>, String, bool) {
    if let Value::Array(items) = body {
        return (items.iter().collect(), String::new(), true);
    }
    let whole = (vec![body], String::new(), false);
    let Value::Object(fields) = body else {
        return whole;
    };
    // A person's `items` are what was bought.
    if fields.keys().any(|key| names::is_contact(&fold(key))) {
        return whole;
    }
    if let Some((key, items)) = batch(fields) {
        return (items.iter().collect(), key.to_owned(), true);
    }
    for (key, inner) in fields {
        if names::ENVELOPES.contains(&fold(key).as_str())
            && let Value::Object(inner) = inner
            && let Some((list, items)) = batch(inner)
        {
            return (items.iter().collect(), format!("{key}.{list}"), true);
        }
    }
    whole
}

/// A list of leads among the fields: under a name that says so, or of objects
/// that look like leads.
fn batch(fields: &Map<String, Value>) -> Option<(&str, &Vec<Value>)> {
    let lists = || {
        let named = fields.iter().map(|(key, value)| (key, fold(key), value));
        named.filter_map(|(key, name, value)| Some((key.as_str(), name, value.as_array()?)))
    };
    names::BATCHES.iter().find_map(|wanted| {
        let (key, _, items) = lists().find(|(_, name, items)| {
            name == wanted && (*wanted == "leads" || items.first().is_some_and(is_lead))
        })?;
        Some((key, items))
    })
}

fn is_lead(value: &Value) -> bool {
    value.as_object().is_some_and(|fields| {
        fields.keys().map(|key| fold(key)).any(|name| {
            let name = name.as_str();
            names::is_contact(name)
                || names::FULL_NAMES.contains(&name)
                || names::CONTAINERS.contains(&name)
                || names::PAIR_LISTS.contains(&name)
        })
    }) && !crate::pairs::is_pair(value)
}
