//! Differences and harm, through whole comparisons.

use super::*;
use leadhost_domain::difference::OTHER_FIELDS;
use leadhost_domain::id::{DeliveryId, MessageId};
use leadhost_domain::time::Micros;

#[test]
fn crashes_are_compared_without_their_frames() {
    let failed = |words: &str| VersionOutcome::Failed(Reason::Plugin(words.to_owned()));
    let served = failed("the plugin call failed: unreachable, in form::read < form::convert");
    let check = |other: VersionOutcome, expect: bool| {
        assert_eq!(is_same_crash(&served, &other), expect, "{other:?}");
        assert_eq!(
            tally(&served, &other).differences.same,
            u64::from(expect),
            "{other:?}"
        );
    };
    check(failed("the plugin call failed: unreachable, in a"), true);
    check(failed("the plugin call failed: unreachable"), true);
    check(failed("the plugin call failed: out of bounds, in a"), false);
    check(converted([]), false);
}

fn field<'a>(found: &'a Tally, name: &str, change: DifferenceKind) -> &'a DifferenceGroup {
    let found = found.differences.field(name, change);
    found.expect("it differs")
}

fn lead(key: Option<&str>, fields: &[(&str, &str)]) -> OutcomeItem {
    let fields = fields.iter();
    OutcomeItem {
        kind: ItemKind::Lead,
        key: key.map(str::to_owned),
        fields: fields
            .map(|(name, value)| ((*name).to_owned(), FieldValue::One((*value).to_owned())))
            .collect(),
    }
}

fn converted<const N: usize>(items: [OutcomeItem; N]) -> VersionOutcome {
    VersionOutcome::Converted(items.into())
}

/// The first example of a group: what was before, and after.
fn example(group: &DifferenceGroup) -> (Option<&str>, Option<&str>) {
    let first = &group.examples[0];
    (first.before.as_deref(), first.after.as_deref())
}

fn tally(before: &VersionOutcome, after: &VersionOutcome) -> Tally {
    answered_tally(OfBoth::default(), before, after)
}

fn answered_tally(
    answered: OfBoth<bool>,
    before: &VersionOutcome,
    after: &VersionOutcome,
) -> Tally {
    Tally::from_one(
        &compared(&ConnectionId::generate(), answered),
        before,
        after,
    )
}

fn compared(connection: &ConnectionId, answered: OfBoth<bool>) -> ComparedSubject<'_> {
    ComparedSubject {
        subject: Subject::Delivery(DeliveryId::new(Micros(0))),
        connection,
        answered,
    }
}

fn item(kind: ItemKind, fields: &[(&str, &str)]) -> OutcomeItem {
    OutcomeItem {
        kind,
        ..lead(None, fields)
    }
}

#[test]
fn a_different_request_is_counted_without_harm_and_a_different_result_is_harm() {
    let request = |body: &str| item(ItemKind::Send, &[("body.name", body)]);
    let answer = |result: &str| item(ItemKind::Answer, &[(RESULT, result)]);
    let sent = |body: &str, result: &str| converted([request(body), answer(result)]);
    let found = tally(&sent("a", "accepted"), &sent("b", "accepted"));
    assert_eq!((found.harm.changed, found.harm.harm()), (1, 0));
    assert_eq!(field(&found, "body.name", DifferenceKind::Changed).count, 1);
    let found = tally(&sent("a", "accepted"), &sent("a", "retried"));
    assert_eq!((found.harm.changed, found.harm.lost), (0, 1));
    let read = found.lost.get(RESULT).expect("the results differ");
    assert_eq!(example(read).1, Some("retried"));
    // Without a request the host sends nothing.
    let found = tally(&sent("a", "accepted"), &converted([answer("accepted")]));
    let all = &found.differences;
    let counts = [found.harm.vanished, all.items.count, all.vanished.count];
    assert_eq!(counts, [1, 1, 0]);
}

