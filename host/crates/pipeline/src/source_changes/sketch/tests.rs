use super::counts::Leads;
use super::paths::paths;
use super::*;
use leadhost_domain::plugin::Digest;

const USUAL_BODY: &str = r#"{"id": "1", "lead": {"phone": "x", "name": "y"}}"#;

/// Adds deliveries with one lead each. Returns how often there was a difference to report.
fn add(sketch: &mut Sketch, deliveries: u32, version: &str, body: &str, phone: bool) -> usize {
    let mut leads = Leads::default();
    leads.add([true, phone, false, true, false]);
    let paths = paths(body.as_bytes(), false);
    let one = SketchCounts::from_delivery(Micros(7), version, Some(paths), Some(leads));
    let reported = (0..deliveries).filter(|_| sketch.add(&one, Micros(7)));
    reported.count()
}

/// Adds one delivery with one lead that was received at this time.
fn add_at(sketch: &mut Sketch, at: i64, body: &str, phone: bool) {
    let mut leads = Leads::default();
    leads.add([true, phone, false, true, false]);
    let paths = paths(body.as_bytes(), false);
    let one = SketchCounts::from_delivery(Micros(at), "1", Some(paths), Some(leads));
    sketch.add(&one, Micros(at));
}

#[test]
fn each_change_says_about_when_it_began_and_keeps_that() {
    let mut sketch = usual();
    for at in 1_000..1_010 {
        add_at(&mut sketch, at, USUAL_BODY, true);
    }
    let without = r#"{"id": "1", "lead": {"name": "y"}}"#;
    for at in 2_000..2_070 {
        add_at(&mut sketch, at, without, false);
    }
    let change = sketch.change().expect("a change").clone();
    // The reported time is not later than the first changed delivery, and at most shortly
    // before it.
    assert!((1_000..=2_000).contains(&change.since.0), "{change:?}");
    assert_eq!(change.parts.len(), 1);
    let expect = [
        "leads with a phone: 100 % -> 0 %",
        "path lead.phone: in 100 % -> 0 % of the deliveries",
    ];
    assert_eq!(change.parts[0].differences, expect);
    let other = r#"{"id": 1, "lead": {"name": "y"}}"#;
    for at in 3_000..3_100 {
        add_at(&mut sketch, at, other, false);
    }
    let later = sketch.change().expect("a change").clone();
    assert_eq!(later.since, change.since);
    assert_eq!(later.parts.len(), 2, "{later:?}");
    assert!(later.parts[1].since.0 > 2_000 && later.parts[1].since.0 <= 3_000);
    assert_eq!(later.parts[1].differences, ["path id: string -> number"]);
}

fn usual() -> Sketch {
    let mut sketch = Sketch::default();
    assert_eq!(add(&mut sketch, 225, "1", USUAL_BODY, true), 0);
    sketch
}

#[test]
fn the_fields_of_leads_are_those_of_the_last_ones_and_of_a_change_since_then() {
    assert_eq!(Sketch::default().lead_fields(), None);
    let of = |leads, phone| LeadFields {
        leads,
        name: 100,
        phone,
        email: 0,
        external_id: 100,
        listing: 0,
    };
    let mut sketch = usual();
    assert_eq!(sketch.lead_fields(), Some(of(225, 100)));
    // These are too few to be a change.
    assert_eq!(add(&mut sketch, 25, "1", USUAL_BODY, false), 0);
    assert_eq!(sketch.lead_fields(), Some(of(250, 90)));
    assert_eq!(add(&mut sketch, 25, "1", USUAL_BODY, false), 1);
    assert_eq!(sketch.lead_fields(), Some(of(50, 0)));
}

#[track_caller]
fn check(sketch: &Sketch, what: &str, before: &str, after: &str) {
    let change = sketch.change().expect("a change");
    let texts = [&change.what, &change.before, &change.after];
    assert_eq!(texts, [what, before, after]);
    assert_eq!(change.since, Micros(7));
}

