//! Limits on the size of an item, applied before the item is used. A text that a person or a source
//! writes is cut, and a value that would say something else if it were cut is left out; the notes of
//! the delivery name both. An item without what identifies it, or that is too large as a whole,
//! becomes invalid, with the actual size and the limit. The others are kept, and the raw delivery
//! has all of it.

use super::bindings::exports::leadhost::converter::converter as wit;
use crate::abi::v1::types::core;
use crate::rules::size::{self, KEPT, Room};
use leadhost_domain::deal::cut_from;
use leadhost_domain::limits;
use leadhost_domain::text::seen;

/// The rule that an item breaks, and the field.
pub(super) type RuleViolation = (String, String);

const WORD: usize = limits::LEAD_WORD_BYTES;
const TEXT: usize = limits::LEAD_TEXT_BYTES;

/// Brings an item within its bounds, and returns what it lost. An item that exceeds the room left
/// does not use up any of it.
pub(super) fn item(item: &mut wit::Item, room: &mut Room) -> Result<Vec<String>, RuleViolation> {
    size::route(&item.route).map_err(|what| (what, "route".to_owned()))?;
    let mut cuts = Cuts::default();
    let (field, bytes) = match &mut item.outcome {
        wit::Outcome::Lead(lead) => {
            self::lead(lead, &mut cuts)?;
            ("lead", bytes_of(lead))
        }
        wit::Outcome::Fetch(fetch) => ("fetch", self::fetch(fetch)?),
        // Their texts are cut instead.
        wit::Outcome::Ignored(_) | wit::Outcome::Invalid(_) => return Ok(Vec::new()),
    };
    let bytes = bytes_of_pairs(&item.route) + bytes;
    room.take(bytes).map_err(|what| (what, field.to_owned()))?;
    Ok(cuts.0)
}

/// Name and message have no bound of their own here: the deal keeps as much of them as it can.
fn lead(lead: &mut wit::Lead, cuts: &mut Cuts) -> Result<(), RuleViolation> {
    identity(
        "lead.external-id",
        "an external id",
        lead.external_id.as_deref(),
        WORD,
    )?;
    keys(lead, cuts)?;
    cuts.text("action", &mut lead.action, WORD);
    for (field, text) in [
        ("occurred-at", &mut lead.occurred_at),
        ("source", &mut lead.source),
    ] {
        if let Some(text) = text {
            cuts.text(field, text, WORD);
        }
    }
    if let Some(region) = lead.region.take_if(|region| region.len() > WORD) {
        cuts.left_out("region", region.len(), WORD);
    }
    cuts.list(
        "listings",
        &mut lead.listings,
        limits::LEAD_LISTINGS,
        |listing| ("", too_long(&listing.reference, WORD)),
    );
    for listing in &mut lead.listings {
        cuts.text("listings.kind", &mut listing.kind, WORD);
    }
    cuts.list(
        "consents",
        &mut lead.consents,
        limits::LEAD_CONSENTS,
        |_| ("", None),
    );
    for consent in &mut lead.consents {
        cuts.text("consents.purpose", &mut consent.purpose, WORD);
        cuts.text("consents.text", &mut consent.text, TEXT);
    }
    let most = limits::LEAD_CAMPAIGN_FIELDS;
    cuts.list("campaign", &mut lead.campaign, most, |(name, _)| {
        (name.as_str(), too_long(name, WORD))
    });
    for (name, value) in &mut lead.campaign {
        if value.len() > TEXT {
            cuts.text(&format!("campaign.{name}"), value, TEXT);
        }
    }
    // The beginning of a JSON text is none.
    cuts.list(
        "attributes",
        &mut lead.attributes,
        limits::ATTRIBUTES,
        |(name, value)| {
            let long = too_long(name, WORD).or_else(|| too_long(value, TEXT));
            (name.as_str(), long)
        },
    );
    Ok(())
}