#[test]
fn a_lead_that_the_candidate_would_fetch_by_another_request_is_not_compared() {
    let fetched = converted([lead(Some("1"), &[("phone", "1")])]);
    let mut pointer = item(ItemKind::Fetch, &[("request", "v2")]);
    pointer.key = Some("1".to_owned());
    let pointer = converted([pointer]);
    let answered = OfBoth {
        stable: true,
        candidate: false,
    };
    let found = answered_tally(answered, &fetched, &pointer);
    let all = &found.differences;
    let counts = [found.harm.harm(), all.vanished.count, all.items.count];
    assert_eq!(counts, [0, 0, 1]);
    let shown = (Some("lead"), Some("another request, not compared"));
    assert_eq!(example(&all.items), shown);
    let gone = answered_tally(answered, &fetched, &converted([]));
    assert_eq!(gone.differences.vanished.count, 1);
    // Without an answer the serving version makes the lead of the delivery itself.
    assert_eq!(tally(&fetched, &pointer).differences.vanished.count, 1);
}

#[test]
fn a_lead_that_the_candidate_has_fetched_by_another_request_is_not_compared() {
    let mut pointer = item(ItemKind::Fetch, &[("request", "v1")]);
    pointer.key = Some("1".to_owned());
    let pointer = converted([pointer]);
    let fetched = converted([
        lead(Some("1"), &[("phone", "1")]),
        lead(Some("2"), &[("phone", "2")]),
    ]);
    let answered = OfBoth {
        stable: false,
        candidate: true,
    };
    let found = answered_tally(answered, &pointer, &fetched);
    let all = &found.differences;
    assert_eq!([found.harm.harm(), found.harm.changed, all.same], [0; 3]);
    assert_eq!([all.vanished.count, all.appeared.count], [0; 2]);
    let shown = (Some("another request, not compared"), Some("lead"));
    assert_eq!(example(&all.items), shown);
    // A lead more is one more if the stable version's own request was answered.
    let one = converted([lead(Some("1"), &[("phone", "1")])]);
    let more = answered_tally(answered, &one, &fetched);
    assert_eq!(more.differences.appeared.count, 1);
}

#[test]
fn an_id_of_the_provider_that_an_accepted_answer_loses_or_changes_is_harm() {
    let accepted = |ids: &[&str]| {
        let mut answer = item(ItemKind::Answer, &[(RESULT, "accepted")]);
        if !ids.is_empty() {
            let ids = ids.iter().map(|&id| id.to_owned()).collect();
            answer.fields.insert(IDS.to_owned(), FieldValue::Many(ids));
        }
        converted([answer])
    };
    for (before, after, harm) in [
        (&["w1"][..], &[][..], 1),
        (&["w1"], &["w2"], 1),
        (&["w1", "w2"], &["w1"], 1),
        (&["w1"], &["w1", "w2"], 0),
        (&[], &["w1"], 0),
    ] {
        let found = tally(&accepted(before), &accepted(after));
        assert_eq!(found.harm.lost, harm, "{before:?} {after:?}");
        assert_eq!(found.lost.contains_key(IDS), harm > 0);
    }
}

#[test]
fn events_that_vanish_or_appear_are_counted_apart_from_leads() {
    let event = || item(ItemKind::Event, &[]);
    let invalid = || item(ItemKind::Invalid, &[]);
    for gone in [vec![event()], vec![event(), invalid()]] {
        let found = tally(
            &converted([event(), event()]),
            &VersionOutcome::Converted(gone),
        );
        assert_eq!((found.events, found.candidate_events), (2, 1));
        let all = &found.differences;
        assert_eq!((found.vanished_events.count, all.vanished.count), (1, 0));
        assert_eq!((found.harm.vanished, all.items.count), (1, 1));
    }
    let found = tally(&converted([]), &converted([event()]));
    let appeared = found.differences.appeared.count;
    assert_eq!((found.appeared_events.count, appeared), (1, 0));
    assert_eq!(found.harm.appeared, 1);
}

