//! What a lead has more of than a host takes: it is cut or left out, and told, so
//! that a long text costs the text and not the lead. The raw delivery has it all.

use leadhost_sdk::{
    Conversion, Item, Lead, MAX_ATTRIBUTES, MAX_TEXT_BYTES, MAX_WORD_BYTES, Outcome,
};

/// Notes of one conversion: a delivery may have thousands of leads.
const NOTES: usize = 20;

/// Items whose leads a host takes, with notes: those that there are, and on what was cut.
pub fn keep(mut items: Vec<Item>, mut notes: Vec<String>) -> Conversion {
    notes.truncate(NOTES);
    for (index, item) in items.iter_mut().enumerate() {
        if let Outcome::Lead(lead) = &mut item.outcome {
            for what in cut(lead) {
                if notes.len() < NOTES {
                    notes.push(format!("item {index}: {what}; the raw delivery has it"));
                }
            }
        }
    }
    let conversion = Conversion::from(items);
    notes.into_iter().fold(conversion, Conversion::note)
}

fn cut(lead: &mut Lead) -> Vec<String> {
    let mut told = Vec::new();
    if let Some(message) = &mut lead.message
        && message.len() > MAX_TEXT_BYTES
    {
        message.truncate(message.floor_char_boundary(MAX_TEXT_BYTES));
        told.push(format!("the message is cut to {MAX_TEXT_BYTES} bytes"));
    }
    lead.attributes.retain(|(name, value)| {
        let fits = name.len() <= MAX_WORD_BYTES && value.len() <= MAX_TEXT_BYTES;
        if !fits {
            let short = &name[..name.floor_char_boundary(80)];
            told.push(format!(
                "`{short}` is too long for an attribute and left out"
            ));
        }
        fits
    });
    let count = lead.attributes.len();
    if count > MAX_ATTRIBUTES {
        lead.attributes.truncate(MAX_ATTRIBUTES);
        told.push(format!(
            "of {count} attributes the first {MAX_ATTRIBUTES} are taken"
        ));
    }
    told
}

#[cfg(test)]
mod tests {
    use super::*;
    use leadhost_sdk::serde_json::json;

    #[test]
    fn what_is_too_long_is_cut_or_left_out_and_told() {
        let mut lead = Lead::new()
            .message("é".repeat(MAX_TEXT_BYTES))
            .attribute("long", &json!("a".repeat(MAX_TEXT_BYTES)))
            .attribute("n".repeat(MAX_WORD_BYTES + 1), &json!(1));
        for number in 0..MAX_ATTRIBUTES + 1 {
            lead = lead.attribute(format!("a{number}"), &json!(number));
        }
        let conversion = keep(vec![Item::ignored("nothing"), Item::lead(lead)], Vec::new());
        assert_eq!(conversion.notes.len(), 4, "{:?}", conversion.notes);
        let Outcome::Lead(lead) = &conversion.items[1].outcome else {
            panic!("a lead");
        };
        assert_eq!(lead.message.as_ref().map(String::len), Some(MAX_TEXT_BYTES));
        assert_eq!(lead.attributes.len(), MAX_ATTRIBUTES);
        assert_eq!(lead.attributes[0].0, "a0");
    }

    #[test]
    fn what_fits_is_as_it_was_and_nothing_is_told() {
        let lead = Lead::new()
            .message("m".repeat(MAX_TEXT_BYTES))
            .attribute("long", &json!("a".repeat(MAX_TEXT_BYTES - 2)));
        let conversion = keep(vec![Item::lead(lead)], Vec::new());
        assert!(conversion.notes.is_empty());
        let Outcome::Lead(lead) = &conversion.items[0].outcome else {
            panic!("a lead");
        };
        assert_eq!(lead.message.as_ref().map(String::len), Some(MAX_TEXT_BYTES));
        assert_eq!(lead.attributes.len(), 1);
    }
}
