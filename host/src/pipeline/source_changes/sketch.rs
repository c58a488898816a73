//! The shape of a connection's deliveries, and whether it has changed: the paths of their bodies
//! with the types, and the fields of the leads that were made of them. No IO, no clock. Values are
//! never kept.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::mem;

use serde::de::{DeserializeSeed, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, Serialize};

use crate::domain::connection::{ChangeCause, LeadFields, SourceChange, SourceChangePart};
use crate::domain::plugin::Digest;
use crate::domain::text;
use crate::domain::time::Micros;
use crate::limits;

/// The deliveries of the baseline that precede the first report of a difference.
const BASELINE: u32 = 200;

/// Deliveries past which the counts of the baseline are halved, so that it follows slow changes.
const BASELINE_MOST: u32 = 2_000;

/// Deliveries of half a window. A window is looked at when a half is full.
const HALF: u32 = 25;

/// The percentage of deliveries from which a path is usual.
const USUAL: u64 = 90;

/// The percentage points by which the share of a field has to fall.
const FALL: u64 = 30;

/// The percentage points below the former share at which a field that fell counts as back. They are
/// fewer than the points of a fall, so that a share between the two bounds neither begins nor ends a
/// change.
const BACK: u64 = FALL / 2;

/// The percentage of deliveries that ends the change of a path: a lost one is in as many again, a new one
/// in fewer. It is far from that of a change, none or `USUAL`.
const PATH_BACK: u64 = 50;

/// Deliveries in a new form after which it is the usual one.
const ADOPTED: u32 = 1_000;

/// Differences that a change names.
const REPORTED: usize = 6;

/// Differences that are remembered, so that each is reported once.
const REMEMBERED: usize = 50;

const KINDS: [&str; ANY] = ["string", "number", "bool", "null", "object", "array"];
const STRING: usize = 0;
const NUMBER: usize = 1;
const BOOL: usize = 2;
const NULL: usize = 3;
const OBJECT: usize = 4;
const ARRAY: usize = 5;
/// The index of the count of any type.
const ANY: usize = 6;

/// The number of deliveries in which a path had each type, and any type.
type Kinds = [u32; ANY + 1];

pub type Paths = BTreeMap<String, Kinds>;

/// The watched shares: the first one of deliveries, the others of leads.
const FIELDS: [&str; 6] = [
    "deliveries with a lead",
    "leads with a name",
    "leads with a phone",
    "leads with an e-mail address",
    "leads with an external id",
    "leads with a listing",
];
const NAME: usize = 1;
const PHONE: usize = 2;
const EMAIL: usize = 3;
const EXTERNAL_ID: usize = 4;
const LISTING: usize = 5;

/// The leads of one delivery.
#[derive(Clone, Copy, Debug, Default)]
pub struct Leads {
    leads: u32,
    with: [u32; 6],
}

impl Leads {
    /// Adds a lead: whether it has a name, a phone, an e-mail address, an external id, a listing.
    pub fn add(&mut self, has: [bool; 5]) {
        self.leads += 1;
        for (count, has) in self.with[1..].iter_mut().zip(has) {
            *count += u32::from(has);
        }
        self.with[0] = 1;
    }

    /// Returns whether there are none.
    pub fn is_empty(&self) -> bool {
        self.leads == 0
    }

    /// Returns whether one of these fields was read more often than by another version from the same
    /// delivery.
    pub fn reads_more(&self, other: &Self, fields: &[usize]) -> bool {
        fields
            .iter()
            .any(|field| self.with[*field] > other.with[*field])
    }
}

/// The result of converting some deliveries with the version that serves and with the one before it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TrialVerdict {
    /// The version that serves, for people.
    pub version: String,
    pub digest: Digest,
    /// The one before it. `None` if there is none.
    pub previous: Option<String>,
    /// The deliveries that both versions were called for, and on which the serving version still
    /// fails, if it is about failures.
    pub tried: u32,
    /// Those of them that the serving version did not just refuse.
    pub faults: u32,
    /// Those of them on which the previous version does better.
    pub better: u32,
}

impl TrialVerdict {
    fn cause(&self) -> ChangeCause {
        match (&self.previous, self.better) {
            (None, _) => ChangeCause::Unknown,
            (Some(_), 0) => ChangeCause::Source,
            (Some(_), _) => ChangeCause::Version,
        }
    }

