//! Notes on the failures before a later attempt: a line for each among the notes of the delivery, with the error
//! of the last failure, their number and the version. These lines stand before the other notes, and stay
//! when those are replaced.

use super::working_set::EARLIER;
use crate::decide::prelude::*;
use crate::{ConversionResult, FetchSettlement};
use leadhost_domain::text::counted;

/// Keeps the failure of a delivery that was converted again, unless it has failed on the same version
/// again: its attempts count on then.
pub(super) fn keep(delivery: &mut DeliveryRecord, now: Micros, result: &ConversionResult) {
    let digest = |ran: Option<&RanWith>| ran.map(|ran| ran.digest.clone());
    let counts_on = result.status.is_some_and(DeliveryStatus::is_tried_again)
        && digest(result.ran.as_ref()) == digest(delivery.ran.as_ref());
    if !delivery.status.is_tried_again() || counts_on {
        return;
    }
    let Some(error) = &delivery.error else {
        return;
    };
    let attempts = delivery.attempts;
    let line = line(now, "", attempts, delivery.ran.as_ref(), error);
    add(delivery, line);
}

/// Notes that no version was called for a delivery that has failed before. Its own failure stays as it is.
/// Returns whether it has one.
pub(super) fn skip(delivery: &mut DeliveryRecord, result: &ConversionResult) -> bool {
    if delivery.attempts == 0 || delivery.error.is_none() {
        return false;
    }
    delivery.held = false;
    delivery.change.touch();
    delivery.next_attempt_at = result.next_attempt_at;
    not_skipped(delivery);
    let why = result.error.as_deref().unwrap_or_default();
    delivery.notes.push(format!("{LEFT_OUT}{why}"));
    true
}

pub(super) fn not_skipped(delivery: &mut DeliveryRecord) {
    delivery.notes.retain(|note| !note.starts_with(LEFT_OUT));
}

const LEFT_OUT: &str = "the last attempt was left out: ";

/// Keeps the failure of a fetch that is settled by a later attempt.
pub(super) fn keep_of_fetch(set: &mut WorkingSet, new: &FetchSettlement) {
    let fetch = set.fetches.get(&(new.delivery, new.index));
    let fetch = fetch.filter(|fetch| fetch.attempts > 0);
    let (Some(fetch), Some(delivery)) = (fetch, set.deliveries.get_mut(&new.delivery)) else {
        return;
    };
    let item = delivery.items.get(&new.index);
    if let Some(error) = item.and_then(|item| item.message.as_deref()) {
        let what = format!("the fetch of item {} ", new.index);
        let line = line(set.now, &what, fetch.attempts, Some(&fetch.ran), error);
        add(delivery, line);
    }
}

/// Replaces the notes of a delivery with the notes of another conversion, but keeps the lines about earlier
/// failures.
pub(super) fn replace_notes(delivery: &mut DeliveryRecord, notes: &[String]) {
    delivery.notes.truncate(delivery.earlier_lines());
    delivery.notes.extend_from_slice(notes);
}

/// Returns the line. The error was masked when it was stored.
fn line(now: Micros, what: &str, attempts: u32, ran: Option<&RanWith>, error: &str) -> String {
    let failed = match attempts {
        // Calls of the version were skipped.
        0 => "not converted".to_owned(),
        _ => format!("failed {}", counted(attempts, "time", "times")),
    };
    let version = ran.map(|ran| format!(", last on {} {}", ran.plugin, ran.version));
    let version = version.unwrap_or_default();
    let until = now.to_the_second();
    let mut line = format!("{EARLIER}{until}: {what}{failed}{version}: {error}").replace('\n', " ");
    line.truncate(line.floor_char_boundary(limits::NOTE_BYTES));
    line
}

fn add(delivery: &mut DeliveryRecord, line: String) {
    let mut place = delivery.earlier_lines();
    while place >= limits::EARLIER_FAILURES {
        delivery.notes.remove(0);
        place -= 1;
    }
    delivery.notes.insert(place, line);
    delivery.change.touch();
}

#[cfg(test)]
mod tests {
    use super::super::sample::NOW;
    use super::*;

    #[test]
    fn a_line_is_one_line_and_bounded() {
        let until = NOW.to_the_second();
        let said = |attempts, error: &str| line(NOW, "", attempts, None, error);
        let expect = format!("earlier, until {until}: failed 3 times: no phone at 7");
        assert_eq!(said(3, "no phone\nat 7"), expect);
        let expect = format!("earlier, until {until}: not converted: calls are skipped");
        assert_eq!(said(0, "calls are skipped"), expect);
        let long = said(1, &"é".repeat(limits::NOTE_BYTES));
        assert!(long.contains("failed 1 time: é"), "{long}");
        assert!(long.len() <= limits::NOTE_BYTES, "{}", long.len());
    }
}
