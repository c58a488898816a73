//! Limits on the size of an item, checked before the item is used: phones, bytes of a name,
//! bytes of all items of a delivery. A message about something too large names the actual
//! size and the limit. Only that item becomes invalid; the others are kept, and the raw
//! delivery has all of it.

use super::bindings::exports::leadhost::converter::converter as wit;
use crate::limits;
use crate::plugin::abi::v1::types::core;
use crate::plugin::rules::size;

/// The rule that an item breaks, and the field.
pub(super) type RuleViolation = (String, String);

const KEPT: &str = "the raw delivery is kept";

/// Bytes that are left for further items of a delivery.
pub(super) struct Room(usize);

impl Room {
    /// Returns the room of a delivery, `ITEMS_BYTES`, for all of its items together.
    pub(super) fn for_delivery() -> Self {
        Self(limits::ITEMS_BYTES)
    }
}

/// Checks an item. An item that exceeds the room left does not use up any of it.
///
/// # Errors
///
/// The violation and the field that has it, if the item or a part of it is too large.
pub(super) fn item(item: &wit::Item, room: &mut Room) -> Result<(), RuleViolation> {
    size::route(&item.route).map_err(|what| (what, "route".to_owned()))?;
    let route: usize = item
        .route
        .iter()
        .map(|(name, value)| name.len() + value.len())
        .sum();
    let (field, bytes) = match &item.outcome {
        wit::Outcome::Lead(lead) => ("lead", self::lead(lead)?),
        wit::Outcome::Fetch(fetch) => ("fetch", self::fetch(fetch)?),
        // Their texts are cut instead.
        wit::Outcome::Ignored(_) | wit::Outcome::Invalid(_) => return Ok(()),
    };
    let bytes = route + bytes;
    room.0 = room.0.checked_sub(bytes).ok_or_else(|| {
        let what = format!(
            "{bytes} bytes where {} are left of the {} that are taken from one delivery; {KEPT}",
            room.0,
            limits::ITEMS_BYTES
        );
        (what, field.to_owned())
    })?;
    Ok(())
}

fn lead(lead: &wit::Lead) -> Result<usize, RuleViolation> {
    const WORD: usize = limits::LEAD_WORD_BYTES;
    const TEXT: usize = limits::LEAD_TEXT_BYTES;
    let mut of = RecordSize {
        record: "lead",
        bytes: 0,
    };
    of.text_if(
        "external-id",
        "an external id",
        lead.external_id.as_ref(),
        WORD,
    )?;
    of.text("action", "an action", &lead.action, WORD)?;
    of.text_if(
        "name",
        "a name",
        lead.name.as_ref(),
        limits::LEAD_NAME_BYTES,
    )?;
    of.text_if("region", "a region", lead.region.as_ref(), WORD)?;
    of.text_if("message", "a message", lead.message.as_ref(), TEXT)?;
    of.text_if("occurred-at", "a time", lead.occurred_at.as_ref(), WORD)?;
    of.text_if("source", "a source", lead.source.as_ref(), WORD)?;

    of.list("phones", "phones", lead.phones.len(), limits::LEAD_PHONES)?;
    for (place, phone) in lead.phones.iter().enumerate() {
        let field = || format!("phones.{place}");
        of.text(field, "a phone", phone, limits::LEAD_PHONE_BYTES)?;
    }
    of.list("emails", "e-mails", lead.emails.len(), limits::LEAD_EMAILS)?;
    for (place, email) in lead.emails.iter().enumerate() {
        of.text(|| format!("emails.{place}"), "an e-mail", email, WORD)?;
    }
    of.list(
        "listings",
        "listings",
        lead.listings.len(),
        limits::LEAD_LISTINGS,
    )?;
    for (place, listing) in lead.listings.iter().enumerate() {
        let field = |name| move || format!("listings.{place}.{name}");
        of.text(field("kind"), "a listing's kind", &listing.kind, WORD)?;
        of.text(
            field("reference"),
            "a listing's reference",
            &listing.reference,
            WORD,
        )?;
    }
    of.list(
        "consents",
        "consents",
        lead.consents.len(),
        limits::LEAD_CONSENTS,
    )?;
    for (place, consent) in lead.consents.iter().enumerate() {
        let field = |name| move || format!("consents.{place}.{name}");
        of.text(
            field("purpose"),
            "a consent's purpose",
            &consent.purpose,
            WORD,
        )?;
        of.text(field("text"), "a consent's text", &consent.text, TEXT)?;
    }
    let most = limits::LEAD_CAMPAIGN_FIELDS;
    of.list(
        "campaign",
        "fields of a campaign",
        lead.campaign.len(),
        most,
    )?;
    for (place, (name, value)) in lead.campaign.iter().enumerate() {
        let field = || format!("campaign.{place}");
        of.text(field, "a campaign field's name", name, WORD)?;
        of.text(field, "a campaign field's value", value, TEXT)?;
    }
    of.list(
        "attributes",
        "attributes",
        lead.attributes.len(),
        limits::ATTRIBUTES,
    )?;
    for (place, (name, value)) in lead.attributes.iter().enumerate() {
        let field = || format!("attributes.{place}");
        of.text(field, "an attribute's name", name, WORD)?;
        of.text(field, "an attribute's value", value, TEXT)?;
    }
    Ok(of.bytes)
}