    /// Returns the cause in words. `better`: what the previous version does; `same`: what both do.
    fn by(&self, better: &str, same: &str) -> String {
        let Self {
            version,
            previous,
            tried,
            better: number,
            ..
        } = self;
        match previous {
            None => format!("there is no version before {version} to try"),
            Some(_) if *number == 0 => format!("{same}: the source changed"),
            Some(previous) => format!(
                "new in {version}: the previous version {previous} {better} {number} of {tried} of them"
            ),
        }
    }

    /// Returns the report that deliveries keep failing: so many of the last ones. `None` if there is
    /// nothing to report: a sender may well send what every version refuses.
    pub fn failing_deliveries(
        &self,
        failed: usize,
        of: usize,
        at: Micros,
    ) -> Option<FailingDeliveries> {
        if self.better == 0 && self.faults == 0 {
            return None;
        }
        let by = self.by("converts", "both versions fail");
        Some(FailingDeliveries {
            version: self.version.clone(),
            change: SourceChange {
                what: format!("failing deliveries: {by}"),
                before: "converted".to_owned(),
                after: format!("{failed} of the last {of} fail"),
                since: at,
                parts: Vec::new(),
                failing: true,
                cause: self.cause(),
                digest: Some(self.digest.clone()),
            },
        })
    }
}

/// The report that deliveries keep failing.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct FailingDeliveries {
    /// The version that fails, for people.
    pub version: String,
    pub change: SourceChange,
}

/// The shapes of some deliveries, as counts.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct SketchCounts {
    deliveries: u32,
    /// Deliveries whose body was read.
    read: u32,
    /// Deliveries that a version converted; if their leads are fetched, the answers that it read.
    converted: u32,
    leads: u32,
    /// One count for each of `FIELDS`.
    with: [u32; 6],
    /// The version that converted the last one.
    version: String,
    /// Whether another version converted one before.
    mixed: bool,
    /// The version of the configuration with which the last one was converted. 0 if it is not known.
    configuration: i64,
    /// When the first of them was received. `None` if it is not known.
    first_at: Option<Micros>,
    paths: Paths,
}

impl SketchCounts {
    /// Returns those of one delivery: of its body if it was read, of its leads if it was converted.
    pub fn from_delivery(
        at: Micros,
        version: &str,
        paths: Option<Paths>,
        leads: Option<Leads>,
    ) -> Self {
        let Leads { leads: count, with } = leads.unwrap_or_default();
        Self {
            deliveries: 1,
            read: u32::from(paths.is_some()),
            converted: u32::from(leads.is_some()),
            leads: count,
            with,
            version: leads.map(|_| version.to_owned()).unwrap_or_default(),
            mixed: false,
            configuration: 0,
            first_at: Some(at),
            paths: paths.unwrap_or_default(),
        }
    }

    /// Returns those of the leads that were read in the answer to a fetch. Its delivery is counted
    /// already, without leads.
    pub fn from_answer(at: Micros, version: &str, leads: Leads) -> Self {
        Self {
            deliveries: 0,
            ..Self::from_delivery(at, version, None, Some(leads))
        }
    }

    /// Returns the counts with the version of the configuration, if a delivery was converted.
    pub fn with_configuration(mut self, configuration: i64) -> Self {
        if self.converted > 0 {
            self.configuration = configuration;
        }
        self
    }

    /// Returns whether there are none.
    pub fn is_empty(&self) -> bool {
        self.deliveries == 0 && self.converted == 0
    }

    /// Adds those of other deliveries. Paths past the bound are left out.
    pub fn add(&mut self, other: &Self) {
        self.deliveries += other.deliveries;
        self.read += other.read;
        self.converted += other.converted;
        self.leads += other.leads;
        for (own, other) in self.with.iter_mut().zip(other.with) {
            *own += other;
        }
        self.mixed |= other.mixed;
        self.first_at = match (self.first_at, other.first_at) {
            (Some(own), Some(other)) => Some(own.min(other)),
            (own, other) => own.or(other),
        };
        if !other.version.is_empty() {
            self.mixed |= !self.version.is_empty() && self.version != other.version;
            self.version.clone_from(&other.version);
        }
        if other.configuration != 0 {
            self.configuration = other.configuration;
        }
        for (path, kinds) in &other.paths {
            if self.is_full() && !self.paths.contains_key(path) {
                continue;
            }
            let own = self.paths.entry(path.clone()).or_default();
            for (own, other) in own.iter_mut().zip(kinds) {
                *own += other;
            }
        }
    }

    fn halve(&mut self) {
        for count in [
            &mut self.deliveries,
            &mut self.read,
            &mut self.converted,
            &mut self.leads,
        ] {
            *count /= 2;
        }
        self.with = self.with.map(|count| count / 2);
        self.paths.retain(|_, kinds| {
            *kinds = kinds.map(|count| count / 2);
            kinds[ANY] > 0
        });
    }

