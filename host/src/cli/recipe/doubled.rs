//! A sample with one lead does not show which list holds the leads: `batch[0].person` may be its only person, or
//! the first of many. So each list of one element gets a second one with another person, and the mapping converter
//! says whether that is a second lead. Otherwise a path through the list would join two people into one lead.
//! What is there once may be a list, too: an element of XML, an object under a plural, the only numbered key.

use leadhost_sdk::path::{Path, Step};
use leadhost_sdk::serde_json::Value;
use leadhost_sdk::{list, text_of};

use super::{
    Expression, Field, Found, Line, Place, Recipe, Sample, below, path_of_list, place_in, text_at,
};

/// The lists that are tried.
const MOST: usize = 16;

impl Sample {
    /// Returns the body with a second element in each list of leads, its leads, and whether their list is in
    /// place of an object with numbered keys.
    pub(super) fn with_second_leads(
        &self,
        mut body: Value,
        mut leads: Vec<Found>,
    ) -> (Value, Vec<Found>, bool) {
        let has_id = |leads: &[Found]| {
            let lead = leads.first().and_then(|first| first.lead.as_ref());
            lead.is_some_and(|lead| lead.external_id.is_some())
        };
        for list in lists_of_one(&body) {
            let texts = contacts(&body, &leads);
            let Some(doubled) = with_another(&body, &list, &texts) else {
                continue;
            };
            let found = self.leads_of(&doubled);
            // A lead with an id and a list of its contacts is one lead.
            let is_around =
                has_id(&leads) && !has_id(&found) && is_of_persons(&body, &list, &texts);
            if found.len() > leads.len() && !is_around {
                (body, leads) = (doubled, found);
            }
        }
        if let [first] = &leads[..]
            && let Some(one) = OnlyOne::find(&body, first, self.is_xml())
            && let Some(doubled) = one.in_a_list(&body, &contacts(&body, &leads))
            && let mut found = self.leads_of(&doubled)
            && found.len() > 1
            && found[0].has_contacts_of(first)
            && (one.is_certain || has_id(&found) == has_id(&leads))
        {
            found[0].lines.extend(one.beside(first));
            return (doubled, found, one.is_key);
        }
        (body, leads, false)
    }

    /// Reads the first element of a list in place of all, where the next one may be another person's.
    pub(super) fn keep_apart(&self, recipe: &mut Recipe, body: &Value) {
        let leads = self.leads_of(body);
        for one in lists_of_one(body) {
            let Some(doubled) = with_another(body, &one, &contacts(body, &leads)) else {
                continue;
            };
            let found = self.leads_of(&doubled).into_iter().next();
            let lead = found.unwrap_or_default().lead;
            let Some(item) = list(&doubled, &recipe.leads).into_iter().next() else {
                continue;
            };
            for line in &mut recipe.lines {
                let read = lead.as_ref().map(|lead| match line.field {
                    Field::Phone => &lead.phones,
                    _ => &lead.emails,
                });
                let is_known = |text: &String| read.is_some_and(|read| read.contains(text));
                let texts = line.value.texts(item, &doubled);
                if let Expression::Each(place) = &line.value
                    && !texts.iter().all(is_known)
                {
                    line.value = first_of(place, &line.field);
                }
            }
        }
    }
}

fn first_of(place: &Place, field: &Field) -> Expression {
    let path = match place.path.rsplit_once("[*]") {
        Some((list, rest)) => format!("{list}[0]{rest}"),
        None => place.path.clone(),
    };
    let number = Place {
        path,
        ..place.clone()
    };
    match field {
        Field::Email => Expression::Email(number),
        _ => Expression::Phone {
            number,
            area: None,
            country: None,
        },
    }
}

/// Returns the steps to the lists of one object, the inner ones first.
fn lists_of_one(body: &Value) -> Vec<Vec<Step>> {
    let mut lists = Vec::new();
    collect(body, &mut Vec::new(), &mut lists);
    lists.truncate(MOST);
    lists
}

