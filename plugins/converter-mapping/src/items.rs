//! Finds the leads in a body.

use leadhost_sdk::path::{Path, Step};
use leadhost_sdk::{
    Delivery, Item, Outcome,
    serde_json::{Map, Value},
};

use crate::config::Config;
use crate::explain::{self, Misfit};
use crate::fold::fold;
use crate::lead;
use crate::leftover;
use crate::names;
use crate::pairs;
use crate::people::{self, People, below};

/// Maximum nesting of containers; real ones are three deep.
const MAX_DEPTH: usize = 5;

/// The items of a body.
pub struct ReadItems {
    pub items: Vec<Item>,
    /// Notes on where they were found.
    pub notes: Vec<String>,
    /// Notes that explain the first ones, if the configuration asks for that.
    pub explained: Vec<String>,
}

/// Returns the items of a body.
pub fn read(config: &Config, delivery: &Delivery, body: &Value) -> ReadItems {
    let is_lead = |value: &Value| {
        let read = lead::item(config, delivery, body, value, None, "", false);
        matches!(read.item.outcome, Outcome::Lead(_))
    };
    let mut search = ItemSearch {
        places: Vec::new(),
        notes: Vec::new(),
        has_contact: &|value| lead::has_contact(delivery, body, value),
        is_lead: &is_lead,
    };
    match found(config, body) {
        Some(found) if config.is_guessing() => search.guess(found, body),
        Some(found) => search.take(found, config, body),
        None => {
            let item = Item::ignored("there is nothing at the places that `items` names");
            return ReadItems {
                items: vec![item],
                notes: Vec::new(),
                explained: Vec::new(),
            };
        }
    }
    let ItemSearch {
        places, mut notes, ..
    } = search;
    let mut items = Vec::with_capacity(places.len());
    let mut explained = Vec::new();
    let mut empty: Option<Vec<String>> = None;
    let mut misfits: Vec<Misfit> = Vec::new();
    for place in places {
        items.push(match place {
            Place::Item(value, person, path) => {
                let is_explained = items.len() < explain::MAX_ITEMS;
                let read = lead::item(config, delivery, body, value, person, &path, is_explained);
                if is_explained {
                    explained.extend(read.explained.into_iter().map(|mut one| {
                        one["item"] = items.len().into();
                        if !path.is_empty() {
                            one["at"] = path.as_str().into();
                        }
                        format!("{}{one}", explain::MARK)
                    }));
                }
                for misfit in read.misfits {
                    match misfits.iter_mut().find(|known| known.field == misfit.field) {
                        Some(known) => known.add(misfit),
                        None => misfits.push(misfit),
                    }
                }
                if let Some(of_item) = read.empty {
                    match &mut empty {
                        Some(empty) => empty.retain(|field| of_item.contains(field)),
                        None => empty = Some(of_item),
                    }
                }
                if !read.nothings.is_empty() {
                    notes.push(format!(
                        "item {}: these values are words for nothing, templates that were not filled, or the time zero, and no field reads them: {}",
                        items.len(),
                        lead::quoted(&read.nothings)
                    ));
                }
                // An explanation has them.
                if !config.explain && !read.unread.is_empty() {
                    notes.push(format!(
                        "item {}: no field reads these values, which look like a phone or an e-mail address: {}",
                        items.len(),
                        lead::quoted(&read.unread)
                    ));
                }
                for list in read.left_out {
                    notes.push(format!(
                        "item {}: the people under `{list}` are not kept with the lead; if they are leads, say so under `items`; the raw delivery has them",
                        items.len()
                    ));
                }
                read.item
            }
            Place::Unclear(problem, path) => Item::invalid(problem, &path),
        });
    }
    if config.explain {
        // First: the explanations may be cut.
        let empty = empty.into_iter().flatten();
        let empty = empty
            .map(|field| format!("`{field}` is configured, and no value of this delivery fits it"));
        let misfits = misfits.iter().map(Misfit::note);
        explained.splice(0..0, empty.chain(misfits));
    }
    ReadItems {
        items,
        notes,
        explained,
    }
}

/// Values that may be leads.
struct LeadCandidates<'a> {
    values: Vec<&'a Value>,
    path: String,
    /// Whether there may be several; then each has an index in the list.
    many: bool,
    /// The list, if it was guessed to be a list of leads.
    list: Option<&'a Vec<Value>>,
}