    /// Returns whether paths may be missing.
    fn is_full(&self) -> bool {
        self.paths.len() >= limits::SKETCH_PATHS
    }

    fn kinds(&self, path: &str) -> Kinds {
        self.paths.get(path).copied().unwrap_or_default()
    }

    /// Returns what the share of a field is a share of.
    fn whole(&self, field: usize) -> u32 {
        match field {
            0 => self.converted,
            _ => self.leads,
        }
    }

    /// Returns the share of a field in percent.
    fn share(&self, field: usize) -> Option<u64> {
        percent(self.with[field], self.whole(field))
    }
}

fn percent(part: u32, whole: u32) -> Option<u64> {
    let (part, whole) = (u64::from(part), u64::from(whole));
    (whole > 0).then(|| (part * 100 + whole / 2) / whole)
}

fn is_usual(count: u32, of: u32) -> bool {
    of > 0 && u64::from(count) * 100 >= u64::from(of) * USUAL
}

fn written(percent: Option<u64>) -> String {
    format!("{} %", percent.unwrap_or_default())
}

/// The sketch of a connection's deliveries.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Sketch {
    /// The usual shape.
    baseline: SketchCounts,
    /// The last deliveries, the oldest first. The last two are the window. A half that has just
    /// left the window is held until the next evaluation: if that finds a change, the half may
    /// contain deliveries of both forms and is dropped.
    halves: [SketchCounts; 3],
    /// The deliveries since the change.
    since: SketchCounts,
    change: Option<SourceChange>,
    /// The differences of the change that were reported and are not over, those of leads first. Their
    /// shares are the lowest ones that were reported.
    open: Vec<Difference>,
    /// Who or what brought them, in words: the end of `what` in the change.
    by: String,
    /// Whether the leads have all fields again that they had lost, although the bodies differ: the new
    /// form is read. The change is no longer shown then.
    is_read: bool,
    /// `None` while deliveries do not keep failing.
    failing: Option<FailingDeliveries>,
    /// The parts of the change, and the fields among them whose share fell while another version
    /// converted, until the versions were tried.
    #[serde(skip)]
    question: Option<Question>,
    /// About when each difference of the change began.
    began: BTreeMap<String, Micros>,
    /// The version that converted last when the change was reported, or when a trial was asked for.
    asked: String,
}

/// A change whose cause may be the version.
#[derive(Clone, Debug, Default, PartialEq)]
struct Question {
    fields: Vec<usize>,
    /// The version before the one that is tried.
    before: String,
}

/// A difference between the baseline and the window.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Difference {
    subject: String,
    /// `None` for a field of leads.
    path: Option<String>,
    /// The share of a field of leads now, in percent.
    share: Option<u64>,
    before: String,
    after: String,
}

impl Difference {
    /// Returns which of the watched shares it is about. `None` for a path.
    fn field(&self) -> Option<usize> {
        match self.path {
            None => FIELDS.iter().position(|field| *field == self.subject),
            Some(_) => None,
        }
    }

    fn sentence(&self) -> String {
        let Self {
            subject,
            before,
            after,
            ..
        } = self;
        match before.ends_with('%') && self.path.is_some() {
            true => format!("{subject}: in {before} -> {after} of the deliveries"),
            false => format!("{subject}: {before} -> {after}"),
        }
    }
}

impl Sketch {
    /// Returns the failures of deliveries as long as they last, or else the change: until the deliveries
    /// are as usual again, the leads have all fields again, or the new form is the usual one.
    pub fn change(&self) -> Option<&SourceChange> {
        let failing = self.failing.as_ref().map(|failing| &failing.change);
        failing.or(self.drift())
    }

    /// Returns the change of the leads or bodies.
    pub fn drift(&self) -> Option<&SourceChange> {
        self.change.as_ref().filter(|_| !self.is_read)
    }

    /// Returns the report that deliveries keep failing.
    pub fn failing(&self) -> Option<&FailingDeliveries> {
        self.failing.as_ref()
    }

    /// Replaces the report that deliveries keep failing; `None` ends it.
    pub fn set_failing(&mut self, failing: Option<FailingDeliveries>) {
        self.failing = failing;
    }

    /// Returns the fields whose share fell while another version converted, if the versions were not
    /// tried on it yet.
    pub fn fields_in_question(&self) -> Option<&[usize]> {
        self.question.as_ref().map(|question| &*question.fields)
    }