fn fetch(fetch: &wit::Fetch) -> Result<usize, RuleViolation> {
    let mut of = RecordSize {
        record: "fetch",
        bytes: 0,
    };
    let id = fetch.external_id.as_ref();
    of.text_if("external-id", "an external id", id, limits::LEAD_WORD_BYTES)?;
    let state = fetch.state.len();
    if state > limits::FETCH_STATE_BYTES {
        let most = limits::FETCH_STATE_BYTES;
        let what = format!("a state of {state} bytes; at most {most} are kept");
        return Err((what, "fetch.state".to_owned()));
    }
    Ok(of.bytes + state + request(&fetch.request))
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

/// Adds up the bytes of a record.
struct RecordSize {
    record: &'static str,
    bytes: usize,
}

impl RecordSize {
    fn list(
        &self,
        field: &str,
        what: &str,
        count: usize,
        most: usize,
    ) -> Result<(), RuleViolation> {
        if count <= most {
            return Ok(());
        }
        let what = format!("{count} {what}; at most {most} are taken, and {KEPT}");
        Err((what, format!("{}.{field}", self.record)))
    }

    fn text(
        &mut self,
        field: impl FieldPath,
        what: &str,
        text: &str,
        most: usize,
    ) -> Result<(), RuleViolation> {
        let bytes = text.len();
        self.bytes += bytes;
        if bytes <= most {
            return Ok(());
        }
        let what = format!("{what} of {bytes} bytes; at most {most} are taken, and {KEPT}");
        Err((what, format!("{}.{}", self.record, field.path())))
    }

    fn text_if(
        &mut self,
        field: &str,
        what: &str,
        text: Option<&String>,
        most: usize,
    ) -> Result<(), RuleViolation> {
        text.map_or(Ok(()), |text| self.text(field, what, text, most))
    }
}

/// The path of a text, created only for an error.
trait FieldPath {
    /// Returns the path as text.
    fn path(self) -> String;
}

impl FieldPath for &str {
    fn path(self) -> String {
        self.to_owned()
    }
}

impl<F: FnOnce() -> String> FieldPath for F {
    fn path(self) -> String {
        self()
    }
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
        self::item(item, &mut Room::for_delivery())
    }

    /// Checks that a lead with `most` of something is accepted, and that a lead with one
    /// more is refused with these words, in this field.
    fn check(most: usize, words: &str, field: &str, change: impl Fn(&mut wit::Lead, usize)) {
        let with = |count| {
            let mut lead = lead();
            change(&mut lead, count);
            alone(&item_of(wit::Outcome::Lead(lead)))
        };
        assert_eq!(with(most), Ok(()), "{field}");
        let (what, place) = with(most + 1).expect_err(field);
        let expected = format!("{words}; at most {most} are taken, and the raw delivery is kept");
        assert_eq!((what.as_str(), place.as_str()), (expected.as_str(), field));
    }

    fn x(bytes: usize) -> String {
        "x".repeat(bytes)
    }

    #[test]
    fn every_list_of_a_lead_has_a_maximum_length() {
        let pair = || (x(1), "1".to_owned());
        check(20, "21 phones", "lead.phones", |lead, count| {
            lead.phones = vec![x(1); count];
        });
        check(20, "21 e-mails", "lead.emails", |lead, count| {
            lead.emails = vec![x(1); count];
        });
        let listing = wit::Listing {
            kind: x(1),
            reference: x(1),
        };
        check(50, "51 listings", "lead.listings", |lead, count| {
            lead.listings = vec![listing.clone(); count];
        });
        let consent = wit::Consent {
            purpose: x(1),
            granted: true,
            text: x(1),
        };
        check(50, "51 consents", "lead.consents", |lead, count| {
            lead.consents = vec![consent.clone(); count];
        });
        check(
            100,
            "101 fields of a campaign",
            "lead.campaign",
            |lead, count| {
                lead.campaign = vec![pair(); count];
            },
        );
        check(200, "201 attributes", "lead.attributes", |lead, count| {
            lead.attributes = vec![pair(); count];
        });
    }

    #[test]
    fn every_text_of_a_lead_has_a_maximum_length() {
        type SetText = fn(&mut wit::Lead, String);
        let all: [(usize, &str, &str, SetText); 18] = [
            (1_024, "an external id", "external-id", |lead, text| {
                lead.external_id = Some(text)
            }),
            (1_024, "an action", "action", |lead, text| {
                lead.action = text
            }),
            (4_096, "a name", "name", |lead, text| lead.name = Some(text)),
            (256, "a phone", "phones.1", |lead, text| {
                lead.phones = vec![x(1), text]
            }),
            (1_024, "an e-mail", "emails.0", |lead, text| {
                lead.emails = vec![text]
            }),
            (1_024, "a region", "region", |lead, text| {
                lead.region = Some(text)
            }),
            (
                1_024,
                "a listing's kind",
                "listings.0.kind",
                |lead, kind| {
                    let reference = x(1);
                    lead.listings = vec![wit::Listing { kind, reference }];
                },
            ),
            (
                1_024,
                "a listing's reference",
                "listings.0.reference",
                |lead, reference| {
                    let kind = x(1);
                    lead.listings = vec![wit::Listing { kind, reference }];
                },
            ),
            (65_536, "a message", "message", |lead, text| {
                lead.message = Some(text)
            }),
            (1_024, "a time", "occurred-at", |lead, text| {
                lead.occurred_at = Some(text)
            }),
            (1_024, "a source", "source", |lead, text| {
                lead.source = Some(text)
            }),
            (
                1_024,
                "a consent's purpose",
                "consents.0.purpose",
                |lead, purpose| {
                    let (granted, text) = (true, x(1));
                    lead.consents = vec![wit::Consent {
                        purpose,
                        granted,
                        text,
                    }];
                },
            ),
            (
                65_536,
                "a consent's text",
                "consents.0.text",
                |lead, text| {
                    let (granted, purpose) = (true, x(1));
                    lead.consents = vec![wit::Consent {
                        purpose,
                        granted,
                        text,
                    }];
                },
            ),
            (
                1_024,
                "a campaign field's name",
                "campaign.0",
                |lead, text| {
                    lead.campaign = vec![(text, x(1))];
                },
            ),
            (
                65_536,
                "a campaign field's value",
                "campaign.0",
                |lead, text| {
                    lead.campaign = vec![(x(1), text)];
                },
            ),
            (
                1_024,
                "an attribute's name",
                "attributes.0",
                |lead, text| {
                    lead.attributes = vec![(text, x(1))];
                },
            ),
            (
                65_536,
                "an attribute's value",
                "attributes.0",
                |lead, text| {
                    lead.attributes = vec![(x(1), text)];
                },
            ),
            (
                65_536,
                "an attribute's value",
                "attributes.1",
                |lead, text| {
                    lead.attributes = vec![(x(1), x(1)), (x(1), text)];
                },
            ),
        ];
        for (most, what, field, change) in all {
            let words = format!("{what} of {} bytes", most + 1);
            check(most, &words, &format!("lead.{field}"), |lead, bytes| {
                change(lead, x(bytes))
            });
        }
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
        assert_eq!(self::item(&large, &mut room), Ok(()));
        assert_eq!(self::item(&large, &mut room), Ok(()));
        let refused = self::item(&large, &mut room).expect_err("no room");
        assert_eq!(
            refused,
            (
                "4000000 bytes where 388608 are left of the 8388608 that are taken from one delivery; the raw delivery is kept".to_owned(),
                "lead".to_owned()
            )
        );
        let fetch = asked(request_with(400_000), 0);
        assert_eq!(
            self::item(&fetch, &mut room).expect_err("no room").1,
            "fetch"
        );
        assert_eq!(self::item(&with(388_600), &mut room), Ok(()));
        let nothing = item_of(wit::Outcome::Ignored(x(1_000)));
        assert_eq!(self::item(&nothing, &mut room), Ok(()), "it is cut");
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
