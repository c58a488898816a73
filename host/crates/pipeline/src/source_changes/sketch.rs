//! The usual deliveries of a connection as counts, the last ones, and whether these differ: the share of
//! leads with a field fell, or a path vanished. No IO, no clock.

use std::mem;

use serde::{Deserialize, Serialize};

use super::counts::{Counts, EMAIL, FIELDS, PHONE, REACHABLE, field};
use super::trial::TrialVerdict;
use crate::prelude::*;
use leadhost_domain::connection::{
    ChangeCause, EndedChange, LEAD_PARTS, LeadFields, SourceChange, SourceChangePart,
};

/// The deliveries of the baseline that precede the first report of a change.
const BASELINE: u32 = 200;

/// The deliveries of the baseline of a young source, for which only the loss of a whole field is reported, and the
/// percentage of leads that had it.
const YOUNG_BASELINE: u32 = limits::YOUNG_SOURCE_LEADS;
const MOST_LEADS: u64 = 50;

/// Deliveries past which the counts of the baseline are halved, so that it follows slow changes.
const BASELINE_MOST: u32 = 2_000;

/// Deliveries of half a window. A window is looked at when a half is full.
const HALF: u32 = 25;

/// The percentage of deliveries from which a path is usual: a rarer one may be missing by chance.
const USUAL: u64 = 90;

/// The percentage points by which the share of a field has to fall.
const FALL: u64 = 30;

/// The percentage points below the former share at which a field or a path counts as back. They are fewer
/// than the points of a fall, so that a share between the two bounds neither begins nor ends a change.
const BACK: u64 = FALL / 2;

/// Deliveries in a new form after which it is the usual one.
const ADOPTED: u32 = 1_000;

const REPORTED: usize = 6;

/// The sketch of a connection's deliveries.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Sketch {
    baseline: Counts,
    /// The last deliveries, the oldest first. The last two are the window. A half that has just left the
    /// window is held until the next look: if that finds a change, the half may contain deliveries of both
    /// forms and is dropped.
    halves: [Counts; 3],
    since: Counts,
    /// The change of leads or bodies: until the deliveries are as usual again, the leads have all fields
    /// again, or the new form is the usual one.
    pub change: Option<SourceChange>,
    /// The differences of the change that are not over, of leads before paths. Their shares are the lowest
    /// ones that were reported.
    open: Vec<Difference>,
    /// The cause of the change, in words: the end of `what` in the change.
    by: String,
    /// The version that converted last when the change was reported.
    asked: String,
    /// The report that deliveries keep failing. `None` while they do not.
    pub fails: Option<SourceChange>,
    /// The changes of leads that are over, the oldest first. The store reads them.
    ended: Vec<EndedChange>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct Difference {
    subject: String,
    /// The share now, in percent.
    share: u64,
    before: String,
    after: String,
    /// About when it began.
    began: Micros,
}

/// A change to report. Its cause may be the version if leads have lost fields, and both versions are to be
/// tried.
#[derive(Clone, Debug, PartialEq)]
pub struct News {
    pub fields: Vec<usize>,
    /// The version before the one that is tried.
    pub before: String,
}

impl Sketch {
    pub fn shown(&self) -> Option<&SourceChange> {
        self.fails.as_ref().or(self.change.as_ref())
    }

    pub fn blame(&mut self, verdict: &TrialVerdict) {
        if let Some(change) = &mut self.change {
            (change.cause, self.by) = verdict.cause("reads more in", "both versions read the same");
            change.digest = Some(verdict.digest.clone());
            self.asked.clone_from(&verdict.version);
            self.describe();
        }
    }

    /// Returns the share of the last leads that have each contact field: of those since the change, if
    /// there is one. `None` if there were no leads.
    pub fn lead_fields(&self) -> Option<LeadFields> {
        let mut counted = match &self.change {
            Some(_) => self.since.clone(),
            None => self.baseline.clone(),
        };
        self.halves.iter().for_each(|half| counted.add(half));
        let [_, name, phone, email, external_id, listing, _] = FIELDS.map(|field| {
            let share = counted.share(field)?;
            u8::try_from(share).ok()
        });
        Some(LeadFields {
            leads: counted.leads,
            name: name?,
            phone: phone?,
            email: email?,
            external_id: external_id?,
            listing: listing?,
        })
    }

    /// Adds deliveries. Returns whether they show a difference that was not reported before, or that another
    /// version may cause now.
    pub fn add(&mut self, new: &Counts, at: Micros) -> Option<News> {
        self.halves[2].add(new);
        self.is_due(&Counts::default()).then(|| self.look(at))?
    }

    /// Returns whether these deliveries will complete half a window.
    pub fn is_due(&self, new: &Counts) -> bool {
        self.halves[2].deliveries + new.deliveries >= HALF
    }