    /// Ends the question, with the answer if there is one.
    pub fn answer(&mut self, verdict: Option<&TrialVerdict>) {
        let question = self.question.take();
        if let (Some(_), Some(change), Some(verdict)) = (question, &mut self.change, verdict) {
            self.by = verdict.by("reads more in", "both versions read the same");
            change.cause = verdict.cause();
            change.digest = Some(verdict.digest.clone());
            self.describe();
        }
    }

    /// Returns the share of the last leads that have each contact field: of those since the change, if
    /// there is one. `None` if there were no leads.
    pub fn lead_fields(&self) -> Option<LeadFields> {
        let past = match &self.change {
            Some(_) => &self.since,
            None => &self.baseline,
        };
        let counted = self.halves.iter().chain([past]);
        let leads = counted.clone().map(|counts| counts.leads).sum();
        let share = |field: usize| {
            let with = counted.clone().map(|counts| counts.with[field]).sum();
            percent(with, leads).and_then(|share| u8::try_from(share).ok())
        };
        Some(LeadFields {
            leads,
            name: share(NAME)?,
            phone: share(PHONE)?,
            email: share(EMAIL)?,
            external_id: share(EXTERNAL_ID)?,
            listing: share(LISTING)?,
        })
    }

    /// Returns the version before the one in question, or else the one that converted the deliveries of
    /// the baseline last.
    pub fn version_before(&self) -> &str {
        let before = self.question.as_ref().map(|question| &*question.before);
        before.unwrap_or(&self.baseline.version)
    }

    /// Adds deliveries. Returns whether they show a difference that was not reported before, or that another
    /// version may cause now.
    pub fn add(&mut self, new: &SketchCounts, at: Micros) -> bool {
        self.halves[2].add(new);
        self.halves[2].deliveries >= HALF && self.look(at)
    }

    /// Compares the window with the baseline, and begins a new half.
    fn look(&mut self, at: Micros) -> bool {
        let differences = self.differences();
        let was_changed = self.change.is_some();
        let was_read = self.is_read;
        self.drop_what_is_over();
        let is_new = differences.iter().any(|one| self.is_new(one));
        for difference in &differences {
            if self.began.len() < REMEMBERED && !self.began.contains_key(&difference.subject) {
                let began = self.beginning(difference).unwrap_or(at);
                self.began.insert(difference.subject.clone(), began);
            }
        }
        let mut is_asked_again = false;
        if is_new {
            self.report(differences, at);
        } else if self.open.is_empty() {
            self.end_change();
        } else {
            is_asked_again = self.ask_again(&differences);
        }
        let has_news = is_new || is_asked_again;
        let [held, older, newer] = mem::take(&mut self.halves);
        match (was_changed, self.change.is_some()) {
            (false, false) => {
                self.baseline.add(&held);
                if self.baseline.deliveries > BASELINE_MOST {
                    self.baseline.halve();
                }
            }
            (false, true) => {}
            // The counts so far have other fields, and this half may contain leads of both forms:
            // start over.
            (true, true) if self.is_read != was_read => self.since = SketchCounts::default(),
            (true, true) => {
                self.since.add(&held);
                if self.since.deliveries >= ADOPTED {
                    self.baseline = mem::take(&mut self.since);
                    self.end_change();
                }
            }
            // The window contains deliveries of both forms, so a new one begins.
            (true, false) => return has_news,
        }
        self.halves = [older, newer, SketchCounts::default()];
        has_news
    }

    /// Returns whether a difference is to be reported: it was not reported yet, or its share has fallen
    /// far below the last reported one.
    fn is_new(&self, difference: &Difference) -> bool {
        let mut open = self.open.iter();
        let known = open.find(|one| one.subject == difference.subject);
        match (known, difference.share) {
            (None, _) => self.open.len() < REMEMBERED,
            (Some(known), Some(share)) => known.share.is_some_and(|known| share + FALL <= known),
            (Some(_), None) => false,
        }
    }