fn collect(value: &Value, steps: &mut Vec<Step>, out: &mut Vec<Vec<Step>>) {
    let mut visit = |step: Step, inner: &Value| {
        steps.push(step);
        collect(inner, steps, out);
        steps.pop();
    };
    match value {
        Value::Object(fields) => {
            for (key, inner) in fields {
                visit(Step::Key(key.clone()), inner);
            }
        }
        Value::Array(items) => {
            for (index, inner) in items.iter().enumerate() {
                visit(Step::Index(index), inner);
            }
            if let [Value::Object(_)] = items.as_slice() {
                out.push(steps.clone());
            }
        }
        _ => {}
    }
}

/// An object that has all contacts of a lead, and beside which there may be others.
struct OnlyOne {
    steps: Vec<Step>,
    /// The others are under other numbers.
    is_key: bool,
    /// A lead may have a list of its contacts. This is none.
    is_certain: bool,
}

impl OnlyOne {
    fn find(body: &Value, lead: &Found, is_xml: bool) -> Option<Self> {
        let mut steps = around_contacts(lead)?;
        let own = |at: usize| match steps.get(at) {
            Some(Step::Key(key)) => key.to_lowercase(),
            _ => String::new(),
        };
        let around = |at: usize| at.checked_sub(1).map_or_else(String::new, own);
        let is_alone = |at: usize| {
            let parent = steps[..at]
                .iter()
                .fold(body, |value, step| below(value, step));
            is_alone(parent)
        };
        let last = |is_one: &dyn Fn(usize) -> bool| (0..steps.len()).rev().find(|at| is_one(*at));
        let numbered = last(&|at| is_numbered(&own(at)) && is_alone(at));
        let element = last(&|at| is_plural_of(&around(at), &own(at)));
        let leads = last(&|at| own(at).starts_with("lead") && own(at).ends_with('s'));
        let certain = numbered.or(element).or(leads);
        let plural = last(&|at| own(at).ends_with('s'));
        let of_xml = last(&|at| is_xml && at > 0 && is_alone(at));
        let at = certain.or(plural).or(of_xml)?;
        steps.truncate(at + 1);
        Some(Self {
            steps,
            is_key: numbered.is_some(),
            is_certain: certain.is_some(),
        })
    }

    /// Returns the attributes of a lead that are beside the list, which its leads have in common.
    fn beside(&self, lead: &Found) -> Vec<Line> {
        let within = path_of_list(&self.steps[..self.steps.len() - usize::from(self.is_key)]);
        let is_beside = |path: &str| {
            let rest = path.strip_prefix(&within);
            !rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(['.', '[']))
        };
        let lines = lead
            .lines
            .iter()
            .filter_map(|line| match (&line.field, &line.value) {
                (Field::Attribute(_), Expression::Value(place)) => Some((line, place)),
                _ => None,
            });
        let lines = lines.filter(|(_, place)| lead.steps.is_empty() && is_beside(&place.path));
        let lines = lines.map(|(line, place)| Line {
            value: Expression::Value(Place {
                in_body: true,
                ..place.clone()
            }),
            ..line.clone()
        });
        lines.collect()
    }

    /// Returns the body with a list of it and another person in its place, or in place of the object around its
    /// number.
    fn in_a_list(&self, body: &Value, texts: &[String]) -> Option<Value> {
        let mut doubled = body.clone();
        let own = place_in(&mut doubled, &self.steps)?.take();
        let mut other = own.clone();
        change(&mut other, texts);
        (other != own).then_some(())?;
        let list = &self.steps[..self.steps.len() - usize::from(self.is_key)];
        *place_in(&mut doubled, list)? = Value::Array(vec![own, other]);
        Some(doubled)
    }
}