#[test]
fn a_path_that_disappears_is_reported_once_until_it_is_back() {
    let mut sketch = usual();
    let without = r#"{"id": "1", "lead": {"name": "y"}}"#;
    assert_eq!(add(&mut sketch, 49, "1", without, false), 0);
    assert_eq!(add(&mut sketch, 1, "1", without, false), 1);
    let what = "leads with a phone, path lead.phone: the source changed";
    check(&sketch, what, "100 %, 100 %", "0 %, 0 %");
    assert_eq!(add(&mut sketch, 100, "1", without, false), 0);
    check(&sketch, what, "100 %, 100 %", "0 %, 0 %");
    add(&mut sketch, 50, "1", USUAL_BODY, true);
    assert_eq!(sketch.change(), None);
    // The baseline is as it was.
    assert_eq!(add(&mut sketch, 75, "1", without, false), 1);
    check(&sketch, what, "100 %, 100 %", "0 %, 0 %");
}

#[test]
fn a_new_form_is_usual_after_a_thousand_deliveries() {
    let mut sketch = usual();
    let renamed = r#"{"id": 1, "contact": {"phone": "x", "name": "y"}}"#;
    assert_eq!(add(&mut sketch, 60, "1", renamed, true), 1);
    let what = "path lead, path id, path contact: the source changed";
    check(&sketch, what, "100 %, string, 0 %", "0 %, number, 100 %");
    assert_eq!(add(&mut sketch, 900, "1", renamed, true), 0);
    assert!(sketch.change().is_some());
    assert_eq!(add(&mut sketch, 200, "1", renamed, true), 0);
    assert_eq!(sketch.change(), None);
}

#[test]
fn a_version_is_named_if_the_bodies_are_as_before() {
    let mut sketch = usual();
    assert_eq!(add(&mut sketch, 75, "2", USUAL_BODY, false), 1);
    check(&sketch, "leads with a phone: new in 2", "100 %", "0 %");
    let mut sketch = usual();
    assert_eq!(add(&mut sketch, 75, "1", USUAL_BODY, false), 1);
    check(
        &sketch,
        "leads with a phone: the source changed",
        "100 %",
        "0 %",
    );
}

#[test]
fn a_changed_configuration_is_named_if_the_bodies_and_the_version_are_as_before() {
    let add = |sketch: &mut Sketch, deliveries, configuration, body: &str, phone| {
        let mut leads = Leads::default();
        leads.add([true, phone, false, true, false]);
        let paths = paths(body.as_bytes(), false);
        let one = SketchCounts::from_delivery(Micros(7), "1", Some(paths), Some(leads))
            .with_configuration(configuration);
        let reported = (0..deliveries).filter(|_| sketch.add(&one, Micros(7)));
        reported.count()
    };
    let mut sketch = Sketch::default();
    assert_eq!(add(&mut sketch, 225, 3, USUAL_BODY, true), 0);
    let mut other = sketch.clone();
    assert_eq!(add(&mut sketch, 75, 4, USUAL_BODY, false), 1);
    let what = "leads with a phone: since configuration 4";
    check(&sketch, what, "100 %", "0 %");
    let cause = sketch.change().map(|change| change.cause);
    assert_eq!(cause, Some(ChangeCause::Configuration));
    assert_eq!(sketch.fields_in_question(), None);
    // The bodies changed, too.
    let without = r#"{"id": "1", "lead": {"name": "y"}}"#;
    assert_eq!(add(&mut other, 75, 4, without, false), 1);
    let what = "leads with a phone, path lead.phone: the source changed";
    check(&other, what, "100 %, 100 %", "0 %, 0 %");
}

fn verdict(previous: Option<&str>, better: u32) -> TrialVerdict {
    TrialVerdict {
        version: "2".to_owned(),
        digest: Digest::compute(b"2"),
        previous: previous.map(str::to_owned),
        tried: 5,
        faults: 5,
        better,
    }
}