/// Leaves out a phone or an e-mail address that is too long, if the lead has another key.
fn keys(lead: &mut wit::Lead, cuts: &mut Cuts) -> Result<(), RuleViolation> {
    let is_key = |text: &String, most| text.len() <= most && !seen(text).is_empty();
    let has_key = lead
        .external_id
        .iter()
        .chain(&lead.emails)
        .any(|text| is_key(text, WORD))
        || lead
            .phones
            .iter()
            .any(|phone| is_key(phone, limits::LEAD_PHONE_BYTES));
    for (field, one, many, values, (most, longest)) in [
        (
            "phones",
            "a phone",
            "phones",
            &mut lead.phones,
            (limits::LEAD_PHONES, limits::LEAD_PHONE_BYTES),
        ),
        (
            "emails",
            "an e-mail",
            "e-mails",
            &mut lead.emails,
            (limits::LEAD_EMAILS, WORD),
        ),
    ] {
        if values.len() > most {
            let what = format!(
                "{} {many}; at most {most} are taken, and {KEPT}",
                values.len()
            );
            return Err((what, format!("lead.{field}")));
        }
        if has_key {
            cuts.list(field, values, most, |text| ("", too_long(text, longest)));
        }
        for (place, text) in values.iter().enumerate() {
            if text.len() > longest {
                identity(&format!("lead.{field}.{place}"), one, Some(text), longest)?;
            }
        }
    }
    Ok(())
}

/// Refuses a text that identifies, because a part of it would identify something else.
fn identity(field: &str, what: &str, text: Option<&str>, most: usize) -> Result<(), RuleViolation> {
    let Some((bytes, most)) = text.and_then(|text| too_long(text, most)) else {
        return Ok(());
    };
    let what = format!("{what} of {bytes} bytes; at most {most} are taken, and {KEPT}");
    Err((what, field.to_owned()))
}

/// Returns the bytes of a text that has more than it may have, and how many that are.
fn too_long(text: &str, most: usize) -> Option<(usize, usize)> {
    (text.len() > most).then_some((text.len(), most))
}

fn bytes_of_pairs(pairs: &[(String, String)]) -> usize {
    pairs
        .iter()
        .map(|(name, value)| name.len() + value.len())
        .sum()
}

fn bytes_of(lead: &wit::Lead) -> usize {
    let wit::Lead {
        external_id,
        action,
        is_test: _,
        name,
        phones,
        emails,
        region,
        listings,
        message,
        occurred_at,
        source,
        consents,
        campaign,
        attributes,
    } = lead;
    let single = [external_id, name, region, message, occurred_at, source];
    let texts = single.into_iter().flatten().chain(phones).chain(emails);
    let listings = listings
        .iter()
        .map(|one| one.kind.len() + one.reference.len());
    let consents = consents
        .iter()
        .map(|one| one.purpose.len() + one.text.len());
    action.len()
        + texts
            .map(String::len)
            .chain(listings)
            .chain(consents)
            .sum::<usize>()
        + bytes_of_pairs(campaign)
        + bytes_of_pairs(attributes)
}

/// What a lead lost, as the notes of its delivery name it.
#[derive(Default)]
struct Cuts(Vec<String>);

impl Cuts {
    fn text(&mut self, field: &str, text: &mut String, most: usize) {
        let Some((bytes, _)) = too_long(text, most) else {
            return;
        };
        let kept = text.floor_char_boundary(most);
        text.truncate(kept);
        self.0.push(cut_from(field, bytes, kept));
    }

    fn left_out(&mut self, field: &str, bytes: usize, most: usize) {
        self.0
            .push(format!("{field} ({bytes} bytes; at most {most} are taken)"));
    }

    /// Leaves out the values after the first `most`, and values with a part that is too long. `part` returns
    /// the value's name, and that part's size and bound.
    fn list<T>(
        &mut self,
        field: &str,
        values: &mut Vec<T>,
        most: usize,
        part: impl for<'v> Fn(&'v T) -> (&'v str, Option<(usize, usize)>),
    ) {
        if values.len() > most {
            self.0.push(format!(
                "{field} after the first {most} of {}",
                values.len()
            ));
            values.truncate(most);
        }
        let mut place = 0;
        values.retain(|value| {
            let (name, long) = part(value);
            if let Some((bytes, most)) = long {
                let name = match &name[..name.floor_char_boundary(NAME_SHOWN)] {
                    "" => place.to_string(),
                    name => name.to_owned(),
                };
                self.left_out(&format!("{field}.{name}"), bytes, most);
            }
            place += 1;
            long.is_none()
        });
    }
}