enum Place<'a> {
    /// An item, and the object in it that is the person, if its name does not say so.
    Item(&'a Value, Option<&'a Value>, String),
    /// Why it is not clear who the lead is.
    Unclear(String, String),
}

impl<'a> LeadCandidates<'a> {
    fn each(&self) -> impl Iterator<Item = (&'a Value, String)> {
        self.values.iter().enumerate().map(|(index, value)| {
            let path = if self.many {
                below(&self.path, &index.to_string())
            } else {
                self.path.clone()
            };
            (*value, path)
        })
    }
}

struct ItemSearch<'a, 'o> {
    places: Vec<Place<'a>>,
    notes: Vec<String>,
    /// Whether a contact is read from a value that is an item.
    has_contact: &'o dyn Fn(&Value) -> bool,
    /// Whether it is a lead.
    is_lead: &'o dyn Fn(&Value) -> bool,
}

impl<'a> ItemSearch<'a, '_> {
    /// Adds the configured items. Where only fields are configured that say nothing about the place of
    /// a contact, several leads are found as without a configuration.
    fn take(&mut self, found: LeadCandidates<'a>, config: &Config, body: &'a Value) {
        let contacts = |item| -> Vec<&'a Value> {
            let fields = [&config.fields.phones, &config.fields.emails]
                .into_iter()
                .flatten();
            let sources = fields.flat_map(|field| &field.0);
            let paths = sources.flat_map(|source| source.paths.iter().chain(&source.join));
            paths.flat_map(|path| path.find(item, body)).collect()
        };
        let is_open = config.defaults && config.items.is_empty() && config.pairs.is_empty();
        if is_open && !found.many && contacts(body).is_empty() {
            self.look_inside(body, "");
            let is_item = |place: &Place<'_>| matches!(place, Place::Item(..));
            if self.places.len() > 1 && self.places.iter().all(is_item) {
                return;
            }
            self.places.clear();
            self.notes.clear();
        }
        for (value, path) in found.each() {
            let person = config.defaults.then(|| person_in(value)).flatten();
            // The configured contact is the lead's: one beside it is another person.
            let person =
                person.filter(|person| contacts(value).iter().all(|one| holds(person, one)));
            self.places.push(Place::Item(value, person, path));
        }
    }

    /// Adds a list under a usual name if there is no person beside it; otherwise the people
    /// in the body.
    fn guess(&mut self, found: LeadCandidates<'a>, body: &'a Value) {
        if let Some(list) = found.list {
            let beside = people::candidates(body, Some(list));
            let says_so = || is_usual(&found.path) && !list.is_empty();
            if !beside.is_empty() && (says_so() || list.iter().any(is_person_or_has_answers)) {
                let beside = beside.into_iter().map(|people| people.path);
                let places = std::iter::once(found.path).chain(beside).collect();
                return self.unclear("places", places, "");
            }
            if !beside.is_empty() {
                return self.look_inside(body, "");
            }
            if !is_usual(&found.path) && !list.is_empty() {
                self.note_list(&found.path);
            }
            self.note_others(body, list, "");
        }
        for (value, path) in found.each() {
            self.look_inside(value, &path);
        }
    }

    /// Adds a value. A value that is not a lead itself may contain one, or a list of them,
    /// under any name.
    fn look_inside(&mut self, value: &'a Value, path: &str) {
        self.look_inside_or(value, None, path);
    }

    /// Adds a value in the same way. If it contains no contact, `otherwise` is its person.
    fn look_inside_or(&mut self, value: &'a Value, otherwise: Option<&'a Value>, path: &str) {
        if people::has_contact(value) || has_answers(value, 0) {
            return self.one(value, None, path);
        }
        let found = people::candidates(value, None);
        match found.as_slice() {
            [] => self.look_for_answers(value, otherwise, path),
            [one] => match one.value {
                // The only person of a container belongs to the item.
                Value::Array(list) if list.len() == 1 && is_container(&one.path) => {
                    self.note_list(&below(path, &one.path));
                    self.one(value, None, path);
                }
                Value::Array(list) => self.each(value, list, &below(path, &one.path), path),
                // A person in an event may be the one who caused it.
                _ if is_event(value) => self.item(value, None, path),
                _ => self.one(value, Some(one), path),
            },
            several
                if !is_event(value)
                    && let Some(records) = people::records(several) =>
            {
                self.each_record(value, &records, path);
            }
            several => self.several(several, path),
        }
    }

    /// Adds a value without people. It may still contain one, or a list of them, whose
    /// contacts are in questions and answers under any name.
    fn look_for_answers(&mut self, value: &'a Value, otherwise: Option<&'a Value>, path: &str) {
        let found = if is_event(value) {
            Vec::new()
        } else {
            people::sheets(value)
        };
        let is_itself = |one: &People<'_>| value.is_object() && std::ptr::eq(one.value, value);
        if found.is_empty() || found.iter().any(is_itself) || (self.has_contact)(value) {
            return self.item(value, otherwise, path);
        }
        match (found.as_slice(), people::records(&found)) {
            ([one], None) if one.value.is_object() => self.one(value, Some(one), path),
            _ if (self.is_lead)(value) => self.item(value, otherwise, path),
            (_, Some(records)) => self.each_record(value, &records, path),
            ([one], None) if let Value::Array(list) = one.value => {
                self.each(value, list, &below(path, &one.path), path);
            }
            (several, _) => self.several(several, path),
        }
    }

    fn several(&mut self, several: &[People<'a>], path: &str) {
        let are_lists = several.iter().all(|one| one.value.is_array());
        let what = if are_lists { "lists" } else { "places" };
        let places = several.iter().map(|one| below(path, &one.path));
        self.unclear(what, places.collect(), path);
    }

    /// Adds each element of a list of leads in the value.
    fn each(&mut self, value: &'a Value, list: &'a [Value], place: &str, path: &str) {
        self.note_others(value, list, path);
        self.note_list(place);
        for (index, value) in list.iter().enumerate() {
            self.look_inside(value, &below(place, &index.to_string()));
        }
    }

    /// Adds each record of a list. A record without a contact may still have a name or an id
    /// where others have their person.
    fn each_record(&mut self, value: &'a Value, records: &people::Records<'a>, path: &str) {
        let place = below(path, &records.path);
        self.note_others(value, records.list, path);
        self.note_list(&place);
        for (index, record) in records.list.iter().enumerate() {
            let path = below(&place, &index.to_string());
            let person = records.person(record).filter(|person| person.is_object());
            self.look_inside_or(record, person, &path);
        }
    }

    /// Adds an item if it contains only one person.
    fn one(&mut self, value: &'a Value, person: Option<&People<'a>>, path: &str) {
        let two = people::at_odds(value, person);
        if two.is_empty() {
            if let Some(person) = person {
                let place = below(path, &person.path);
                self.notes.push(format!("the lead is taken from `{place}`"));
            }
            return self.item(value, person.map(|person| person.value), path);
        }
        let places = two.iter().map(|place| below(path, place));
        let mut places: Vec<_> = places.collect();
        places.dedup();
        self.unclear("places", places, path);
    }

    fn item(&mut self, value: &'a Value, person: Option<&'a Value>, path: &str) {
        let item = Place::Item(value, person, path.to_owned());
        self.places.push(item);
    }

    fn unclear(&mut self, what: &str, places: Vec<String>, path: &str) {
        let problem = format!(
            "people are in several {what}, {}: say under `items` which of them are leads",
            lead::quoted(&places)
        );
        self.places.push(Place::Unclear(problem, path.to_owned()));
    }

    /// Notes the people who are neither in the list nor in a place where leads are
    /// searched: under names for other people, and in JSON texts.
    fn note_others(&mut self, value: &Value, list: &[Value], path: &str) {
        for place in leftover::people_in(value, list) {
            let place = below(path, &place);
            self.notes.push(format!(
                "the people under `{place}` are no leads; if they are, say so under `items`; the raw delivery has them"
            ));
        }
    }

    fn note_list(&mut self, list: &str) {
        let note = format!("the leads are taken from the list `{list}`");
        self.notes.push(note);
    }
}