#[test]
fn a_trial_of_both_versions_names_the_cause() {
    let asked = || {
        let mut sketch = usual();
        assert_eq!(add(&mut sketch, 75, "2", USUAL_BODY, false), 1);
        assert_eq!(sketch.fields_in_question(), Some([PHONE].as_slice()));
        sketch
    };
    let subject = "leads with a phone";
    for (answer, by, cause) in [
        (
            Some(verdict(Some("1"), 4)),
            "new in 2: the previous version 1 reads more in 4 of 5 of them",
            ChangeCause::Version,
        ),
        (
            Some(verdict(Some("1"), 0)),
            "both versions read the same: the source changed",
            ChangeCause::Source,
        ),
        (
            Some(verdict(None, 0)),
            "there is no version before 2 to try",
            ChangeCause::Unknown,
        ),
        (None, "new in 2", ChangeCause::Version),
    ] {
        let mut sketch = asked();
        sketch.answer(answer.as_ref());
        let change = sketch.change().expect("it has changed");
        assert_eq!(change.what, format!("{subject}: {by}"));
        assert_eq!(change.cause, cause);
        assert_eq!(change.digest, answer.map(|answer| answer.digest));
        assert_eq!(sketch.fields_in_question(), None);
    }
    // The same version: nothing to ask.
    let mut sketch = usual();
    add(&mut sketch, 75, "1", USUAL_BODY, false);
    assert_eq!(sketch.fields_in_question(), None);
}

#[test]
fn each_version_that_converts_while_the_source_is_blamed_is_tried_once() {
    let mut sketch = usual();
    assert_eq!(add(&mut sketch, 75, "1", USUAL_BODY, false), 1);
    assert_eq!(
        sketch.change().map(|change| change.cause),
        Some(ChangeCause::Source)
    );
    assert_eq!(sketch.fields_in_question(), None);
    for (version, before, better, cause) in [
        ("2", "1", 0, ChangeCause::Source),
        ("3", "2", 4, ChangeCause::Version),
    ] {
        assert_eq!(
            add(&mut sketch, 75, version, USUAL_BODY, false),
            1,
            "{version}"
        );
        assert_eq!(sketch.fields_in_question(), Some([PHONE].as_slice()));
        assert_eq!(sketch.version_before(), before);
        sketch.answer(Some(&verdict(Some(before), better)));
        assert_eq!(sketch.change().map(|change| change.cause), Some(cause));
    }
    // A version is at fault: it is known which one.
    assert_eq!(add(&mut sketch, 75, "4", USUAL_BODY, false), 0);
    assert_eq!(sketch.fields_in_question(), None);
}

#[test]
fn a_version_by_which_nothing_is_converted_any_more_is_not_blamed_for_what_leads_still_lack() {
    for (version, cause, by) in [
        ("1", ChangeCause::Source, "the source changed"),
        ("3", ChangeCause::Version, "3 reads no more"),
    ] {
        let mut sketch = usual();
        assert_eq!(add(&mut sketch, 75, "2", USUAL_BODY, false), 1);
        sketch.answer(Some(&verdict(Some("1"), 4)));
        let digest = |sketch: &Sketch| sketch.change().expect("a change").digest.clone();
        assert!(digest(&sketch).is_some());
        // The window still has its leads.
        add(&mut sketch, 25, version, USUAL_BODY, false);
        assert!(digest(&sketch).is_some());
        add(&mut sketch, 25, version, USUAL_BODY, false);
        let what = format!("leads with a phone: {by}");
        check(&sketch, &what, "100 %", "0 %");
        assert_eq!(digest(&sketch), None);
        assert_eq!(sketch.change().map(|change| change.cause), Some(cause));
    }
}

#[test]
fn only_what_a_blamed_version_converted_is_left_of_its_change() {
    let mut sketch = usual();
    add(&mut sketch, 75, "2", USUAL_BODY, false);
    let verdict = verdict(Some("1"), 4);
    sketch.answer(Some(&verdict));
    add(&mut sketch, 75, "1", USUAL_BODY, true);
    assert_eq!(sketch.change(), None);
    let blamed = sketch.ended.iter().map(|ended| ended.digest.clone());
    assert!(blamed.eq([Some(verdict.digest)]), "{:?}", sketch.ended);
}

#[test]
fn a_half_of_several_versions_is_in_question_whichever_converted_last() {
    for last in ["1", "2"] {
        let mut sketch = usual();
        let mut reported = 0;
        while reported == 0 {
            reported += add(&mut sketch, 1, "2", USUAL_BODY, false);
            reported += add(&mut sketch, 1, last, USUAL_BODY, false);
        }
        assert_eq!(
            sketch.fields_in_question(),
            Some([PHONE].as_slice()),
            "{last}"
        );
    }
}

