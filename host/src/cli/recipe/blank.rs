//! What is blank in a sample: where the next body has a value there, the mapping converter reads it. Each
//! such place is filled in turn, to see as which field.

use leadhost_sdk::is_absent;
use leadhost_sdk::path::Step;
use leadhost_sdk::serde_json::Value;

use super::{Field, Line, Recipe, Sample, below};

/// The places that are tried.
const MOST: usize = 20;

/// Values by which fields are recognised: a name, an address, a phone, an area, a time, and a yes.
const TRIED: [&str; 6] = [
    "Prado",
    "ana.prado@example.com",
    "11987650001",
    "11",
    "2026-03-02T14:30:00Z",
    "true",
];

/// Adds the lines of the blank places of an item, to which the steps lead.
pub fn add_lines(recipe: &mut Recipe, sample: &Sample, body: &Value, item: &[Step]) {
    let mut blanks = Vec::new();
    let value = item.iter().fold(body, |value, step| below(value, step));
    collect(value, item.to_vec(), &mut blanks);
    for blank in blanks {
        let mut attribute = None;
        let is_field = TRIED.iter().any(|value| {
            let lines = lines_with(recipe, sample, body, &blank, value);
            let is_attribute = |line: &Line| matches!(line.field, Field::Attribute(_));
            let (attributes, others): (Vec<_>, Vec<_>) = lines.into_iter().partition(is_attribute);
            attribute = attribute.take().or(attributes.into_iter().next());
            let added = others.into_iter().filter(|line| recipe.add(line.clone()));
            added.count() > 0
        });
        if let (false, Some(line)) = (is_field, attribute) {
            recipe.add(line);
        }
    }
}

/// Returns the lines that the recipe has not, if the blank place had this value.
fn lines_with(
    recipe: &Recipe,
    sample: &Sample,
    body: &Value,
    blank: &[Step],
    value: &str,
) -> Vec<Line> {
    let mut body = body.clone();
    if let Some(place) = super::place_in(&mut body, blank) {
        *place = value.into();
    }
    let first = sample.leads_of(&body).into_iter().next();
    let mut lines = first.map_or_else(Vec::new, |lead| lead.lines);
    lines.retain(|line| !recipe.lines.contains(line));
    lines
}

fn collect(value: &Value, steps: Vec<Step>, out: &mut Vec<Vec<Step>>) {
    let below = |step: Step| [steps.as_slice(), &[step]].concat();
    match value {
        _ if out.len() >= MOST => {}
        value if is_absent(value) => out.push(steps),
        Value::Object(fields) => {
            for (key, value) in fields {
                collect(value, below(Step::Key(key.clone())), out);
            }
        }
        Value::Array(items) => {
            for (index, value) in items.iter().enumerate() {
                collect(value, below(Step::Index(index)), out);
            }
        }
        _ => {}
    }
}
