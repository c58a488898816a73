//! The shape of a connection's deliveries, and whether it has changed: the paths of their bodies
//! with the types ([`paths`]), and the fields of the leads that were made of them ([`counts`]). This
//! file decides when a change begins, goes on and ends; `differences.rs` compares the counts. No IO, no
//! clock. Values are never kept.

mod bounds;
pub mod counts;
mod differences;
pub mod paths;
#[cfg(test)]
mod tests;
pub mod verdict;

use std::collections::BTreeMap;
use std::mem;

use serde::{Deserialize, Serialize};

use self::bounds::{ADOPTED, BASELINE_MOST, FALL, HALF, REMEMBERED, REPORTED};
use self::counts::{EMAIL, EXTERNAL_ID, LISTING, NAME, PHONE, SketchCounts, percent};
use self::differences::{Difference, beginning, differences, is_of_bodies, is_over, is_unusual};
use self::verdict::{FailingDeliveries, TrialVerdict};
use leadhost_domain::connection::{
    ChangeCause, EndedChange, LeadFields, SourceChange, SourceChangePart,
};
use leadhost_domain::limits;
use leadhost_domain::time::Micros;

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
    /// The cause of the change, in words: the end of `what` in the change.
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
    /// The changes of leads that are over, the oldest first. The store reads them.
    ended: Vec<EndedChange>,
}

/// A change whose cause may be the version.
#[derive(Clone, Debug, Default, PartialEq)]
struct Question {
    fields: Vec<usize>,
    /// The version before the one that is tried.
    before: String,
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
            self.asked.clone_from(&verdict.version);
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
        let differences = differences(&self.baseline, &self.halves);
        let was_changed = self.change.is_some();
        let was_read = self.is_read;
        self.drop_what_is_over();
        let is_new = differences.iter().any(|one| self.is_new(one));
        for difference in &differences {
            if self.began.len() < REMEMBERED && !self.began.contains_key(&difference.subject) {
                let began = beginning(difference, &self.baseline, &self.halves).unwrap_or(at);
                self.began.insert(difference.subject.clone(), began);
            }
        }
        let mut is_asked_again = false;
        if is_new {
            self.report(differences, at);
        } else if self.open.is_empty() {
            self.end_change();
        } else {
            self.blame_again(&differences);
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
                    self.note_ended(&self.open.clone());
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
            (None, _) => self.open.len() < REMEMBERED && !is_unusual(difference, &self.baseline),
            (Some(known), Some(share)) => known.share.is_some_and(|known| share + FALL <= known),
            (Some(_), None) => false,
        }
    }

    /// Drops the reported differences that the window no longer shows. If leads have all fields again,
    /// their new form is read.
    fn drop_what_is_over(&mut self) {
        let window = differences::window(&self.halves);
        let is_over = |one: &Difference| is_over(one, &self.baseline, &window, &self.halves);
        let (over, mut left): (Vec<Difference>, Vec<Difference>) =
            self.open.iter().cloned().partition(is_over);
        if over.is_empty() {
            return;
        }
        let is_of_leads = |one: &Difference| one.path.is_none();
        if !left.iter().any(is_of_leads) {
            self.is_read |= over.iter().any(is_of_leads);
            left.retain(|one| !is_unusual(one, &self.baseline));
        }
        self.note_ended(&over);
        self.began
            .retain(|subject, _| left.iter().any(|one| one.subject == *subject));
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

    /// Notes the fields of leads among differences that are over: the deliveries of that time are still as they
    /// were converted.
    fn note_ended(&mut self, over: &[Difference]) {
        let Some(change) = &self.change else {
            return;
        };
        let [_, older, newer] = &self.halves;
        let Some(until) = newer.first_at.or(older.first_at) else {
            return;
        };
        let is_of_version = change.cause == ChangeCause::Version;
        for one in over {
            let Some(field) = one.field() else {
                continue;
            };
            let since = self.began.get(&one.subject).copied();
            let mut ended = EndedChange {
                since: since.unwrap_or(change.since),
                until,
                digest: change.digest.clone().filter(|_| is_of_version),
                fields: [false; 6],
                differences: vec![one.sentence()],
            };
            ended.fields[field] = true;
            self.ended.push(ended);
        }
        // Those that overlap are one. Of too many, the oldest become one, whose time is all of theirs.
        self.ended.sort_by_key(|one| one.since);
        let mut merged: Vec<EndedChange> = Vec::new();
        let many = self.ended.len().saturating_sub(limits::ENDED_CHANGES);
        for (index, one) in self.ended.drain(..).enumerate() {
            match merged.last_mut() {
                Some(last) if one.since <= last.until || index <= many => last.add(one),
                _ => merged.push(one),
            }
        }
        self.ended = merged;
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
        let has_paths = differences
            .iter()
            .any(|one| is_of_bodies(one, &self.baseline));
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

    /// Takes the blame from a version by which nothing in the window was converted, if leads still lack data
    /// there.
    fn blame_again(&mut self, differences: &[Difference]) {
        let [_, older, newer] = &self.halves;
        let version = &newer.version;
        let is_other = !version.is_empty() && *version != self.asked;
        let is_alone = *version == older.version && !older.mixed && !newer.mixed;
        let is_lacking = differences.iter().any(|one| one.field().is_some());
        let change = self
            .change
            .as_mut()
            .filter(|_| is_other && is_alone && is_lacking);
        let Some(change) = change.filter(|change| change.cause == ChangeCause::Version) else {
            return;
        };
        self.by = format!("{version} reads no more");
        if *version == self.baseline.version {
            (change.cause, self.by) = (ChangeCause::Source, "the source changed".to_owned());
        }
        change.digest = None;
        self.asked.clone_from(version);
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