    /// Drops the reported differences that the window no longer shows. If leads have all fields again,
    /// their new form is read.
    fn drop_what_is_over(&mut self) {
        let [_, older, newer] = &self.halves;
        let mut window = older.clone();
        window.add(newer);
        let is_over = |one: &Difference| match (one.field(), &one.path) {
            (Some(field), _) => self.is_field_back(field, &window),
            (None, Some(path)) => self.is_path_back(path, &window),
            (None, None) => true,
        };
        let (over, left): (Vec<Difference>, Vec<Difference>) =
            self.open.iter().cloned().partition(is_over);
        if over.is_empty() {
            return;
        }
        self.began
            .retain(|subject, _| over.iter().all(|one| one.subject != *subject));
        let is_of_leads = |one: &Difference| one.path.is_none();
        self.is_read |= over.iter().any(is_of_leads) && !left.iter().any(is_of_leads);
        self.open = left;
        if let Some(question) = &mut self.question {
            let open: Vec<usize> = self.open.iter().filter_map(Difference::field).collect();
            question.fields.retain(|field| open.contains(field));
            if question.fields.is_empty() {
                self.question = None;
            }
        }
        self.describe();
    }

    /// Returns whether leads have a field again about as often as before the change, in both halves of
    /// the window.
    fn is_field_back(&self, field: usize, window: &SketchCounts) -> bool {
        let [_, older, newer] = &self.halves;
        let before = self.baseline.share(field).unwrap_or_default();
        let is_back = |counts: &SketchCounts| {
            let share = counts.share(field);
            share.is_some_and(|share| share + BACK >= before)
        };
        window.whole(field) >= HALF && is_back(older) && is_back(newer)
    }

    /// Returns whether a path is again in as many deliveries of the window as before the change, about,
    /// with the types of before.
    fn is_path_back(&self, path: &str, window: &SketchCounts) -> bool {
        let (was, is) = (self.baseline.kinds(path), window.kinds(path));
        let is_often = |count: u32| u64::from(count) * 100 >= u64::from(window.read) * PATH_BACK;
        let is_back = |kind: usize| match was[kind] {
            0 => !is_often(is[kind]),
            was if is_usual(was, self.baseline.read) => is_often(is[kind]),
            _ => true,
        };
        // A full window may have had no room for the path, so its absence proves nothing.
        let is_known = is[ANY] > 0 || !window.is_full();
        window.read >= HALF && is_known && (0..=ANY).all(is_back)
    }

    fn end_change(&mut self) {
        self.change = None;
        self.question = None;
        self.open.clear();
        self.by.clear();
        self.is_read = false;
        self.began.clear();
        self.asked.clear();
        self.since = SketchCounts::default();
    }

    /// Returns the differences of leads, then those of bodies.
    fn differences(&self) -> Vec<Difference> {
        let [_, older, newer] = &self.halves;
        let base = &self.baseline;
        let mut window = older.clone();
        window.add(newer);
        let mut differences = Vec::new();
        if base.deliveries < BASELINE || window.deliveries < 2 * HALF {
            return differences;
        }
        for (field, subject) in FIELDS.iter().enumerate() {
            let Some(before) = base.share(field) else {
                continue;
            };
            let is_enough = base.whole(field) >= BASELINE / 2 && window.whole(field) >= HALF;
            // The share must have fallen in both halves, so that the change is complete when it is
            // reported.
            let has_fallen = |counts: &SketchCounts| {
                let share = counts.share(field);
                share.is_none_or(|share| share + FALL <= before)
            };
            if is_enough && [older, newer, &window].into_iter().all(has_fallen) {
                differences.push(Difference {
                    subject: (*subject).to_owned(),
                    path: None,
                    share: Some(window.share(field).unwrap_or_default()),
                    before: written(Some(before)),
                    after: written(window.share(field)),
                });
            }
        }
        if base.read >= BASELINE / 2 && window.read >= HALF {
            differences_of_paths(base, &window, &mut differences);
        }
        differences
    }

    /// Returns about when a difference that is seen now began: with the window, or with the half before
    /// it if that shows it already in part. So no delivery that differs is earlier.
    fn beginning(&self, difference: &Difference) -> Option<Micros> {
        let [held, older, _] = &self.halves;
        let base = &self.baseline;
        let shows = match &difference.path {
            None => {
                let field = difference.field();
                field.is_some_and(|field| match (held.share(field), base.share(field)) {
                    (Some(share), Some(usual)) => share < usual,
                    (share, usual) => share.is_none() && usual.is_some(),
                })
            }
            Some(path) => {
                let (was, is) = (base.kinds(path), held.kinds(path));
                (0..=ANY).any(|kind| {
                    let is_lost = is_usual(was[kind], base.read) && is[kind] < held.read;
                    is_lost || (was[kind] == 0 && is[kind] > 0)
                })
            }
        };
        let first = match shows {
            true => held.first_at,
            false => None,
        };
        first.or(older.first_at)
    }