const NAME_SHOWN: usize = 64;

fn fetch(fetch: &wit::Fetch) -> Result<usize, RuleViolation> {
    let id = fetch.external_id.as_deref();
    identity("fetch.external-id", "an external id", id, WORD)?;
    let state = fetch.state.len();
    if state > limits::FETCH_STATE_BYTES {
        let most = limits::FETCH_STATE_BYTES;
        let what = format!("a state of {state} bytes; at most {most} are kept");
        return Err((what, "fetch.state".to_owned()));
    }
    Ok(id.map_or(0, str::len) + state + request(&fetch.request))
}

/// Returns the bytes of a request. The rules of requests check whether they are too many.
fn request(request: &core::HttpRequest) -> usize {
    let of = |segments: &[core::Segment]| -> usize {
        let one = |segment: &core::Segment| match segment {
            core::Segment::Literal(text) => text.len(),
            core::Segment::Bytes(bytes) => bytes.len(),
            core::Segment::Slot(slot) => {
                let args = slot.args.iter().map(|argument| match argument {
                    core::SlotArgument::Secret(text) | core::SlotArgument::Literal(text) => {
                        text.len()
                    }
                });
                slot.function.len() + args.sum::<usize>()
            }
        };
        segments.iter().map(one).sum()
    };
    let fields = request.query.iter().chain(&request.headers);
    of(&request.path)
        + of(&request.body)
        + fields
            .map(|(name, value)| name.len() + of(value))
            .sum::<usize>()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lead() -> wit::Lead {
        wit::Lead {
            external_id: None,
            action: "create".to_owned(),
            is_test: false,
            name: None,
            phones: Vec::new(),
            emails: Vec::new(),
            region: None,
            listings: Vec::new(),
            message: None,
            occurred_at: None,
            source: None,
            consents: Vec::new(),
            campaign: Vec::new(),
            attributes: Vec::new(),
        }
    }

    fn item_of(outcome: wit::Outcome) -> wit::Item {
        wit::Item {
            route: Vec::new(),
            outcome,
        }
    }

    fn asked(request: core::HttpRequest, state: usize) -> wit::Item {
        item_of(wit::Outcome::Fetch(wit::Fetch {
            external_id: None,
            request,
            state: vec![0; state],
        }))
    }

    fn request_with(body: usize) -> core::HttpRequest {
        core::HttpRequest {
            method: "GET".to_owned(),
            scheme: "https".to_owned(),
            authority: "leads.example.com".to_owned(),
            path: Vec::new(),
            query: Vec::new(),
            headers: Vec::new(),
            body: vec![core::Segment::Bytes(vec![0; body])],
        }
    }

    fn alone(item: &wit::Item) -> Result<(), RuleViolation> {
        self::item(&mut item.clone(), &mut Room::for_delivery()).map(drop)
    }

    fn bounded(
        change: impl FnOnce(&mut wit::Lead),
    ) -> Result<(wit::Lead, Vec<String>), RuleViolation> {
        let mut lead = lead();
        change(&mut lead);
        let mut item = item_of(wit::Outcome::Lead(lead));
        let cuts = self::item(&mut item, &mut Room::for_delivery())?;
        let wit::Outcome::Lead(lead) = item.outcome else {
            panic!("a lead stays one");
        };
        Ok((lead, cuts))
    }

    fn x(bytes: usize) -> String {
        "x".repeat(bytes)
    }

    /// Sets a text or a number of values of this size.
    type Change = fn(&mut wit::Lead, usize);

    /// Words what the field lost: the value, and the most that is taken.
    type Note = fn(&str, usize) -> String;

    fn listings(kind: String, reference: String) -> Vec<wit::Listing> {
        vec![wit::Listing { kind, reference }]
    }

    fn consents(purpose: String, text: String) -> Vec<wit::Consent> {
        let granted = true;
        vec![wit::Consent {
            purpose,
            granted,
            text,
        }]
    }

    #[test]
    fn what_identifies_a_lead_is_taken_whole_or_the_lead_is_refused() {
        #[rustfmt::skip]
        let all: [(usize, &str, &str, Change); 6] = [
            (1_024, "an external id of 1025 bytes", "external-id", |lead, size| {
                lead.external_id = Some(x(size));
                lead.phones = vec![x(1)];
            }),
            (256, "a phone of 257 bytes", "phones.1", |lead, size| lead.phones = vec![" ".to_owned(), x(size)]),
            (1_024, "an e-mail of 1025 bytes", "emails.0", |lead, size| lead.emails = vec![x(size)]),
            (20, "21 phones", "phones", |lead, count| lead.phones = vec![x(1); count]),
            (20, "21 e-mails", "emails", |lead, count| lead.emails = vec![x(1); count]),
            (20, "21 e-mails", "emails", |lead, count| {
                lead.external_id = Some(x(1));
                lead.emails = vec![x(1); count];
            }),
        ];
        for (most, words, field, change) in all {
            let (_, cuts) = bounded(|lead| change(lead, most)).expect(field);
            assert!(cuts.is_empty(), "{field}: {cuts:?}");
            let (what, place) = bounded(|lead| change(lead, most + 1)).expect_err(field);
            let expected =
                format!("{words}; at most {most} are taken, and the raw delivery is kept");
            assert_eq!((what, place), (expected, format!("lead.{field}")));
        }
    }

    #[test]
    fn every_other_value_that_is_too_large_is_cut_or_left_out_with_a_note() {
        fn cut(field: &str, most: usize) -> String {
            format!("the end of {field} (cut from {} to {most} bytes)", most + 1)
        }
        fn left(field: &str, most: usize) -> String {
            format!("{field} ({} bytes; at most {most} are taken)", most + 1)
        }
        fn first(field: &str, most: usize) -> String {
            format!("{field} after the first {most} of {}", most + 1)
        }
        #[rustfmt::skip]
        let all: [(usize, Note, &str, Change); 17] = [
            (256, left, "phones.1", |lead, size| lead.phones = vec![x(1), x(size)]),
            (256, left, "phones.0", |lead, size| {
                lead.external_id = Some(x(1));
                lead.phones = vec![x(size)];
            }),
            (1_024, left, "emails.0", |lead, size| {
                lead.phones = vec![x(1)];
                lead.emails = vec![x(size)];
            }),
            (1_024, cut, "action", |lead, size| lead.action = x(size)),
            (1_024, left, "region", |lead, size| lead.region = Some(x(size))),
            (1_024, cut, "occurred-at", |lead, size| lead.occurred_at = Some(x(size))),
            (1_024, cut, "source", |lead, size| lead.source = Some(x(size))),
            (1_024, cut, "listings.kind", |lead, size| lead.listings = listings(x(size), x(1))),
            (1_024, left, "listings.0", |lead, size| lead.listings = listings(x(1), x(size))),
            (1_024, cut, "consents.purpose", |lead, size| lead.consents = consents(x(size), x(1))),
            (65_536, cut, "consents.text", |lead, size| lead.consents = consents(x(1), x(size))),
            (65_536, cut, "campaign.utm", |lead, size| lead.campaign = vec![("utm".to_owned(), x(size))]),
            (65_536, left, "attributes.unit", |lead, size| {
                lead.attributes = vec![(x(1), x(1)), ("unit".to_owned(), x(size))];
            }),
            (50, first, "listings", |lead, count| lead.listings = vec![listings(x(1), x(1)).remove(0); count]),
            (50, first, "consents", |lead, count| lead.consents = vec![consents(x(1), x(1)).remove(0); count]),
            (100, first, "campaign", |lead, count| lead.campaign = vec![(x(1), x(1)); count]),
            (200, first, "attributes", |lead, count| lead.attributes = vec![(x(1), x(1)); count]),
        ];
        for (most, note, field, change) in all {
            let note = note(field, most);
            let (whole, cuts) = bounded(|lead| change(lead, most)).expect(&note);
            assert!(cuts.is_empty(), "{note}: {cuts:?}");
            let (lead, cuts) = bounded(|lead| change(lead, most + 1)).expect(&note);
            assert!(bytes_of(&lead) <= bytes_of(&whole), "{note}");
            assert_eq!(cuts, [note]);
        }
        let names: [(&str, Change); 2] = [
            ("campaign", |lead, size| {
                lead.campaign = vec![(x(size), x(1))]
            }),
            ("attributes", |lead, size| {
                lead.attributes = vec![(x(size), x(1))]
            }),
        ];
        for (field, change) in names {
            let (lead, cuts) = bounded(|lead| change(lead, 1_025)).expect(field);
            assert_eq!(cuts, [left(&format!("{field}.{}", x(64)), 1_024)]);
            assert!(lead.campaign.is_empty() && lead.attributes.is_empty());
        }
    }

    #[test]
    fn a_text_is_cut_between_characters_and_name_and_message_are_left_to_the_deal() {
        let source = || format!("x{}", "é".repeat(600));
        let (lead, cuts) = bounded(|lead| lead.source = Some(source())).expect("a lead");
        assert!(source().starts_with(lead.source.as_deref().unwrap_or("none")));
        assert_eq!(cuts, ["the end of source (cut from 1201 to 1023 bytes)"]);
        let large = |lead: &mut wit::Lead| {
            lead.name = Some(x(70_000));
            lead.message = Some(x(70_000));
        };
        let (lead, cuts) = bounded(large).expect("a lead");
        assert_eq!(bytes_of(&lead), 140_000 + lead.action.len());
        assert!(cuts.is_empty());
    }

    #[test]
    fn an_item_that_exceeds_the_room_of_a_delivery_uses_none_of_it() {
        let mut room = Room::for_delivery();
        let with = |bytes: usize| {
            item_of(wit::Outcome::Lead(wit::Lead {
                action: String::new(),
                attributes: vec![(String::new(), x(bytes / 100)); 100],
                ..lead()
            }))
        };
        let large = with(4_000_000);
        let mut take = |item: &wit::Item| self::item(&mut item.clone(), &mut room).map(drop);
        assert_eq!(take(&large), Ok(()));
        assert_eq!(take(&large), Ok(()));
        let refused = take(&large).expect_err("no room");
        assert_eq!(
            refused,
            (
                "4000000 bytes where 388608 are left of the 8388608 that are taken from one delivery; the raw delivery is kept".to_owned(),
                "lead".to_owned()
            )
        );
        let fetch = asked(request_with(400_000), 0);
        assert_eq!(take(&fetch).expect_err("no room").1, "fetch");
        assert_eq!(take(&with(388_600)), Ok(()));
        let nothing = item_of(wit::Outcome::Ignored(x(1_000)));
        assert_eq!(take(&nothing), Ok(()), "it is cut");
    }

    #[test]
    fn a_route_and_a_state_are_bounded() {
        let mut item = asked(request_with(0), limits::FETCH_STATE_BYTES);
        assert_eq!(alone(&item), Ok(()));
        item.route = vec![("page-id".to_owned(), x(limits::EXTERNAL_ID_BYTES))];
        assert_eq!(alone(&item), Ok(()));
        item.route = vec![("page-id".to_owned(), x(limits::EXTERNAL_ID_BYTES + 1))];
        let (what, field) = alone(&item).expect_err("a long route");
        assert_eq!(field, "route");
        assert!(what.contains("513 bytes"), "{what}");
        let item = asked(request_with(0), limits::FETCH_STATE_BYTES + 1);
        assert_eq!(alone(&item).expect_err("a large state").1, "fetch.state");
    }
}