/// Whether a value is in another one. The parser bounds the depth.
fn holds(value: &Value, wanted: &Value) -> bool {
    std::ptr::eq(value, wanted)
        || match value {
            Value::Object(fields) => fields.values().any(|inner| holds(inner, wanted)),
            Value::Array(items) => items.iter().any(|inner| holds(inner, wanted)),
            _ => false,
        }
}

/// Returns the only person in an item that has no contact itself.
fn person_in(value: &Value) -> Option<&Value> {
    if people::has_contact(value) || has_answers(value, 0) || is_event(value) {
        return None;
    }
    let found = match people::candidates(value, None) {
        found if found.is_empty() => people::sheets(value),
        found => found,
    };
    match found.as_slice() {
        [one] => match one.value {
            Value::Array(list) if list.len() == 1 => list.first(),
            person => person.is_object().then_some(person),
        },
        _ => None,
    }
}

/// Whether leads are expected in this list, so that no note is needed.
fn is_usual(path: &str) -> bool {
    path.split('.')
        .all(|key| names::LEADS.contains(&fold(key).as_str()))
}

fn is_person_or_has_answers(value: &Value) -> bool {
    people::is_person(value) || has_answers(value, 0)
}

fn is_event(value: &Value) -> bool {
    let mut keys = value.as_object().into_iter().flatten().map(|(key, _)| key);
    keys.any(|key| names::EVENTS.contains(&fold(key).as_str()))
}