    /// Reports the differences of the window, and notes what a trial of both versions has to answer about
    /// them.
    fn report(&mut self, differences: Vec<Difference>, at: Micros) {
        let version = &self.halves[2].version;
        let [_, older, newer] = &self.halves;
        // The version of a half is that of its last delivery: in a canary that may be either one.
        let is_same = version.is_empty() || *version == self.baseline.version && !newer.mixed;
        // The halves have different versions during a rollout, or after a version that was rolled
        // back.
        let configuration = newer.configuration;
        let known = self.baseline.configuration;
        let is_reconfigured = known != 0 && configuration != 0 && known != configuration;
        let has_paths = differences.iter().any(|one| one.path.is_some());
        let several = newer.mixed || older.version != newer.version;
        let (cause, by) = if !is_same && several {
            let by = "several versions converted, or the source changed";
            (ChangeCause::Unknown, by.to_owned())
        } else if is_same && is_reconfigured && !has_paths {
            let by = format!("since configuration {configuration}");
            (ChangeCause::Configuration, by)
        } else if is_same || has_paths {
            (ChangeCause::Source, "the source changed".to_owned())
        } else {
            (ChangeCause::Version, format!("new in {version}"))
        };
        let fields: Vec<usize> = differences.iter().filter_map(Difference::field).collect();
        let before = self.baseline.version.clone();
        self.question = (!is_same && !fields.is_empty()).then_some(Question { fields, before });
        self.asked.clone_from(&self.halves[2].version);
        // A difference that was reported stays open until it is over, even if it is too small to be
        // reported now.
        let mut open = differences;
        for known in mem::take(&mut self.open) {
            match open.iter_mut().find(|one| one.subject == known.subject) {
                Some(now) => now.share = now.share.min(known.share),
                None => open.push(known),
            }
        }
        open.sort_by_key(|one| one.path.is_some());
        open.truncate(REMEMBERED);
        self.open = open;
        self.by = by;
        self.is_read = false;
        self.change = Some(SourceChange {
            what: String::new(),
            before: String::new(),
            after: String::new(),
            since: at,
            parts: Vec::new(),
            failing: false,
            cause,
            digest: None,
        });
        self.describe();
    }

    /// Asks for a trial of another version that converts while leads still lack what the source took from
    /// them: the version may lose it by now, even if the source sends it again. Returns whether it asks.
    fn ask_again(&mut self, differences: &[Difference]) -> bool {
        let newest = &self.halves[2];
        let is_other =
            ![&String::new(), &self.asked, &self.baseline.version].contains(&&newest.version);
        let cause = self.change.as_ref().map(|change| change.cause);
        let is_of_source = matches!(cause, Some(ChangeCause::Source | ChangeCause::Unknown));
        let fields: Vec<usize> = differences.iter().filter_map(Difference::field).collect();
        if !is_other || !is_of_source || fields.is_empty() {
            return false;
        }
        let version = newest.version.clone();
        let before = mem::replace(&mut self.asked, version);
        self.question = Some(Question { fields, before });
        true
    }

    /// Names in the change the differences that were reported and are not over.
    fn describe(&mut self) {
        let Some(change) = &mut self.change else {
            return;
        };
        let first = &self.open[..self.open.len().min(REPORTED)];
        let list =
            |of: fn(&Difference) -> &str| first.iter().map(of).collect::<Vec<_>>().join(", ");
        let more = match self.open.len() - first.len() {
            0 => String::new(),
            more => format!(" and {more} more"),
        };
        let mut parts: BTreeMap<Micros, Vec<String>> = BTreeMap::new();
        for one in first {
            let since = self.began.get(&one.subject).copied();
            let since = since.unwrap_or(change.since);
            parts.entry(since).or_default().push(one.sentence());
        }
        let parts: Vec<SourceChangePart> = parts
            .into_iter()
            .map(|(since, differences)| SourceChangePart { since, differences })
            .collect();
        change.what = format!("{}{more}: {}", list(|one| one.subject.as_str()), self.by);
        change.before = list(|one| one.before.as_str());
        change.after = list(|one| one.after.as_str());
        change.since = parts.first().map_or(change.since, |part| part.since);
        change.parts = parts;
    }
}