/// Returns the steps to the inmost object with all contacts of a lead.
fn around_contacts(lead: &Found) -> Option<Vec<Step>> {
    let contacts = [Field::Name, Field::Phone, Field::Email];
    let lines = lead.lines.iter();
    let lines = lines.filter(|line| contacts.contains(&line.field));
    let places = lines.flat_map(|line| line.value.places());
    let around = places.filter(|place| !place.in_body).map(|place| {
        let mut steps = lead.steps.clone();
        steps.extend(Path::parse(&place.path).ok()?.steps);
        let end = steps.iter().position(|step| !matches!(step, Step::Key(_)));
        steps.truncate(end.unwrap_or(steps.len()).saturating_sub(1));
        Some(steps)
    });
    around.reduce(|one, other| {
        let (mut one, other) = (one?, other?);
        let both = one.iter().zip(&other);
        let same = both.take_while(|(one, other)| one == other).count();
        one.truncate(same);
        Some(one)
    })?
}

fn is_numbered(key: &str) -> bool {
    key.ends_with(|one: char| one.is_ascii_digit())
}

/// Whether an object has one member, besides the attributes of XML.
fn is_alone(parent: &Value) -> bool {
    let members = parent.as_object().into_iter().flatten();
    members
        .filter(|(name, _)| !name.starts_with(['@', '#']))
        .count()
        == 1
}

/// Whether a name is the plural of another: `entries` of `entry`.
fn is_plural_of(name: &str, one: &str) -> bool {
    let mut stem = one.chars();
    stem.next_back();
    let is_regular = !stem.as_str().is_empty() && name.starts_with(stem.as_str());
    (is_regular && name.len() > one.len()) || (name, one) == ("people", "person")
}

/// Returns the texts that say who the leads are.
fn contacts(body: &Value, leads: &[Found]) -> Vec<String> {
    let contacts = [Field::ExternalId, Field::Name, Field::Phone, Field::Email];
    let mut texts = Vec::new();
    for lead in leads {
        let item = lead
            .steps
            .iter()
            .fold(body, |value, step| below(value, step));
        let lines = lead.lines.iter();
        let lines = lines.filter(|line| contacts.contains(&line.field));
        let places = lines.flat_map(|line| line.value.places());
        texts.extend(places.filter_map(|place| text_at(place, item, body)));
    }
    texts
}

/// Whether the elements of a list are persons, and have none inside them.
fn is_of_persons(body: &Value, list: &[Step], texts: &[String]) -> bool {
    let list = list.iter().fold(body, |value, step| below(value, step));
    let mut members = list[0].as_object().into_iter().flatten();
    members.any(|(_, value)| text_of(value).is_some_and(|text| texts.contains(&text)))
}

/// Returns the body with another person beside the one in a list; `None` if there is none in it.
fn with_another(body: &Value, list: &[Step], texts: &[String]) -> Option<Value> {
    let mut doubled = body.clone();
    let elements = place_in(&mut doubled, list)?.as_array_mut()?;
    let mut other = elements.first()?.clone();
    change(&mut other, texts);
    (other != elements[0]).then(|| elements.push(other))?;
    Some(doubled)
}

/// Puts values of another person in place of these texts.
fn change(value: &mut Value, texts: &[String]) {
    match value {
        Value::Object(fields) => fields.values_mut().for_each(|one| change(one, texts)),
        Value::Array(items) => items.iter_mut().for_each(|one| change(one, texts)),
        scalar => {
            let text = text_of(scalar).filter(|text| texts.contains(text));
            if let Some(text) = text {
                *scalar = of_another(&text).into();
            }
        }
    }
}

fn of_another(text: &str) -> String {
    if text.contains('@') {
        return format!("bia.{text}");
    }
    if !text.contains(|letter: char| letter.is_ascii_digit()) {
        return "Bia Lima".to_owned();
    }
    let next = |letter: char| match letter {
        '0'..='8' => char::from(letter as u8 + 1),
        '9' => '0',
        other => other,
    };
    let last = text.char_indices().rev().nth(3).map_or(0, |(at, _)| at);
    let (first, last) = text.split_at(last);
    format!("{first}{}", last.chars().map(next).collect::<String>())
}