#[test]
fn failures_are_shown_before_a_change_and_refusals_of_both_versions_are_not() {
    let new = verdict(Some("1"), 5).failing_deliveries(7, 20, Micros(7));
    let new = new.expect("a report");
    let what = "failing deliveries: new in 2: the previous version 1 converts 5 of 5 of them";
    assert_eq!(
        (&*new.change.what, new.change.cause),
        (what, ChangeCause::Version)
    );
    assert_eq!(new.change.after, "7 of the last 20 fail");
    assert_eq!(new.change.digest, Some(Digest::compute(b"2")));
    let both = verdict(Some("1"), 0).failing_deliveries(7, 20, Micros(7));
    let what = "failing deliveries: both versions fail: the source changed";
    assert_eq!(both.expect("a report").change.what, what);
    let refused = TrialVerdict {
        faults: 0,
        ..verdict(Some("1"), 0)
    };
    assert_eq!(refused.failing_deliveries(7, 20, Micros(7)), None);
    let mut sketch = usual();
    add(&mut sketch, 75, "1", USUAL_BODY, false);
    sketch.set_failing(Some(new));
    assert!(sketch.change().is_some_and(|change| change.failing));
    sketch.set_failing(None);
    assert!(sketch.change().is_some_and(|change| !change.failing));
}

#[test]
fn a_further_fall_of_a_share_is_reported_while_a_change_is_open() {
    let mut sketch = usual();
    let mut reported = 0;
    for _ in 0..50 {
        reported += add(&mut sketch, 1, "1", USUAL_BODY, true);
        reported += add(&mut sketch, 1, "1", USUAL_BODY, false);
    }
    assert_eq!(reported, 1);
    let what = sketch.change().map(|change| change.what.clone());
    assert_eq!(
        what.as_deref(),
        Some("leads with a phone: the source changed")
    );
    // Another version converts: it is to be tried, before its share has fallen far enough for a report.
    assert_eq!(add(&mut sketch, 25, "2", USUAL_BODY, false), 1);
    assert_eq!(sketch.fields_in_question(), Some([PHONE].as_slice()));
    assert_eq!(add(&mut sketch, 75, "2", USUAL_BODY, false), 1);
    check(&sketch, "leads with a phone: new in 2", "100 %", "0 %");
    assert_eq!(add(&mut sketch, 100, "2", USUAL_BODY, false), 0);
}

/// The usual body after its source has renamed a field.
const RENAMED_BODY: &str = r#"{"id": "1", "lead": {"telephone": "x", "name": "y"}}"#;

#[test]
fn a_change_ends_when_leads_have_their_fields_again_although_the_bodies_differ() {
    let mut sketch = usual();
    assert_eq!(add(&mut sketch, 75, "1", RENAMED_BODY, false), 1);
    let what = "leads with a phone, path lead.phone, path lead.telephone: the source changed";
    check(&sketch, what, "100 %, 100 %, 0 %", "0 %, 0 %, 100 %");
    // The new name is read now.
    assert_eq!(add(&mut sketch, 25, "1", RENAMED_BODY, true), 0);
    assert!(sketch.change().is_some(), "half a window");
    assert_eq!(add(&mut sketch, 50, "1", RENAMED_BODY, true), 0);
    assert_eq!(sketch.change(), None);
    assert_eq!(sketch.lead_fields().map(|fields| fields.phone), Some(100));
    assert_eq!(add(&mut sketch, 200, "1", RENAMED_BODY, true), 0);
    assert_eq!(sketch.change(), None);
    // It is no longer read: a change again.
    assert_eq!(add(&mut sketch, 75, "1", RENAMED_BODY, false), 1);
    check(&sketch, what, "100 %, 100 %, 0 %", "0 %, 0 %, 100 %");
    assert_eq!(add(&mut sketch, 75, "1", RENAMED_BODY, true), 0);
    assert_eq!(sketch.change(), None);
    // The new form is the usual one.
    assert_eq!(add(&mut sketch, 1_100, "1", RENAMED_BODY, true), 0);
    assert_eq!(add(&mut sketch, 75, "1", USUAL_BODY, true), 1);
    let what = "path lead.telephone, path lead.phone: the source changed";
    check(&sketch, what, "100 %, 0 %", "0 %, 100 %");
}

