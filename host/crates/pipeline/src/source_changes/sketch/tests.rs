use super::*;
use leadhost_domain::plugin::Digest;

const USUAL_BODY: &str = r#"{"id": "1", "phone": "x", "name": "y"}"#;
const WITHOUT: &str = r#"{"id": "1", "name": "y"}"#;
/// The usual body after its source has renamed a field.
const RENAMED: &str = r#"{"id": "1", "telephone": "x", "name": "y"}"#;

const PHONE: usize = 2;
const PHONE_FELL: &str = "leads with a phone: 100 % -> 0 %";

/// A delivery with one lead.
#[derive(Clone, Copy)]
struct One<'a> {
    at: i64,
    version: &'a str,
    configuration: i64,
    body: &'a str,
    /// Whether the lead has a name and a phone.
    has: [bool; 2],
    email: bool,
}

const USUAL: One<'_> = One {
    at: 7,
    version: "1",
    configuration: 3,
    body: USUAL_BODY,
    has: [true, true],
    email: false,
};

impl One<'_> {
    /// Adds it this often. Returns what there was to report.
    fn add(self, sketch: &mut Sketch, times: usize) -> Vec<News> {
        let mut one = Counts {
            deliveries: 1,
            converted: 1,
            version: self.version.to_owned(),
            configuration: self.configuration,
            first_at: Some(Micros(self.at)),
            ..Counts::default()
        };
        one.add_lead([self.has[0], self.has[1], self.email, true, false]);
        one.read(self.body.as_bytes(), false);
        let news = (0..times).filter_map(|_| sketch.add(&one, Micros(self.at)));
        news.collect()
    }
}

/// Adds deliveries of a version with this body. Returns how often there was a difference to report.
fn add(sketch: &mut Sketch, times: usize, version: &str, body: &str, phone: bool) -> usize {
    let has = [true, phone];
    let one = One {
        version,
        body,
        has,
        ..USUAL
    };
    one.add(sketch, times).len()
}

fn usual() -> Sketch {
    let mut sketch = Sketch::default();
    assert_eq!(USUAL.add(&mut sketch, 225), []);
    sketch
}

#[track_caller]
fn check(sketch: &Sketch, what: &str, before: &str, after: &str) {
    let change = sketch.change.as_ref().expect("a change");
    let texts = [&change.what, &change.before, &change.after];
    assert_eq!(texts, [what, before, after]);
    assert_eq!(change.since, Micros(7));
}

#[track_caller]
fn check_one(sketch: &Sketch, what: &str) {
    check(sketch, what, "100 %", "0 %");
}