    /// Compares the window with the baseline, and begins a new half.
    fn look(&mut self, at: Micros) -> Option<News> {
        let was_changed = self.change.is_some();
        self.drop_what_is_over();
        let found = self.differences(at);
        let is_new = found.iter().any(|one| self.is_new(one)) || self.is_of_another_version(&found);
        let news = is_new.then(|| self.report(found, at));
        let halves = mem::take(&mut self.halves);
        // Once a change is over, the window contains deliveries of both forms, so a new one begins.
        if was_changed && self.change.is_none() {
            return news;
        }
        let [held, older, newer] = halves;
        self.halves = [older, newer, Counts::default()];
        if was_changed {
            self.since.add(&held);
            if self.since.deliveries >= ADOPTED {
                self.note_ended(&self.open.clone());
                self.baseline = mem::take(&mut self.since);
                self.end_change();
            }
        } else if self.change.is_none() {
            self.baseline.add(&held);
            if self.baseline.deliveries > BASELINE_MOST {
                self.baseline.halve();
            }
        }
        news
    }

    /// Returns how the window differs from the baseline: fields of leads whose share fell, then paths that
    /// vanished. Nothing while there are too few deliveries.
    fn differences(&self, at: Micros) -> Vec<Difference> {
        let (base, [held, older, newer]) = (&self.baseline, &self.halves);
        let window = self.window();
        let mut found: Vec<Difference> = Vec::new();
        let is_young = base.deliveries < BASELINE;
        if base.deliveries < YOUNG_BASELINE || window.deliveries < 2 * HALF {
            return found;
        }
        let least = if is_young {
            YOUNG_BASELINE
        } else {
            BASELINE / 2
        };
        for subject in base.subjects() {
            let before = base.share(&subject).unwrap_or_default();
            let has_fallen = |counts: &Counts| {
                let share = counts.share(&subject);
                share.is_none_or(|share| share + FALL <= before)
            };
            let is_gone = |counts: &Counts| {
                let (with, of) = counts.part(&subject);
                of > 0 && with == 0 && !counts.is_full()
            };
            // Those of phones and of addresses say more.
            let is_said = |one: &Difference| one.subject == PHONE || one.subject == EMAIL;
            if subject == REACHABLE && found.iter().any(is_said) {
                continue;
            }
            let is_field = field(&subject).is_some();
            let differs = match is_field {
                true if is_young => {
                    let has_none = |counts: &Counts| counts.part(&subject).0 == 0;
                    before >= MOST_LEADS && has_none(older) && has_none(newer)
                }
                // A path may be rare by chance, and says more about a loss that is there.
                false if is_young && found.is_empty() => false,
                // In both halves, so that the change is complete when it is reported.
                true => has_fallen(older) && has_fallen(newer),
                // Beside another difference, the deliveries before may still have had it.
                false if found.is_empty() => before >= USUAL && is_gone(older) && is_gone(newer),
                false => before >= USUAL && is_gone(newer),
            };
            let is_enough = base.part(&subject).1 >= least && window.part(&subject).1 >= HALF;
            if !is_enough || !differs {
                continue;
            }
            // With the window, or with the half before it if that shows it already in part: so no delivery
            // that differs is earlier.
            let is_held = held.share(&subject).is_none_or(|share| share < before);
            let began = held.first_at.filter(|_| is_held).or(older.first_at);
            let known = self.open.iter().find(|one| one.subject == subject);
            let share = newer.share(&subject).unwrap_or_default();
            found.push(Difference {
                share,
                before: format!("{before} %"),
                after: format!("{share} %"),
                began: known.map_or(began.unwrap_or(at), |known| known.began),
                subject,
            });
        }
        found
    }

    fn window(&self) -> Counts {
        let [_, older, newer] = &self.halves;
        let mut window = older.clone();
        window.add(newer);
        window
    }

    /// Returns whether a difference was not reported yet, or its share has fallen far below the last reported
    /// one.
    fn is_new(&self, difference: &Difference) -> bool {
        let mut open = self.open.iter();
        let known = open.find(|one| one.subject == difference.subject);
        known.is_none_or(|known| difference.share + FALL <= known.share)
    }

    /// Returns whether only a newer version converts while leads still lack fields: it may be the one that
    /// loses them now, even if the source sends them again, and the previous version is no longer to blame.
    fn is_of_another_version(&self, found: &[Difference]) -> bool {
        let newer = &self.halves[2];
        let is_other = !newer.mixed && !newer.version.is_empty() && newer.version != self.asked;
        let change = self.change.as_ref().filter(|_| is_other);
        change.is_some_and(|change| change.cause != ChangeCause::Configuration)
            && found.iter().any(Difference::is_of_leads)
    }