#[test]
fn a_share_between_a_fall_and_the_former_one_neither_ends_a_change_nor_reports_it_again() {
    let mut sketch = usual();
    assert_eq!(add(&mut sketch, 75, "1", USUAL_BODY, false), 1);
    for _ in 0..50 {
        assert_eq!(add(&mut sketch, 3, "1", USUAL_BODY, true), 0);
        assert_eq!(add(&mut sketch, 1, "1", USUAL_BODY, false), 0);
    }
    assert!(sketch.change().is_some());
    assert_eq!(add(&mut sketch, 75, "1", USUAL_BODY, true), 0);
    assert_eq!(sketch.change(), None);
    for _ in 0..50 {
        assert_eq!(add(&mut sketch, 3, "1", USUAL_BODY, true), 0);
        assert_eq!(add(&mut sketch, 1, "1", USUAL_BODY, false), 0);
    }
    assert_eq!(sketch.change(), None);
}

#[test]
fn a_lost_path_that_is_in_few_deliveries_again_is_not_reported_again() {
    let mut sketch = usual();
    let without = r#"{"id": "1", "lead": {"name": "y"}}"#;
    assert_eq!(add(&mut sketch, 75, "1", without, true), 1);
    for _ in 0..8 {
        assert_eq!(add(&mut sketch, 1, "1", USUAL_BODY, true), 0);
        assert_eq!(add(&mut sketch, 74, "1", without, true), 0);
    }
    let what = "path lead.phone: the source changed";
    check(&sketch, what, "100 %", "0 %");
}

#[test]
fn a_difference_that_is_over_leaves_the_change() {
    let add = |sketch: &mut Sketch, deliveries, name, phone| {
        let mut leads = Leads::default();
        leads.add([name, phone, false, true, false]);
        let paths = paths(USUAL_BODY.as_bytes(), false);
        let one = SketchCounts::from_delivery(Micros(7), "1", Some(paths), Some(leads));
        let reported = (0..deliveries).filter(|_| sketch.add(&one, Micros(7)));
        reported.count()
    };
    let mut sketch = usual();
    assert_eq!(add(&mut sketch, 75, false, false), 1);
    let what = "leads with a name, leads with a phone: the source changed";
    check(&sketch, what, "100 %, 100 %", "0 %, 0 %");
    assert_eq!(add(&mut sketch, 75, false, true), 0);
    let what = "leads with a name: the source changed";
    check(&sketch, what, "100 %", "0 %");
    let change = sketch.change().expect("a change");
    assert_eq!(
        change.parts[0].differences,
        ["leads with a name: 100 % -> 0 %"]
    );
    assert_eq!(add(&mut sketch, 75, true, true), 0);
    assert_eq!(sketch.change(), None);
}