#[test]
fn every_kind_of_harm_has_its_own_name_in_the_metrics() {
    let event = || converted([item(ItemKind::Event, &[])]);
    let lead = || converted([lead(None, &[])]);
    let failed = || VersionOutcome::Failed(Reason::Plugin("no".to_owned()));
    let none = || converted([]);
    let mut found = tally(&event(), &none());
    for (before, after) in [
        (none(), event()),
        (lead(), none()),
        (none(), lead()),
        (lead(), failed()),
        (failed(), lead()),
    ] {
        found.merge(tally(&before, &after));
    }
    let names: Vec<(&str, u64)> = found.by_name().collect();
    assert_eq!(names.len(), 6, "{names:?}");
    let fields = GUARDED.iter().map(|field| field.name);
    let names = names.into_iter().map(|(name, _)| name);
    for name in fields.chain([RESULT, IDS]).chain(names) {
        assert!(leadhost_telemetry::DIFFERENCES.contains(&name), "{name}");
    }
}

#[test]
fn a_guarded_field_that_an_event_loses_is_harm_and_a_changed_one_except_the_text_too() {
    let check = |before: &[(&str, &str)], after: &[(&str, &str)], expect: Option<&str>| {
        let of = |fields| converted([item(ItemKind::Event, fields)]);
        let found = tally(&of(before), &of(after));
        let lost: Vec<&str> = found.lost.keys().map(AsRef::as_ref).collect();
        assert_eq!(lost, Vec::from_iter(expect), "{before:?} {after:?}");
        assert_eq!(found.harm.lost, u64::from(expect.is_some()));
    };
    let id = Some("event.externalId");
    check(&[("externalId", "w1")], &[("externalId", "xw1")], id);
    check(&[("externalId", "w1")], &[], id);
    check(&[("text", "hello")], &[], Some("event.text"));
    check(&[("text", "hello")], &[("text", "hi")], None);
    check(&[], &[("text", "hi")], None);
    check(&[("sender", "1")], &[("sender", "2")], Some("event.sender"));
    let state = Some("event.state");
    check(&[("state", "failed")], &[("state", "delivered")], state);
    check(
        &[("optOut", "true")],
        &[("optOut", "false")],
        Some("event.optOut"),
    );
    check(&[("name", "Ana")], &[], None);
}

#[test]
fn a_lost_a_gained_and_a_changed_field_are_counted_apart_with_masked_examples() {
    let before = converted([lead(
        Some("1"),
        &[("name", "Ana Lima"), ("phone", "+5511987654321")],
    )]);
    let after = converted([lead(
        Some("1"),
        &[("name", "Ana"), ("email", "ana@example.com")],
    )]);
    let found = tally(&before, &after);
    let fields = found.differences.fields.iter();
    let counts: Vec<_> = fields
        .map(|one| (one.field.as_str(), one.change, one.differences.count))
        .collect();
    let expected = [
        ("email", DifferenceKind::Gained, 1),
        ("name", DifferenceKind::Changed, 1),
        ("phone", DifferenceKind::Lost, 1),
    ];
    assert_eq!(counts, expected);
    assert_eq!(found.lost.get("phone").map(|lost| lost.count), Some(1));
    let all = &found.differences;
    assert_eq!([all.compared, all.same, all.leads], [1, 0, 1]);
    let shown = |name, change| example(field(&found, name, change));
    let phone = (Some("+***********21"), None);
    assert_eq!(shown("phone", DifferenceKind::Lost), phone);
    let name = (Some("A** L***"), Some("A**"));
    assert_eq!(shown("name", DifferenceKind::Changed), name);
    let email = (None, Some("a**@*******.***"));
    assert_eq!(shown("email", DifferenceKind::Gained), email);
}