#[test]
fn each_change_says_about_when_it_began_and_keeps_that() {
    let mut sketch = usual();
    let mut send = |from: i64, times: i64, body, has| {
        for at in from..from + times {
            let one = One {
                at,
                body,
                has,
                ..USUAL
            };
            one.add(&mut sketch, 1);
        }
        sketch.change.clone()
    };
    send(1_000, 10, USUAL_BODY, [true, true]);
    let change = send(2_000, 70, WITHOUT, [true, false]).expect("a change");
    // Not later than the first changed delivery, and at most shortly before it.
    assert!((1_000..=2_000).contains(&change.since.0), "{change:?}");
    let path = "path phone: in 100 % -> 0 % of the deliveries";
    assert_eq!(change.parts.len(), 1);
    assert_eq!(change.parts[0].differences, [PHONE_FELL, path]);
    let later = send(3_000, 100, WITHOUT, [false, false]).expect("a change");
    assert_eq!(later.since, change.since);
    assert_eq!(later.parts.len(), 2, "{later:?}");
    assert!(later.parts[1].since.0 > 2_000 && later.parts[1].since.0 <= 3_000);
    let name = "leads with a name: 100 % -> 0 %";
    assert_eq!(later.parts[1].differences, [name]);
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

#[test]
fn a_difference_is_reported_once_until_the_deliveries_are_as_before() {
    let mut sketch = usual();
    let what = "leads with a phone, path phone: the source changed";
    assert_eq!(add(&mut sketch, 49, "1", WITHOUT, false), 0);
    for times in [1, 75] {
        assert_eq!(add(&mut sketch, times, "1", WITHOUT, false), 1);
        check(&sketch, what, "100 %, 100 %", "0 %, 0 %");
        assert_eq!(add(&mut sketch, 100, "1", WITHOUT, false), 0);
        // Between a fall and the former share.
        for _ in 0..25 {
            assert_eq!(add(&mut sketch, 3, "1", USUAL_BODY, true), 0);
            assert_eq!(add(&mut sketch, 1, "1", WITHOUT, false), 0);
        }
        check(&sketch, what, "100 %, 100 %", "0 %, 0 %");
        // The baseline is as it was.
        assert_eq!(add(&mut sketch, 75, "1", USUAL_BODY, true), 0);
        assert_eq!(sketch.change, None);
    }
    // A path that few deliveries have again is not reported again.
    assert_eq!(add(&mut sketch, 75, "1", WITHOUT, true), 1);
    for _ in 0..8 {
        assert_eq!(add(&mut sketch, 1, "1", USUAL_BODY, true), 0);
        assert_eq!(add(&mut sketch, 74, "1", WITHOUT, true), 0);
    }
    check_one(&sketch, "path phone: the source changed");
}

#[test]
fn a_new_form_is_usual_after_a_thousand_deliveries() {
    let mut sketch = usual();
    assert_eq!(add(&mut sketch, 960, "1", RENAMED, false), 1);
    assert!(sketch.change.is_some());
    assert_eq!(add(&mut sketch, 200, "1", RENAMED, false), 0);
    assert_eq!(sketch.change, None);
    assert_eq!(sketch.ended[0].differences, [PHONE_FELL]);
    assert_eq!(add(&mut sketch, 75, "1", USUAL_BODY, true), 1);
    check_one(&sketch, "path telephone: the source changed");
}

#[test]
fn a_change_ends_when_leads_have_their_fields_again_although_the_bodies_differ() {
    let mut sketch = usual();
    let what = "leads with a phone, path phone: the source changed";
    assert_eq!(add(&mut sketch, 75, "1", RENAMED, false), 1);
    check(&sketch, what, "100 %, 100 %", "0 %, 0 %");
    // The new name is read now.
    assert_eq!(add(&mut sketch, 25, "1", RENAMED, true), 0);
    assert!(sketch.change.is_some(), "half a window");
    assert_eq!(add(&mut sketch, 250, "1", RENAMED, true), 0);
    assert_eq!(sketch.change, None);
    assert_eq!(sketch.lead_fields().map(|fields| fields.phone), Some(100));
    // It is no longer read: a change again.
    assert_eq!(add(&mut sketch, 75, "1", RENAMED, false), 1);
    check_one(&sketch, "leads with a phone: the source changed");
    assert_eq!(add(&mut sketch, 75, "1", RENAMED, true), 0);
    // The new form is the usual one.
    assert_eq!(add(&mut sketch, 75, "1", USUAL_BODY, true), 1);
    check_one(&sketch, "path telephone: the source changed");
}

#[test]
fn a_difference_that_is_over_leaves_the_change() {
    let mut sketch = usual();
    let mut add = |has: [bool; 2], times| One { has, ..USUAL }.add(&mut sketch, times).len();
    assert_eq!(add([false, false], 75), 1);
    assert_eq!(add([false, true], 75), 0);
    check_one(&sketch, "leads with a name: the source changed");
    let parts = &sketch.change.as_ref().expect("a change").parts;
    assert_eq!(parts[0].differences, ["leads with a name: 100 % -> 0 %"]);
    assert_eq!(USUAL.add(&mut sketch, 75), []);
    assert_eq!(sketch.change, None);
}

#[test]
fn few_deliveries_and_rare_paths_are_not_reported() {
    let mut sketch = Sketch::default();
    add(&mut sketch, 150, "1", USUAL_BODY, true);
    for _ in 0..30 {
        assert_eq!(add(&mut sketch, 3, "1", "{}", false), 0);
        assert_eq!(add(&mut sketch, 1, "1", "{}", true), 0);
    }
    let mut sketch = Sketch::default();
    add(&mut sketch, 25, "1", USUAL_BODY, true);
    assert_eq!(add(&mut sketch, 75, "1", WITHOUT, false), 0);
    let mut sketch = usual();
    for _ in 0..30 {
        assert_eq!(add(&mut sketch, 3, "1", WITHOUT, true), 0);
        assert_eq!(add(&mut sketch, 1, "1", USUAL_BODY, true), 0);
    }
    // By now fewer than nine in ten have it.
    assert_eq!(add(&mut sketch, 100, "1", WITHOUT, true), 0);
}

/// One lead in four has a phone, one an address, and two both.
#[test]
fn leads_that_reach_nobody_are_reported_although_neither_phones_nor_addresses_fall_far() {
    let mut sketch = Sketch::default();
    let mut add = |phone, email| {
        let one = One {
            has: [true, phone],
            email,
            ..USUAL
        };
        one.add(&mut sketch, 1).len()
    };
    let kinds = [(true, true), (true, false), (false, true), (true, true)];
    for _ in 0..100 {
        assert_eq!(kinds.map(|(phone, email)| add(phone, email)), [0; 4]);
    }
    // Those with only one of both have none.
    let kinds = [(true, true), (false, false), (false, false), (true, true)];
    let news: usize = (0..20)
        .flat_map(|_| kinds.map(|(phone, email)| add(phone, email)))
        .sum();
    assert_eq!(news, 1);
    let change = sketch.change.as_ref().expect("a change");
    assert_eq!(change.what, format!("{REACHABLE}: the source changed"));
}

#[test]
fn a_young_source_that_loses_all_phones_is_reported() {
    for usual in [30, 60, 100, 150] {
        let mut sketch = Sketch::default();
        assert_eq!(add(&mut sketch, usual, "1", USUAL_BODY, true), 0);
        assert_eq!(add(&mut sketch, 100, "1", WITHOUT, false), 1, "{usual}");
        let change = sketch.change.as_ref().expect("a change");
        assert!(change.what.starts_with("leads with a phone"), "{change:?}");
    }
}

#[test]
fn a_version_or_a_configuration_is_named_if_the_bodies_are_as_before() {
    for (version, configuration, body, expect, cause) in [
        ("2", 3, USUAL_BODY, "new in 2", ChangeCause::Version),
        (
            "1",
            3,
            USUAL_BODY,
            "the source changed",
            ChangeCause::Source,
        ),
        (
            "1",
            4,
            USUAL_BODY,
            "since configuration 4",
            ChangeCause::Configuration,
        ),
        ("1", 4, WITHOUT, "the source changed", ChangeCause::Source),
        ("2", 3, WITHOUT, "the source changed", ChangeCause::Source),
    ] {
        let mut sketch = usual();
        let one = One {
            version,
            configuration,
            body,
            has: [true, false],
            ..USUAL
        };
        let news = one.add(&mut sketch, 75);
        // A version that converted before is not tried.
        let fields = if version == "1" { vec![] } else { vec![PHONE] };
        let before = "1".to_owned();
        assert_eq!(news, [News { fields, before }]);
        let change = sketch.change.as_ref().expect("a change");
        assert!(change.what.ends_with(&format!(": {expect}")), "{change:?}");
        assert_eq!(change.cause, cause);
    }
    for last in ["1", "2"] {
        let (mut sketch, mut news) = (usual(), Vec::new());
        while news.is_empty() {
            for version in ["2", last] {
                let has = [true, false];
                let one = One {
                    version,
                    has,
                    ..USUAL
                };
                news.extend(one.add(&mut sketch, 1));
            }
        }
        assert_eq!(news[0].fields, [PHONE], "{last}");
    }
}

fn verdict(version: &str, previous: Option<&str>, better: u32) -> TrialVerdict {
    TrialVerdict {
        version: version.to_owned(),
        digest: Digest::compute(version.as_bytes()),
        previous: previous.map(str::to_owned),
        tried: 5,
        faults: 5,
        better,
    }
}

#[test]
fn each_version_that_converts_while_leads_lack_a_field_is_tried_once() {
    let mut sketch = usual();
    assert_eq!(add(&mut sketch, 75, "1", USUAL_BODY, false), 1);
    for (version, before, better) in [("2", "1", 0), ("3", "2", 4), ("4", "3", 0), ("1", "4", 0)] {
        let has = [true, false];
        let one = One {
            version,
            has,
            ..USUAL
        };
        let news = one.add(&mut sketch, 25);
        let change = sketch.change.as_ref().expect("a change");
        assert_eq!(change.digest, None, "the one before is no longer to blame");
        let expect = match version {
            // It read the field before.
            "1" => (vec![], ChangeCause::Source),
            _ => (vec![PHONE], ChangeCause::Unknown),
        };
        assert_eq!((news[0].fields.clone(), change.cause), expect);
        assert_eq!(news[0].before, before);
        sketch.blame(&verdict(version, Some(before), better));
        assert_eq!(one.add(&mut sketch, 75), []);
    }
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
    assert_eq!(add(&mut sketch, 75, "1", USUAL_BODY, false), 1);
    check_one(&sketch, "leads with a phone: the source changed");
    assert_eq!(add(&mut sketch, 100, "1", USUAL_BODY, false), 0);
}

#[test]
fn failures_are_shown_before_a_change_and_refusals_of_both_versions_are_not() {
    let failing = |verdict: TrialVerdict| verdict.failing((7, 20), Micros(7));
    let new = failing(verdict("2", Some("1"), 5)).expect("a report");
    let what = "failing deliveries: new in 2: the previous version 1 converts 5 of 5 of them";
    assert_eq!((&*new.what, new.cause), (what, ChangeCause::Version));
    assert_eq!(new.after, "7 of the last 20 fail");
    assert_eq!(new.digest, Some(Digest::compute(b"2")));
    let both = failing(verdict("2", Some("1"), 0)).expect("a report");
    let what = "failing deliveries: both versions fail: the source changed";
    assert_eq!(both.what, what);
    let refused = TrialVerdict {
        faults: 0,
        ..verdict("2", Some("1"), 0)
    };
    assert_eq!(failing(refused), None);
    let mut sketch = usual();
    add(&mut sketch, 75, "1", USUAL_BODY, false);
    sketch.fails = Some(new);
    assert!(sketch.shown().is_some_and(|change| change.failing));
    sketch.fails = None;
    assert!(sketch.shown().is_some_and(|change| !change.failing));
}

#[test]
fn a_change_of_leads_that_is_over_is_remembered_with_its_time_and_the_version_to_blame() {
    let send = |sketch: &mut Sketch, from: i64, phone: bool| {
        for at in from..from + 80 {
            let has = [true, phone];
            let version = if phone { "1" } else { "2" };
            let one = One {
                at,
                version,
                has,
                ..USUAL
            };
            one.add(sketch, 1);
        }
    };
    let mut sketch = Sketch::default();
    (0..3).for_each(|_| send(&mut sketch, 0, true));
    send(&mut sketch, 1_000, false);
    sketch.blame(&verdict("2", Some("1"), 5));
    assert_eq!(sketch.ended, []);
    send(&mut sketch, 2_000, true);
    assert_eq!(sketch.change, None);
    let [ended] = &sketch.ended[..] else {
        panic!("{:?}", sketch.ended);
    };
    let (since, until) = (ended.since.0, ended.until.0);
    assert!(
        since <= 1_000 && (1_079..2_080).contains(&until),
        "{ended:?}"
    );
    assert_eq!(
        ended.fields,
        [false, false, true, false, false, false, false]
    );
    assert_eq!(ended.differences, [PHONE_FELL]);
    assert_eq!(ended.digest, Some(Digest::compute(b"2")));
    // Of too many, the oldest become one.
    for round in 2..=i64::try_from(limits::ENDED_CHANGES).unwrap_or_default() + 2 {
        send(&mut sketch, round * 10_000, false);
        send(&mut sketch, round * 10_000 + 1_000, true);
    }
    assert_eq!(sketch.ended.len(), limits::ENDED_CHANGES);
    assert!(sketch.ended[0].since.0 <= 1_000 && sketch.ended[0].until.0 > 20_000);
}

#[test]
fn a_trial_of_both_versions_names_the_cause() {
    let better = "new in 2: the previous version 1 reads more in 4 of 5 of them";
    let same = "both versions read the same: the source changed";
    let none = "there is no version before 2 to try";
    for (previous, number, by, cause) in [
        (Some("1"), 4, better, ChangeCause::Version),
        (Some("1"), 0, same, ChangeCause::Source),
        (None, 0, none, ChangeCause::Unknown),
    ] {
        let mut sketch = usual();
        assert_eq!(add(&mut sketch, 75, "2", USUAL_BODY, false), 1);
        sketch.blame(&verdict("2", previous, number));
        check_one(&sketch, &format!("leads with a phone: {by}"));
        let change = sketch.change.as_ref().expect("a change");
        assert_eq!(
            (change.cause, &change.digest),
            (cause, &Some(Digest::compute(b"2")))
        );
    }
}