#[test]
fn few_deliveries_and_rare_paths_are_not_reported() {
    let mut sketch = Sketch::default();
    add(&mut sketch, 150, "1", USUAL_BODY, true);
    assert_eq!(add(&mut sketch, 60, "1", "{}", false), 0);
    let mut sketch = usual();
    for _ in 0..30 {
        assert_eq!(
            add(&mut sketch, 3, "1", r#"{"id": "1", "lead": {}}"#, true),
            0
        );
        assert_eq!(add(&mut sketch, 1, "1", USUAL_BODY, true), 0);
    }
}

/// Adds deliveries of which every fifth has no phone.
fn add_mixed(sketch: &mut Sketch, deliveries: u32) {
    let without = r#"{"id": "1", "lead": {"name": "y"}}"#;
    for number in 0..deliveries {
        match number % 5 {
            0 => add(sketch, 1, "1", without, false),
            _ => add(sketch, 1, "1", USUAL_BODY, true),
        };
    }
}

#[test]
fn a_path_that_vanishes_with_a_field_of_leads_is_named_whatever_its_share_was() {
    let without = r#"{"id": "1", "lead": {"name": "y"}}"#;
    let mut sketch = Sketch::default();
    add_mixed(&mut sketch, 225);
    // Alone it may be absent by chance.
    let mut alone = sketch.clone();
    assert_eq!(add(&mut alone, 75, "1", without, true), 0);
    assert_eq!(add(&mut sketch, 75, "1", without, false), 1);
    let what = "leads with a phone, path lead.phone: the source changed";
    check(&sketch, what, "80 %, 80 %", "0 %, 0 %");
    // It is no news of its own, and ends with the field.
    assert_eq!(add(&mut sketch, 100, "1", without, false), 0);
    add_mixed(&mut sketch, 75);
    assert_eq!(sketch.change(), None);
    assert_eq!(add(&mut sketch, 75, "1", without, false), 1);
    check(&sketch, what, "80 %, 80 %", "0 %, 0 %");
}

#[test]
fn a_rare_path_is_missed_if_a_handful_had_it_and_is_shown_as_a_count_below_a_percent() {
    let rare = r#"{"id": "1", "lead": {"phone": "x", "name": "y"}, "note": "z"}"#;
    let phone = "leads with a phone: 100 % -> 0 %";
    let note = "path note: in 5 of 1225 -> 0 % of the deliveries";
    for (seen, expect) in [(1, &[phone][..]), (4, &[phone]), (5, &[phone, note])] {
        let mut sketch = Sketch::default();
        add(&mut sketch, seen, "1", rare, true);
        add(&mut sketch, 1_250 - seen, "1", USUAL_BODY, true);
        assert_eq!(add(&mut sketch, 75, "2", USUAL_BODY, false), 1);
        let change = sketch.change().expect("a change");
        let parts = change.parts.iter().flat_map(|part| &part.differences);
        assert!(parts.eq(expect), "{seen}: {change:?}");
    }
}

#[test]
fn a_rare_path_that_is_absent_by_chance_does_not_blame_the_source() {
    let mut sketch = Sketch::default();
    for _ in 0..25 {
        add(&mut sketch, 9, "1", USUAL_BODY, true);
        let rare = r#"{"id": "1", "lead": {"phone": "x", "name": "y"}, "note": "z"}"#;
        add(&mut sketch, 1, "1", rare, true);
    }
    assert_eq!(add(&mut sketch, 75, "2", USUAL_BODY, false), 1);
    check(
        &sketch,
        "leads with a phone, path note: new in 2",
        "100 %, 10 %",
        "0 %, 0 %",
    );
}

#[test]
fn a_change_of_leads_that_is_over_is_remembered_with_its_time() {
    let without = r#"{"id": "1", "lead": {"name": "y"}}"#;
    let send = |sketch: &mut Sketch, from: i64, to: i64, is_usual: bool| {
        for at in from..to {
            let body = if is_usual { USUAL_BODY } else { without };
            add_at(sketch, at, body, is_usual);
        }
    };
    let mut sketch = Sketch::default();
    send(&mut sketch, 0, 230, true);
    send(&mut sketch, 1_000, 1_070, false);
    assert_eq!(sketch.ended, []);
    send(&mut sketch, 2_000, 2_080, true);
    assert_eq!(sketch.change(), None);
    let [ended] = &sketch.ended[..] else {
        panic!("{:?}", sketch.ended);
    };
    assert!(
        ended.since.0 <= 1_000 && (1_069..2_080).contains(&ended.until.0),
        "{ended:?}"
    );
    assert_eq!(ended.fields, [false, false, true, false, false, false]);
    assert_eq!(ended.differences, ["leads with a phone: 100 % -> 0 %"]);
    // Of too many, the oldest become one.
    for round in 2..=i64::try_from(limits::ENDED_CHANGES).unwrap_or_default() + 2 {
        send(&mut sketch, round * 10_000, round * 10_000 + 80, false);
        send(
            &mut sketch,
            round * 10_000 + 1_000,
            round * 10_000 + 1_080,
            true,
        );
    }
    assert_eq!(sketch.ended.len(), limits::ENDED_CHANGES);
    assert!(sketch.ended[0].since.0 <= 1_000 && sketch.ended[0].until.0 > 20_000);
}