/// Adds the paths that disappeared, have another type, or are new, in this order: the first ones are
/// named, and a path that disappeared explains most. The members of such an object are left out.
fn differences_of_paths(
    base: &SketchCounts,
    window: &SketchCounts,
    differences: &mut Vec<Difference>,
) {
    let paths: BTreeSet<&String> = base.paths.keys().chain(window.paths.keys()).collect();
    let mut found: Vec<(PathChange, Difference)> = Vec::new();
    for path in paths {
        let (was, is) = (base.kinds(path), window.kinds(path));
        let differs = |kind: usize| {
            let gone = is_usual(was[kind], base.read) && is[kind] == 0;
            gone || (was[kind] == 0 && is_usual(is[kind], window.read))
        };
        let (change, before, after) = if differs(ANY) {
            // A full sketch may have had no room for the path, so its absence proves nothing.
            let without = if is[ANY] == 0 { window } else { base };
            if without.is_full() {
                continue;
            }
            let share =
                |counts: &SketchCounts, kinds: &Kinds| written(percent(kinds[ANY], counts.read));
            let change = match is[ANY] {
                0 => PathChange::Disappeared,
                _ => PathChange::Appeared,
            };
            (change, share(base, &was), share(window, &is))
        } else if (0..ANY).any(differs) {
            (PathChange::OtherType, most(&was), most(&is))
        } else {
            continue;
        };
        let is_inside = |outer: &str| {
            let rest = path.strip_prefix(outer);
            rest.is_some_and(|rest| rest.starts_with(['.', '[']))
        };
        let mut outer = found.iter().filter_map(|(_, one)| one.path.as_deref());
        if !outer.any(is_inside) {
            let difference = Difference {
                subject: format!("path {path}"),
                path: Some(path.clone()),
                share: None,
                before,
                after,
            };
            found.push((change, difference));
        }
    }
    found.sort_by_key(|(change, _)| *change);
    differences.extend(found.into_iter().map(|(_, difference)| difference));
}

/// How a path changed, in the order in which changes are named.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum PathChange {
    Disappeared,
    OtherType,
    Appeared,
}

/// Returns the most frequent type.
fn most(kinds: &Kinds) -> String {
    let most = (0..ANY).max_by_key(|kind| kinds[*kind]);
    KINDS[most.unwrap_or_default()].to_owned()
}

/// Returns the paths of a body: of JSON, or the names of a form's fields. Any other body has none.
pub fn paths(body: &[u8], is_form: bool) -> Paths {
    let mut walk = Walk {
        paths: Paths::new(),
        path: String::new(),
        depth: 0,
        left: limits::SKETCH_VALUES,
    };
    if is_form {
        for (name, _) in form_urlencoded::parse(body).take(limits::SKETCH_VALUES) {
            walk.path.clear();
            walk.path.push_str(step(&name));
            walk.note(STRING);
        }
        return walk.paths;
    }
    let mut json = serde_json::Deserializer::from_slice(body);
    match WalkSeed(&mut walk).deserialize(&mut json) {
        Ok(()) => walk.paths,
        Err(_) => Paths::new(),
    }
}

/// Returns the name of a key in a path. Keys that are values themselves, such as ids and
/// addresses, are one path.
fn step(key: &str) -> &str {
    let digits = key.chars().filter(char::is_ascii_digit).count();
    let is_value = digits >= 6 || key.contains('@') || key.contains(text::is_active);
    if is_value { "*" } else { key }
}

/// A walk through a body as it is parsed, without building its values.
struct Walk {
    paths: Paths,
    path: String,
    depth: usize,
    /// Values that are still looked at.
    left: usize,
}

impl Walk {
    fn note(&mut self, kind: usize) {
        self.left = self.left.saturating_sub(1);
        let is_known = self.paths.contains_key(&self.path);
        let has_room = is_known || self.paths.len() < limits::SKETCH_PATHS;
        if self.path.is_empty() || self.is_long() || !has_room {
            return;
        }
        let kinds = self.paths.entry(self.path.clone()).or_default();
        kinds[kind] = 1;
        kinds[ANY] = 1;
    }

    fn is_long(&self) -> bool {
        self.path.chars().count() > limits::SKETCH_PATH_CHARACTERS
    }

    fn enters(&self) -> bool {
        self.depth < limits::SKETCH_DEPTH && self.left > 0 && !self.is_long()
    }
}

struct WalkSeed<'w>(&'w mut Walk);

impl<'de> DeserializeSeed<'de> for WalkSeed<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_any(self)
    }
}

/// The key of a number that serde_json passes on as it is written.
const WRITTEN_NUMBER: &str = "$serde_json::private::Number";