#[test]
fn another_value_of_a_guarded_field_alters_the_lead_and_another_identity_loses_it() {
    for (field, altered, lost) in [
        ("name", 1, 0),
        ("phone", 1, 0),
        ("email", 1, 0),
        ("listing", 1, 0),
        ("externalId", 0, 1),
        ("action", 0, 1),
        ("message", 0, 0),
    ] {
        let of = |value| converted([lead(Some("1"), &[(field, value)])]);
        let found = tally(&of("one"), &of("two"));
        let harm = (found.harm.altered, found.harm.lost);
        assert_eq!(harm, (altered, lost), "{field}");
        let connection = found.connections.values().next().expect("its connection");
        assert_eq!(*connection, found.harm, "{field}");
        assert_eq!(found.harm.harm() > 0, field != "message", "{field}");
        let counted = found.altered.get(field).map(|group| group.count);
        assert_eq!(counted, (altered > 0).then_some(1), "{field}");
        assert_eq!(tally(&of("one"), &of("one")).harm.harm(), 0);
    }
}

#[test]
fn a_sum_is_read_as_it_was_written() {
    let of = |name| converted([lead(None, &[("name", name)])]);
    let mut sum = tally(&of("Ana"), &of("Bia"));
    let failed = VersionOutcome::Failed(Reason::Service("it trapped".to_owned()));
    let connection = ConnectionId::generate();
    let of_a_send = ComparedSubject {
        subject: Subject::Message(MessageId::new(Micros(0))),
        ..compared(&connection, OfBoth::default())
    };
    sum.merge(Tally::from_one(&of_a_send, &of("Ana"), &failed));
    let stored = serde_json::to_value(&sum).expect("it is JSON");
    let read: Tally = serde_json::from_value(stored).expect("it was written");
    assert_eq!(read, sum);
}

fn gained_tally(deliveries: &[(VersionOutcome, VersionOutcome)]) -> Tally {
    let connection = ConnectionId::generate();
    let (mut sum, mut gained) = (Tally::default(), GainedValues::default());
    for (before, after) in deliveries {
        let compared = compared(&connection, OfBoth::default());
        let one = ComparedOutcomes::compare(&compared, before, after);
        sum.merge(one.into_stored(&mut gained));
    }
    assert_eq!(sum.connections[&connection], sum.harm);
    sum
}

type Fields<'a> = Vec<(&'a str, &'a str)>;

/// Returns in how many of these deliveries the candidate alters a lead by what it gains. Each has the fields
/// of its lead by both versions.
fn altered_by_gains(deliveries: &[(Fields<'_>, Fields<'_>)]) -> u64 {
    let of = |fields: &Fields<'_>| converted([lead(None, fields)]);
    let deliveries = deliveries.iter();
    let deliveries: Vec<_> = deliveries
        .map(|(before, after)| (of(before), of(after)))
        .collect();
    gained_tally(&deliveries).harm.altered
}

fn phones(phones: &[&str]) -> VersionOutcome {
    let mut lead = lead(None, &[]);
    let phones = phones.iter().map(|&phone| phone.to_owned()).collect();
    let phones = FieldValue::Many(phones);
    lead.fields.insert("phone".to_owned(), phones);
    converted([lead])
}

#[test]
fn a_value_that_leads_of_three_people_gain_alters_them() {
    let check = |known: &str, field: &str, many: usize, expect: u64| {
        let of = ["Ana", "Bia", "Caio", "Davi", "Eva"].map(|own| [(known, own)]);
        let deliveries: Vec<_> = of[..many]
            .iter()
            .map(|before| (before.to_vec(), vec![before[0], (field, "the same")]))
            .collect();
        assert_eq!(altered_by_gains(&deliveries), expect, "{field} {many}");
    };
    for (known, field) in [
        ("name", "phone"),
        ("phone", "email"),
        ("email", "externalId"),
        ("email", "name"),
    ] {
        check(known, field, 2, 0);
        check(known, field, 3, 1);
        check(known, field, 5, 3);
    }
    // Many people ask for the same listing.
    check("name", "listing", 5, 0);
    // Nobody knows whose leads these are.
    check("message", "phone", 5, 0);
}