    /// Drops the reported differences that the window no longer shows. If leads have all fields again
    /// although the bodies differ, the new form is read, and is the usual one.
    fn drop_what_is_over(&mut self) {
        let (base, window, [_, older, newer]) = (&self.baseline, self.window(), &self.halves);
        let is_over = |one: &Difference| {
            let before = base.share(&one.subject).unwrap_or_default();
            let is_back = |counts: &Counts| {
                let share = counts.share(&one.subject);
                share.is_some_and(|share| share + BACK >= before)
            };
            window.part(&one.subject).1 >= HALF && is_back(older) && is_back(newer)
        };
        let open = self.open.iter().cloned();
        let (over, left): (Vec<Difference>, Vec<Difference>) = open.partition(is_over);
        if over.is_empty() {
            return;
        }
        self.note_ended(&over);
        let is_read = over.iter().any(Difference::is_of_leads);
        if left.is_empty() || is_read && !left.iter().any(Difference::is_of_leads) {
            if !left.is_empty() {
                (self.baseline.bodies, self.baseline.top) = (window.bodies, window.top);
            }
            return self.end_change();
        }
        self.open = left;
        self.describe();
    }

    /// Notes the fields of leads among differences that are over: the deliveries of that time are still as
    /// they were converted.
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
            let Some(field) = field(&one.subject) else {
                continue;
            };
            let mut ended = EndedChange {
                since: one.began,
                until,
                digest: change.digest.clone().filter(|_| is_of_version),
                fields: [false; LEAD_PARTS],
                differences: vec![one.sentence()],
            };
            ended.fields[field] = true;
            self.ended.push(ended);
        }
        // Those that overlap are one. Of too many, the oldest become one, whose time is all of theirs.
        self.ended.sort_by_key(|one| one.since);
        let many = self.ended.len().saturating_sub(limits::ENDED_CHANGES);
        let mut merged: Vec<EndedChange> = Vec::new();
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
        self.open.clear();
        self.by.clear();
        self.asked.clear();
        self.since = Counts::default();
    }

    fn report(&mut self, mut open: Vec<Difference>, at: Micros) -> News {
        let (base, [_, older, newer]) = (&self.baseline, &self.halves);
        let version = newer.version.clone();
        // A half has the version of its last delivery: in a canary that may be either one.
        let is_same = version.is_empty() || version == base.version && !newer.mixed;
        let is_other = self.change.is_some() && self.asked != version;
        let several = newer.mixed || older.version != version || is_other;
        let configurations = [base.configuration, newer.configuration];
        let is_reconfigured =
            !configurations.contains(&0) && configurations[0] != configurations[1];
        let has_paths = !open.iter().all(Difference::is_of_leads);
        let (cause, by) = if !is_same && several {
            let by = "several versions converted, or the source changed";
            (ChangeCause::Unknown, by.to_owned())
        } else if is_same && is_reconfigured && !has_paths {
            let by = format!("since configuration {}", newer.configuration);
            (ChangeCause::Configuration, by)
        } else if is_same || has_paths {
            (ChangeCause::Source, "the source changed".to_owned())
        } else {
            (ChangeCause::Version, format!("new in {version}"))
        };
        let lost = open.iter().filter_map(|one| field(&one.subject));
        let fields = lost.filter(|_| !is_same).collect();
        let asked = mem::replace(&mut self.asked, version);
        let before = if is_other {
            asked
        } else {
            base.version.clone()
        };
        self.by = by;
        // A difference that was reported stays open until it is over, even if it is too small to be
        // reported now.
        for known in mem::take(&mut self.open) {
            match open.iter_mut().find(|one| one.subject == known.subject) {
                Some(now) => now.share = now.share.min(known.share),
                None => open.push(known),
            }
        }
        open.sort_by_key(|one| !one.is_of_leads());
        self.open = open;
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
        News { fields, before }
    }

    /// Names in the change the differences that were reported and are not over.
    fn describe(&mut self) {
        let Some(change) = &mut self.change else {
            return;
        };
        let named = &self.open[..self.open.len().min(REPORTED)];
        let list =
            |of: fn(&Difference) -> &str| named.iter().map(of).collect::<Vec<_>>().join(", ");
        let more = match self.open.len() - named.len() {
            0 => String::new(),
            more => format!(" and {more} more"),
        };
        let mut parts: BTreeMap<Micros, Vec<String>> = BTreeMap::new();
        for one in named {
            parts.entry(one.began).or_default().push(one.sentence());
        }
        change.what = format!("{}{more}: {}", list(|one| &one.subject), self.by);
        change.before = list(|one| &one.before);
        change.after = list(|one| &one.after);
        change.since = parts.keys().next().copied().unwrap_or(change.since);
        change.parts = parts
            .into_iter()
            .map(|(since, differences)| SourceChangePart { since, differences })
            .collect();
    }
}

impl Difference {
    fn is_of_leads(&self) -> bool {
        field(&self.subject).is_some()
    }

    fn sentence(&self) -> String {
        let Self {
            subject,
            before,
            after,
            ..
        } = self;
        if self.is_of_leads() {
            format!("{subject}: {before} -> {after}")
        } else {
            format!("{subject}: in {before} -> {after} of the deliveries")
        }
    }
}

#[cfg(test)]
mod tests;
