//! Where the leads are in a body.

use leadhost_sdk::{
    Delivery, Item,
    serde_json::{Map, Value},
};

use crate::config::Config;
use crate::fold::fold;
use crate::lead;
use crate::names;
use crate::pairs;
use crate::path::{Path, Step};
use crate::people;

/// Containers in containers; real ones are three deep.
const MAX_DEPTH: usize = 5;

/// The items of a body, and notes on where they were found.
pub fn of(config: &Config, delivery: &Delivery, body: &Value) -> (Vec<Item>, Vec<String>) {
    let mut notes = Vec::new();
    let places = match found(config, body) {
        Some(found) => found.places(config, &mut notes),
        None => {
            let item = Item::ignored("nothing is where `items` says that leads are");
            return (vec![item], notes);
        }
    };
    let mut items = Vec::with_capacity(places.len());
    for place in places {
        items.push(match place {
            Place::Item(value, path) => {
                let (item, left_out) = lead::item(config, delivery, body, value, &path);
                for list in left_out {
                    notes.push(format!(
                        "item {}: the people under `{list}` are not kept with the lead; if they are leads, say so under `items`; the raw delivery has them",
                        items.len()
                    ));
                }
                item
            }
            Place::Unclear(lists, path) => Item::invalid(
                format!(
                    "people are in several lists, {}: say under `items` which of them are leads",
                    lists.join(", ")
                ),
                &path,
            ),
        });
    }
    (items, notes)
}

/// Values that may be leads.
struct Found<'a> {
    values: Vec<&'a Value>,
    path: String,
    /// There may be several: each has a number in the list.
    many: bool,
}

enum Place<'a> {
    Item(&'a Value, String),
    /// Several lists of people are in what is at this path.
    Unclear(Vec<String>, String),
}

impl<'a> Found<'a> {
    fn places(self, config: &Config, notes: &mut Vec<String>) -> Vec<Place<'a>> {
        let mut places = Vec::new();
        for (index, value) in self.values.into_iter().enumerate() {
            let path = match (self.many, self.path.as_str()) {
                (false, path) => path.to_owned(),
                (true, "") => index.to_string(),
                (true, path) => format!("{path}.{index}"),
            };
            if config.is_guessing() {
                look_inside(value, &path, notes, &mut places);
            } else {
                places.push(Place::Item(value, path));
            }
        }
        places
    }
}

/// A value that is no lead by itself may hold a list of them, under whatever name.
fn look_inside<'a>(
    value: &'a Value,
    path: &str,
    notes: &mut Vec<String>,
    places: &mut Vec<Place<'a>>,
) {
    let whole = Place::Item(value, path.to_owned());
    if people::has_contact(value, 0) || has_answers(value, 0) {
        return places.push(whole);
    }
    let below = |list: &str| match path {
        "" => list.to_owned(),
        path => format!("{path}.{list}"),
    };
    match people::lists(value).as_slice() {
        [] => places.push(whole),
        // The one person of a container is the item's own.
        [one] if one.list.len() == 1 && is_container(&one.path) => places.push(whole),
        [one] => {
            let list = below(&one.path);
            notes.push(format!("the leads are taken from the list `{list}`"));
            let elements = one.list.iter().enumerate();
            places.extend(
                elements.map(|(index, value)| Place::Item(value, format!("{list}.{index}"))),
            );
        }
        several => {
            let lists = several.iter().map(|one| format!("`{}`", below(&one.path)));
            places.push(Place::Unclear(lists.collect(), path.to_owned()));
        }
    }
}

fn is_container(path: &str) -> bool {
    let key = path.rsplit('.').next().unwrap_or_default();
    names::CONTAINERS.contains(&fold(key).as_str())
}

/// Whether the value has questions and answers of its own.
fn has_answers(value: &Value, depth: usize) -> bool {
    let Value::Object(fields) = value else {
        return false;
    };
    depth <= MAX_DEPTH
        && fields.iter().any(|(key, inner)| {
            let name = fold(key);
            let lists = names::PAIR_LISTS.contains(&name.as_str());
            lists && !pairs::guessed(inner, value).is_empty()
                || names::CONTAINERS.contains(&name.as_str()) && has_answers(inner, depth + 1)
        })
}

/// The items, where they are, and whether there may be several.
fn found<'a>(config: &Config, body: &'a Value) -> Option<Found<'a>> {
    if config.items.is_empty() {
        return Some(usual(body));
    }
    let of = |values, path, many| Some(Found { values, path, many });
    for path in &config.items {
        let found = path.find(body, body);
        let place = place(path);
        match found.as_slice() {
            // An empty list is there, and holds nothing.
            [] if is_empty_list(path, body) => return of(Vec::new(), place, true),
            [] => {}
            // A list without [*]: the leads are its elements.
            [Value::Array(items)] => return of(items.iter().collect(), place, true),
            [_] if !path.steps.contains(&Step::All) => return of(found, place, false),
            _ => return of(found, place, true),
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
fn usual(body: &Value) -> Found<'_> {
    let of = |values, path, many| Found { values, path, many };
    if let Value::Array(items) = body {
        return of(items.iter().collect(), String::new(), true);
    }
    let whole = of(vec![body], String::new(), false);
    let Value::Object(fields) = body else {
        return whole;
    };
    // A person's `items` are what was bought.
    if fields.keys().any(|key| names::is_contact(&fold(key))) {
        return whole;
    }
    if let Some((key, items)) = batch(fields) {
        return of(items.iter().collect(), key.to_owned(), true);
    }
    for (key, inner) in fields {
        if names::ENVELOPES.contains(&fold(key).as_str())
            && let Value::Object(inner) = inner
            && let Some((list, items)) = batch(inner)
        {
            return of(items.iter().collect(), format!("{key}.{list}"), true);
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