#[test]
fn a_phone_beside_the_own_one_of_each_lead_alters_them() {
    let deliveries = ["1", "2", "3", "4"].map(|own| (phones(&[own]), phones(&[own, "broker"])));
    let found = gained_tally(&deliveries);
    assert_eq!(found.harm.altered, 2);
    let shown = example(&found.altered["gained.phone"]);
    assert_eq!(shown, (None, Some("b*****")));
}

#[test]
fn a_phone_in_place_of_the_own_one_of_each_lead_is_shown_as_one_of_several_people() {
    let deliveries = ["1", "2", "3", "4"].map(|own| (phones(&[own]), phones(&["broker"])));
    let found = gained_tally(&deliveries);
    let shown = found.differences.fields.iter();
    let shown: Vec<_> = shown
        .map(|one| (one.field.as_str(), one.change, one.differences.count))
        .collect();
    let (changed, gained) = (DifferenceKind::Changed, DifferenceKind::Gained);
    assert_eq!(
        shown,
        [
            ("phone", changed, 4),
            ("phone of several people", gained, 2)
        ]
    );
    // The change itself is the harm.
    assert!(!found.altered.contains_key("gained.phone"));
}

#[test]
fn leads_of_one_person_own_values_and_names_that_some_share_alter_none() {
    let ana = vec![("name", "Ana")];
    let with_phone = vec![("name", "Ana"), ("phone", "1")];
    assert_eq!(altered_by_gains(&vec![(ana, with_phone.clone()); 9]), 0);
    // Both versions read the value in some of them.
    let both = vec![(with_phone.clone(), with_phone); 9];
    assert_eq!(altered_by_gains(&both), 0);
    // The third Ana is one of seven people whose names are read now.
    let names = ["Bia", "Ana", "Caio", "Ana", "Davi", "Eva", "Ana"];
    let people = ["a", "b", "c", "d", "e", "f", "g"].into_iter().zip(names);
    let people = people.map(|(email, name)| (("email", email), ("name", name)));
    let people: Vec<_> = people
        .map(|(email, name)| (vec![email], vec![email, name]))
        .collect();
    assert_eq!(altered_by_gains(&people), 0);
}

#[test]
fn leads_that_only_the_candidate_makes_are_altered_by_nothing() {
    let of = |name| converted([lead(None, &[("name", name), ("phone", "1")])]);
    let failed = || VersionOutcome::Failed(Reason::Plugin("no".to_owned()));
    let mended = ["Ana", "Bia", "Caio", "Davi"].map(|name| (failed(), of(name)));
    let found = gained_tally(&mended);
    let recovered = found.differences.no_longer_failing.count;
    assert_eq!((recovered, found.harm.altered), (4, 0));
}

#[test]
fn the_gained_values_that_are_remembered_are_bounded_and_those_of_several_people_stay() {
    let connection = ConnectionId::generate();
    let mut gained = GainedValues::default();
    let mut gains = |person: usize, phone: &str| {
        let name = person.to_string();
        let compared = compared(&connection, OfBoth::default());
        let of = |fields: &[_]| converted([lead(None, fields)]);
        let before = [("name", name.as_str())];
        let after = [("name", name.as_str()), ("phone", phone)];
        let one = ComparedOutcomes::compare(&compared, &of(&before), &of(&after));
        one.into_shown(&mut gained).harm.altered
    };
    assert_eq!((gains(0, "shared"), gains(1, "shared")), (0, 0));
    for person in 2..limits::VERIFY_GAINED * 2 {
        assert_eq!(gains(person, &format!("own {person}")), 0);
    }
    assert_eq!(gains(1, "shared") + gains(2, "shared"), 1);
    assert!(gained.0.len() <= limits::VERIFY_GAINED);
}

