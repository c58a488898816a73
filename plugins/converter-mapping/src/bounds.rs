//! Cuts or leaves out the parts of a lead that exceed a host's limits, and notes it, so
//! that a long text does not cost the lead. The raw delivery has the complete data.

use leadhost_sdk::{
    Conversion, Item, Lead, Listing, MAX_ATTRIBUTES, MAX_CAMPAIGN_FIELDS, MAX_EMAILS, MAX_LISTINGS,
    MAX_NAME_BYTES, MAX_PHONE_BYTES, MAX_PHONES, MAX_TEXT_BYTES, MAX_WORD_BYTES, Outcome,
};

/// Maximum notes of one conversion: a delivery may have thousands of leads.
const NOTES: usize = 20;

/// Returns the items with leads within a host's limits, and the notes, including those on cuts.
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
    let mut remarks = Vec::new();
    for (what, text, most) in [
        ("message", &mut lead.message, MAX_TEXT_BYTES),
        ("name", &mut lead.name, MAX_NAME_BYTES),
    ] {
        if let Some(text) = text
            && text.len() > most
        {
            text.truncate(text.floor_char_boundary(most));
            remarks.push(format!("the {what} is cut to {most} bytes"));
        }
    }
    // If these were cut, they would have another meaning.
    for (what, text) in [
        ("external id", &mut lead.external_id),
        ("region", &mut lead.region),
        ("time", &mut lead.occurred_at),
        ("source", &mut lead.source),
    ] {
        if text
            .as_ref()
            .is_some_and(|text| text.len() > MAX_WORD_BYTES)
        {
            *text = None;
            remarks.push(format!("the {what} is too long and left out"));
        }
    }
    let is_word = |text: &str| text.len() <= MAX_WORD_BYTES;
    let is_text = |text: &str| text.len() <= MAX_TEXT_BYTES;
    let is_phone = |phone: &String| phone.len() <= MAX_PHONE_BYTES;
    few(
        &mut lead.phones,
        "phones",
        MAX_PHONES,
        is_phone,
        &mut remarks,
    );
    let is_email = |email: &String| is_word(email);
    few(
        &mut lead.emails,
        "e-mails",
        MAX_EMAILS,
        is_email,
        &mut remarks,
    );
    let is_listing = |listing: &Listing| is_word(&listing.kind) && is_word(&listing.reference);
    let listings = &mut lead.listings;
    few(listings, "listings", MAX_LISTINGS, is_listing, &mut remarks);
    let is_field = |(name, value): &(String, String)| is_word(name) && is_text(value);
    let campaign = &mut lead.campaign;
    let what = "fields of a campaign";
    few(campaign, what, MAX_CAMPAIGN_FIELDS, is_field, &mut remarks);
    lead.attributes.retain(|attribute| {
        let fits = is_field(attribute);
        if !fits {
            let name = &attribute.0;
            let short = &name[..name.floor_char_boundary(80)];
            remarks.push(format!(
                "`{short}` is too long for an attribute and left out"
            ));
        }
        fits
    });
    let attributes = &mut lead.attributes;
    few(
        attributes,
        "attributes",
        MAX_ATTRIBUTES,
        |_| true,
        &mut remarks,
    );
    remarks
}

/// Leaves out values that are too long, then values above the maximum count.
fn few<T>(
    list: &mut Vec<T>,
    what: &str,
    most: usize,
    fits: impl Fn(&T) -> bool,
    remarks: &mut Vec<String>,
) {
    let count = list.len();
    list.retain(fits);
    let long = count - list.len();
    if long > 0 {
        remarks.push(format!("{long} {what} are too long and left out"));
    }
    let count = list.len();
    if count > most {
        list.truncate(most);
        remarks.push(format!("only the first {most} of {count} {what} are kept"));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use leadhost_sdk::serde_json::json;

    #[test]
    fn texts_that_are_too_long_are_cut_or_left_out_and_noted() {
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
    fn every_part_of_a_lead_stays_within_the_hosts_limits() {
        let word = || "w".repeat(MAX_WORD_BYTES + 1);
        let mut lead = Lead::new()
            .external_id(word())
            .region(word())
            .occurred_at(word())
            .source(word())
            .name("é".repeat(MAX_NAME_BYTES))
            .phone("1".repeat(MAX_PHONE_BYTES + 1))
            .email(word())
            .listing("client", word())
            .campaign("ad-id", "a".repeat(MAX_TEXT_BYTES + 1));
        for number in 0..200 {
            lead = lead
                .phone(format!("{number}"))
                .email(format!("{number}@example.com"))
                .listing("client", format!("{number}"))
                .campaign("ad-id", format!("{number}"));
        }
        let remarks = cut(&mut lead);
        assert_eq!(remarks.len(), 13, "{remarks:?}");
        let words = [lead.external_id, lead.region, lead.occurred_at, lead.source];
        assert_eq!(words, [None, None, None, None]);
        assert_eq!(lead.name.map(|name| name.len()), Some(MAX_NAME_BYTES));
        assert_eq!(
            (lead.phones.len(), lead.emails.len()),
            (MAX_PHONES, MAX_EMAILS)
        );
        assert_eq!(lead.listings.len(), MAX_LISTINGS);
        assert_eq!(lead.campaign.len(), MAX_CAMPAIGN_FIELDS);
        assert_eq!(lead.phones[0], "0");
    }

    #[test]
    fn a_lead_within_the_limits_is_unchanged_and_has_no_note() {
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
