//! How the last deliveries of a connection differ from its usual ones: the fields of leads that are
//! rarer, and the paths of bodies that disappeared, have another type, or are new.

use std::cmp::Reverse;
use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use super::bounds::{BACK, BASELINE, BY_CHANCE, FALL, HALF, PATH_BACK, SEEN, USUAL};
use super::counts::{FIELDS, SketchCounts, percent};
use super::paths::{ANY, Kinds, most};
use leadhost_domain::time::Micros;

/// A difference between the baseline and the window.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Difference {
    pub subject: String,
    /// `None` for a field of leads.
    pub path: Option<String>,
    /// The share of a field of leads now, in percent.
    pub share: Option<u64>,
    pub before: String,
    pub after: String,
}

impl Difference {
    /// Returns which of the watched shares it is about. `None` for a path.
    pub fn field(&self) -> Option<usize> {
        match self.path {
            None => FIELDS.iter().position(|field| *field == self.subject),
            Some(_) => None,
        }
    }

    /// Returns the difference in words, for a person.
    pub fn sentence(&self) -> String {
        let Self {
            subject,
            before,
            after,
            ..
        } = self;
        match after.ends_with('%') && self.path.is_some() {
            true => format!("{subject}: in {before} -> {after} of the deliveries"),
            false => format!("{subject}: {before} -> {after}"),
        }
    }
}

/// Returns the differences between the window and the baseline: those of leads, then those of bodies.
/// None while there are too few deliveries.
pub fn differences(base: &SketchCounts, halves: &[SketchCounts; 3]) -> Vec<Difference> {
    let [_, older, newer] = halves;
    let window = window(halves);
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
        // Without a field that fell, a rare path is absent by chance.
        let newest = (!differences.is_empty() && newer.read >= HALF / 2).then_some(newer);
        differences_of_paths(base, &window, newest, &mut differences);
    }
    differences
}