impl<'de> Visitor<'de> for WalkSeed<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("JSON")
    }

    fn visit_bool<E>(self, _: bool) -> Result<(), E> {
        self.0.note(BOOL);
        Ok(())
    }

    fn visit_i64<E>(self, _: i64) -> Result<(), E> {
        self.0.note(NUMBER);
        Ok(())
    }

    fn visit_u64<E>(self, _: u64) -> Result<(), E> {
        self.0.note(NUMBER);
        Ok(())
    }

    fn visit_f64<E>(self, _: f64) -> Result<(), E> {
        self.0.note(NUMBER);
        Ok(())
    }

    fn visit_str<E>(self, _: &str) -> Result<(), E> {
        self.0.note(STRING);
        Ok(())
    }

    fn visit_unit<E>(self) -> Result<(), E> {
        self.0.note(NULL);
        Ok(())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<(), A::Error> {
        let walk = self.0;
        walk.note(ARRAY);
        let (from, enters) = (walk.path.len(), walk.enters());
        walk.path.push_str("[]");
        walk.depth += 1;
        while enters && walk.left > 0 {
            if list.next_element_seed(WalkSeed(&mut *walk))?.is_none() {
                break;
            }
        }
        while list.next_element::<IgnoredAny>()?.is_some() {}
        walk.depth -= 1;
        walk.path.truncate(from);
        Ok(())
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        let walk = self.0;
        let mut key = map.next_key::<String>()?;
        if key.as_deref() == Some(WRITTEN_NUMBER) {
            walk.note(NUMBER);
            map.next_value::<IgnoredAny>()?;
            return Ok(());
        }
        walk.note(OBJECT);
        let (from, enters) = (walk.path.len(), walk.enters());
        walk.depth += 1;
        while let Some(name) = key {
            if !enters || walk.left == 0 {
                map.next_value::<IgnoredAny>()?;
                while map.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
                break;
            }
            if from > 0 {
                walk.path.push('.');
            }
            walk.path.push_str(step(&name));
            map.next_value_seed(WalkSeed(&mut *walk))?;
            walk.path.truncate(from);
            key = map.next_key()?;
        }
        walk.depth -= 1;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn json_paths(body: &str) -> Vec<String> {
        let paths = paths(body.as_bytes(), false);
        let name = |(path, kinds): (&String, &Kinds)| format!("{path} {}", most(kinds));
        paths.iter().map(name).collect()
    }

    #[test]
    fn paths_are_names_with_types() {
        let body = r#"{"a": {"b": "x", "c": 1.5}, "d": [{"e": null}, {"f": true}], "": 1}"#;
        let expect = [
            "a object",
            "a.b string",
            "a.c number",
            "d array",
            "d[] object",
            "d[].e null",
            "d[].f bool",
        ];
        assert_eq!(json_paths(body), expect);
        assert_eq!(json_paths("[1]"), ["[] number"]);
        let form = paths(b"nome=Lia&telefone=1%202&nome=x", true);
        assert_eq!(form.into_keys().collect::<Vec<_>>(), ["nome", "telefone"]);
        for other in ["", "<lead/>", "{\"a\": 1", "name=Lia", "17", "\"text\""] {
            assert!(json_paths(other).is_empty(), "{other}");
        }
    }

    #[test]
    fn a_key_that_is_a_value_is_not_kept() {
        let body = r#"{"answers": {"lia@example.com": 1, "5511988880001": 2, "a\u001bb": 3}}"#;
        assert_eq!(json_paths(body), ["answers object", "answers.* number"]);
    }

    #[test]
    fn hostile_bodies_are_bounded() {
        let deep = format!("{}{}", "[".repeat(100_000), "]".repeat(100_000));
        assert_eq!(json_paths(&deep).len(), limits::SKETCH_DEPTH);
        let deep = format!("{}1{}", "{\"a\":".repeat(50), "}".repeat(50));
        assert_eq!(json_paths(&deep).len(), limits::SKETCH_DEPTH);
        let keys: Vec<_> = (0..20_000).map(|key| format!("\"k{key}\":1")).collect();
        let wide = json_paths(&format!("{{{}}}", keys.join(",")));
        assert_eq!(wide.len(), limits::SKETCH_PATHS);
        let huge = format!("{{\"{}\":{{\"a\":1}},\"b\":1}}", "k".repeat(200_000));
        assert_eq!(json_paths(&huge), ["b number"]);
        let long = format!("[{}{{\"a\":1}}]", "1,".repeat(100_000));
        assert_eq!(json_paths(&long), ["[] number"]);
        let mut counts = SketchCounts::default();
        for number in 0..500 {
            let body = format!("{{\"x{number}\":1}}");
            counts.add(&SketchCounts::from_delivery(
                Micros(7),
                "1",
                Some(paths(body.as_bytes(), false)),
                None,
            ));
        }
        assert_eq!(counts.paths.len(), limits::SKETCH_PATHS);
    }

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
}
