//! Reads the leads of {{name}}: an object, or a list of objects.
//!
//! A value under a usual name (`nome`, `first_name`, `telefone`, `e-mail`, …) fills its
//! field, wherever it is; everything else but other people is kept as an attribute.
//! `fields.take(&["deal.ref"])` reads a name that is not usual, by its path. Raise the
//! version with each change.

mod guess;
mod looks;
mod names;
mod people;
mod questions;
#[cfg(test)]
mod tests;
mod time;

use guess::Fields;
use leadhost_sdk::serde_json::Value;
use leadhost_sdk::{Conversion, Converter, Delivery, Description, Item, Lead, NoConfig, Problem};

pub struct Form;

leadhost_sdk::export_converter!(Form);

impl Converter for Form {
    type Config = NoConfig;

    fn describe() -> Description {
        Description::new("{{name}}", "1.0.0", "Leads of {{name}}")
    }

    fn convert(_: &NoConfig, delivery: &Delivery) -> Result<Conversion, Problem> {
        let body = guess::body(delivery)?;
        let forms = guess::forms_in(&body).into_iter();
        let mut notes = Vec::new();
        let read = |(form, path): (_, String)| read(form, &path, &mut notes);
        let items: Vec<Item> = forms.map(read).collect();
        Ok(Conversion {
            notes,
            ..items.into()
        })
    }
}

fn read(form: &Value, path: &str, notes: &mut Vec<String>) -> Item {
    if !form.is_object() {
        return Item::invalid("a lead must be an object", path);
    }
    let mut fields = Fields::new(form);
    let mut lead = Lead::new()
        .external_id(fields.external_id())
        .is_test(fields.is_test())
        .name(fields.name())
        .message(fields.message())
        .occurred_at(fields.occurred_at())
        .source(fields.source());
    lead.phones = fields.phones();
    lead.emails = fields.emails();
    lead.campaign = fields.campaign();
    for (kind, reference) in fields.listings() {
        lead = lead.listing(kind, reference);
    }
    if !fields.is_lead(&lead) {
        let problem =
            "the lead has no phone, no e-mail address and no name with an id or a message";
        return Item::invalid(problem, path);
    }
    // Last: what nothing above has read.
    let rest = fields.rest(notes).into_iter();
    Item::lead(rest.fold(lead, |lead, (name, value)| lead.attribute(&name, &value)))
}