/// Returns about when a difference that is seen now began: with the window, or with the half before
/// it if that shows it already in part. So no delivery that differs is earlier.
pub fn beginning(
    difference: &Difference,
    base: &SketchCounts,
    halves: &[SketchCounts; 3],
) -> Option<Micros> {
    let [held, older, _] = halves;
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
                let is_lost = match is_usual(was[kind], base.read) {
                    true => is[kind] < held.read,
                    false => {
                        kind == ANY && percent(is[kind], held.read) < percent(was[kind], base.read)
                    }
                };
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

/// Returns the window: the last two halves, added up.
pub fn window(halves: &[SketchCounts; 3]) -> SketchCounts {
    let [_, older, newer] = halves;
    let mut window = older.clone();
    window.add(newer);
    window
}

/// Returns whether the window no longer shows a difference that was reported.
pub fn is_over(
    difference: &Difference,
    base: &SketchCounts,
    window: &SketchCounts,
    halves: &[SketchCounts; 3],
) -> bool {
    match (difference.field(), &difference.path) {
        (Some(field), _) => is_field_back(field, base, window, halves),
        // It is over with the fields of leads, as it may be absent by chance.
        (None, Some(_)) if is_unusual(difference, base) => false,
        (None, Some(path)) => is_path_back(path, base, window),
        (None, None) => true,
    }
}

/// Returns whether it is a path that was not usual: it is only named beside a field of leads that fell.
pub fn is_unusual(difference: &Difference, base: &SketchCounts) -> bool {
    let share = share_before(difference, base);
    share.is_some_and(|share| (1..USUAL).contains(&share))
}

/// Returns whether it shows that the bodies are others than before: a rare path may be absent by chance.
pub fn is_of_bodies(difference: &Difference, base: &SketchCounts) -> bool {
    let share = share_before(difference, base);
    share.is_some_and(|share| share == 0 || share >= BY_CHANCE)
}

/// Returns the percentage of the usual deliveries that had a path. `None` for a field of leads.
fn share_before(difference: &Difference, base: &SketchCounts) -> Option<u64> {
    let was = base.kinds(difference.path.as_ref()?)[ANY];
    let share = percent(was, base.read).unwrap_or_default();
    // A path that a few had is not new.
    Some(share.max(u64::from(was > 0)))
}

/// Returns whether leads have a field again about as often as before the change, in both halves of
/// the window.
fn is_field_back(
    field: usize,
    base: &SketchCounts,
    window: &SketchCounts,
    halves: &[SketchCounts; 3],
) -> bool {
    let [_, older, newer] = halves;
    let before = base.share(field).unwrap_or_default();
    let is_back = |counts: &SketchCounts| {
        let share = counts.share(field);
        share.is_some_and(|share| share + BACK >= before)
    };
    window.whole(field) >= HALF && is_back(older) && is_back(newer)
}

/// Returns whether a path is again in as many deliveries of the window as before the change, about,
/// with the types of before.
fn is_path_back(path: &str, base: &SketchCounts, window: &SketchCounts) -> bool {
    let (was, is) = (base.kinds(path), window.kinds(path));
    let is_often = |count: u32| u64::from(count) * 100 >= u64::from(window.read) * PATH_BACK;
    let is_back = |kind: usize| match was[kind] {
        0 => !is_often(is[kind]),
        was if is_usual(was, base.read) => is_often(is[kind]),
        _ => true,
    };
    // A full window may have had no room for the path, so its absence proves nothing.
    let is_known = is[ANY] > 0 || !window.is_full();
    window.read >= HALF && is_known && (0..=ANY).all(is_back)
}

/// Adds the paths that disappeared, have another type, or are new, in this order: the first ones are
/// named, and a path that disappeared explains most. The members of such an object are left out. With the
/// newest deliveries, also a path that was not usual and is in none of them: the more frequent it was, the
/// earlier it is named.
fn differences_of_paths(
    base: &SketchCounts,
    window: &SketchCounts,
    newest: Option<&SketchCounts>,
    differences: &mut Vec<Difference>,
) {
    let paths: BTreeSet<&String> = base.paths.keys().chain(window.paths.keys()).collect();
    let mut found: Vec<(PathChange, Reverse<u32>, Difference)> = Vec::new();
    for path in paths {
        let (was, is) = (base.kinds(path), window.kinds(path));
        let differs = |kind: usize| {
            let gone = is_usual(was[kind], base.read) && is[kind] == 0;
            gone || (was[kind] == 0 && is_usual(is[kind], window.read))
        };
        let share = |counts: &SketchCounts, kinds: &Kinds| match percent(kinds[ANY], counts.read) {
            Some(0) if kinds[ANY] > 0 => format!("{} of {}", kinds[ANY], counts.read),
            share => written(share),
        };
        let now = newest.filter(|newest| was[ANY] >= SEEN && newest.kinds(path)[ANY] == 0);
        let (change, before, after) = if differs(ANY) {
            // A full sketch may have had no room for the path, so its absence proves nothing.
            let without = if is[ANY] == 0 { window } else { base };
            if without.is_full() {
                continue;
            }
            let change = match is[ANY] {
                0 => PathChange::Disappeared,
                _ => PathChange::Appeared,
            };
            (change, share(base, &was), share(window, &is))
        } else if (0..ANY).any(differs) {
            (PathChange::OtherType, most(&was), most(&is))
        } else if let Some(newest) =
            now.filter(|_| !is_usual(was[ANY], base.read) && !window.is_full())
        {
            let after = share(newest, &newest.kinds(path));
            (PathChange::Disappeared, share(base, &was), after)
        } else {
            continue;
        };
        let is_inside = |outer: &str| {
            let rest = path.strip_prefix(outer);
            rest.is_some_and(|rest| rest.starts_with(['.', '[']))
        };
        let mut outer = found.iter().filter_map(|(_, _, one)| one.path.as_deref());
        if !outer.any(is_inside) {
            let difference = Difference {
                subject: format!("path {path}"),
                path: Some(path.clone()),
                share: None,
                before,
                after,
            };
            found.push((change, Reverse(was[ANY]), difference));
        }
    }
    found.sort_by_key(|(change, was, _)| (*change, *was));
    differences.extend(found.into_iter().map(|(_, _, difference)| difference));
}

/// How a path changed, in the order in which changes are named.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum PathChange {
    Disappeared,
    OtherType,
    Appeared,
}

/// Returns whether a count is that of a usual path among so many deliveries.
fn is_usual(count: u32, of: u32) -> bool {
    of > 0 && u64::from(count) * 100 >= u64::from(of) * USUAL
}

/// Returns a share as it is shown.
fn written(percent: Option<u64>) -> String {
    format!("{} %", percent.unwrap_or_default())
}