fn is_container(path: &str) -> bool {
    let key = path.rsplit('.').next().unwrap_or_default();
    names::is_container(&fold(key))
}

/// Whether the value has its own questions and answers.
fn has_answers(value: &Value, depth: usize) -> bool {
    let Value::Object(fields) = value else {
        return false;
    };
    depth <= MAX_DEPTH
        && fields.iter().any(|(key, inner)| {
            let name = fold(key);
            let lists = names::PAIR_LISTS.contains(&name.as_str());
            lists && !pairs::guessed(inner, value).is_empty()
                || names::is_container(&name) && has_answers(inner, depth + 1)
        })
}

/// The items, their path, and whether there may be several.
fn found<'a>(config: &Config, body: &'a Value) -> Option<LeadCandidates<'a>> {
    if config.items.is_empty() {
        return Some(usual(body));
    }
    let of = |values, path, many| {
        let list = None;
        Some(LeadCandidates {
            values,
            path,
            many,
            list,
        })
    };
    for path in &config.items {
        let found = path.find_each(body);
        let place = place(path);
        match found.as_slice() {
            // An empty list exists and has no elements.
            [] if is_empty_list(path, body) => return of(Vec::new(), place, true),
            [] => {}
            // A list without [*]: its elements are the leads.
            [Value::Array(items)] => return of(items.iter().collect(), place, true),
            [_] if !is_of_many(path) => return of(found, place, false),
            _ => return of(found, place, true),
        }
    }
    None
}

fn is_of_many(path: &Path) -> bool {
    path.steps
        .iter()
        .any(|step| matches!(step, Step::All | Step::Each))
}

fn is_empty_list(path: &Path, body: &Value) -> bool {
    let Some((Step::All | Step::Each, steps)) = path.steps.split_last() else {
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

/// Returns the path's keys, for readers of a problem.
fn place(path: &Path) -> String {
    let keys = path.steps.iter().filter_map(|step| match step {
        Step::Key(key) => Some(key.clone()),
        Step::Index(index) => Some(index.to_string()),
        Step::All | Step::Each | Step::Where(..) => None,
    });
    keys.collect::<Vec<_>>().join(".")
}

/// Finds a list of leads, or a list under a usual name; otherwise the body is one lead.
fn usual(body: &Value) -> LeadCandidates<'_> {
    let (path, list) = match usual_list(body) {
        Some((path, list)) => (path, Some(list)),
        None => (String::new(), None),
    };
    let values = list.or(body.as_array());
    LeadCandidates {
        values: values.map_or(vec![body], |values| values.iter().collect()),
        path,
        many: values.is_some(),
        list,
    }
}

fn usual_list(body: &Value) -> Option<(String, &Vec<Value>)> {
    let fields = body.as_object()?;
    // The `items` of a person are purchases.
    if fields.keys().any(|key| names::is_contact(&fold(key))) {
        return None;
    }
    if let Some((key, list)) = batch(fields) {
        return Some((below("", key), list));
    }
    let mut envelopes = fields
        .iter()
        .filter(|(key, _)| names::ENVELOPES.contains(&fold(key).as_str()));
    envelopes.find_map(|(key, inner)| {
        let (list, items) = batch(inner.as_object()?)?;
        Some((below(&below("", key), list), items))
    })
}

/// Finds a list of leads among the fields: under a usual name, or with objects that
/// look like leads.
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
                || names::is_container(name)
                || names::PAIR_LISTS.contains(&name)
        })
    }) && !crate::pairs::is_pair(value)
}