#[test]
fn a_missing_one_of_several_values_counts_as_lost_and_their_order_does_not_matter() {
    let two = phones(&["+5511987654321", "+5511912345678"]);
    let found = tally(&two, &phones(&["+5511912345678"]));
    assert_eq!(found.lost.get("phone").map(|lost| lost.count), Some(1));
    let phone = example(field(&found, "phone", DifferenceKind::Lost));
    assert_eq!(phone, (Some("+***********21"), None));
    let found = tally(&two, &phones(&["+5511912345678", "+5511987654321"]));
    assert_eq!(found.differences.same, 1);
    let found = tally(&two, &phones(&["+5511912345678", "+5511900000000"]));
    assert_eq!(field(&found, "phone", DifferenceKind::Changed).count, 1);
}

#[test]
fn leads_are_paired_by_their_external_id_and_the_others_by_their_order() {
    let one = |key, name| lead(key, &[("name", name)]);
    let before = converted([
        one(Some("1"), "Ana"),
        one(Some("2"), "Bia"),
        one(None, "Caio"),
    ]);
    let turned = converted([
        one(Some("2"), "Bia"),
        one(None, "Caio"),
        one(Some("1"), "Ana"),
    ]);
    assert!(tally(&before, &turned).differences.fields.is_empty());
    let without_keys = converted([one(None, "Ana"), one(None, "Bia"), one(None, "Caio")]);
    let found = tally(&before, &without_keys);
    assert!(found.differences.fields.is_empty() && found.differences.vanished.count == 0);
}

#[test]
fn leads_that_vanish_or_appear_and_deliveries_that_fail_or_recover_are_counted() {
    let two = converted([lead(Some("1"), &[]), lead(Some("2"), &[])]);
    let one = converted([lead(Some("1"), &[])]);
    assert_eq!(tally(&two, &one).differences.vanished.count, 1);
    assert_eq!(tally(&one, &two).differences.appeared.count, 1);
    let failed = VersionOutcome::Failed(Reason::Service("it trapped".to_owned()));
    assert_eq!(tally(&one, &failed).differences.newly_failing.count, 1);
    assert_eq!(tally(&failed, &one).differences.no_longer_failing.count, 1);
    let refused = VersionOutcome::Refused(Reason::Plugin("not JSON".to_owned()));
    let both = tally(&failed, &refused);
    let all = both.differences;
    assert_eq!((all.newly_failing.count, all.compared), (0, 1));
    assert_eq!(tally(&one, &one).differences.same, 1);
}

fn many_names() -> Vec<String> {
    let numbers = 0..limits::VERIFY_FIELDS + 50;
    numbers.map(|number| format!("a{number:04}")).collect()
}

#[test]
fn a_lost_phone_shows_beside_any_number_of_other_changes() {
    let names = many_names();
    let mut fields: Vec<(&str, &str)> = names.iter().map(|name| (name.as_str(), "x")).collect();
    fields.push(("phone", "+5511987654321"));
    let before = converted([lead(None, &fields)]);
    let after = converted([lead(None, &[])]);
    let found = tally(&before, &after);
    assert_eq!(found.lost.get("phone").map(|lost| lost.count), Some(1));
    assert!(!found.lost.contains_key("name"));
}

#[test]
fn the_number_of_counted_fields_is_bounded() {
    let many = |value: &str| {
        let names = many_names();
        let fields: Vec<(&str, &str)> = names.iter().map(|name| (name.as_str(), value)).collect();
        converted([lead(None, &fields)])
    };
    let found = tally(&many("x"), &many("y"));
    assert!(found.differences.fields.len() <= limits::VERIFY_FIELDS + 3);
    let other = field(&found, OTHER_FIELDS, DifferenceKind::Changed);
    assert_eq!(other.count, 50);
}
