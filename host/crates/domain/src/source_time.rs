//! Times as sources of leads write them.

use chrono::{DateTime, Datelike as _, NaiveDateTime, Timelike as _};

use super::time::{self, Micros};
use super::zone::Zone;

/// Reads a source's time: RFC 3339, an offset without a colon, or a local time in `zone`
/// (an IANA name; an unknown zone reads nothing). An ambiguous local time is read as the
/// earlier one. A skipped local time is read as if the clock had not been put forward. `None` for
/// the time zero of programs, too: the years 0, 1 and 1900, and the begin of 1970 stand for no time.
pub fn parse(text: &str, zone: &str) -> Option<Micros> {
    read(text, zone).filter(|time| *time >= EARLIEST)
}

/// Returns whether a text is a time before anything could be sent.
pub fn is_zero(text: &str, zone: &str) -> bool {
    read(text, zone).is_some_and(|time| time < EARLIEST)
}

/// 1980-01-01T00:00:00Z.
const EARLIEST: Micros = Micros(315_532_800 * 1_000_000);

fn read(text: &str, zone: &str) -> Option<Micros> {
    let text = text.trim();
    if text.starts_with("0000") {
        return None;
    }
    if let Some(time) = time::parse(text) {
        return Some(time);
    }
    for format in ["%Y-%m-%dT%H:%M:%S%.f%z", "%Y-%m-%d %H:%M:%S%.f%z"] {
        if let Ok(time) = DateTime::parse_from_str(text, format) {
            return time::served(time.year(), time.timestamp_micros());
        }
    }
    // RFC 9557 names the zone after the time.
    let (text, zone) = match text.strip_suffix(']').and_then(|text| text.split_once('[')) {
        Some((local, own)) => (local, own),
        None => (text, zone),
    };
    let zone = Zone::named(zone)?;
    let local = [
        "%Y-%m-%dT%H:%M:%S%.f",
        "%Y-%m-%d %H:%M:%S%.f",
        "%Y-%m-%d %H:%M",
        "%Y-%m-%dT%H:%M",
    ]
    .iter()
    .find_map(|format| NaiveDateTime::parse_from_str(text, format).ok())?;
    let part = |number: u32| i8::try_from(number).ok();
    let local = jiff::civil::DateTime::new(
        i16::try_from(local.year()).ok()?,
        part(local.month())?,
        part(local.day())?,
        part(local.hour())?,
        part(local.minute())?,
        part(local.second())?,
        // chrono counts a leap second as more than 999,999,999 nanoseconds.
        i32::try_from(local.nanosecond().min(999_999_999)).ok()?,
    );
    let year = i32::from(local.as_ref().ok()?.year());
    time::served(year, zone.instant(local.ok()?)?.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_local_time_is_read_in_its_zone() {
        let check = |text: &str, zone: &str, expect: Option<i64>| {
            assert_eq!(parse(text, zone).map(|m| m.0), expect, "{text}")
        };
        check(
            "2025-11-06 14:30:00",
            "America/Sao_Paulo",
            time::parse("2025-11-06T17:30:00Z").map(|m| m.0),
        );
        check(
            "2001-09-09T01:46:40.5-0300",
            "UTC",
            Some((1_000_000_000 + 3 * 3_600) * 1_000_000 + 500_000),
        );
        check("2025-11-06 14:30:00", "Nowhere/At_All", None);
        check(
            "2025-11-06T14:30:00[America/Sao_Paulo]",
            "UTC",
            time::parse("2025-11-06T17:30:00Z").map(|m| m.0),
        );
        check("2025-11-06T14:30:00[XYZ]", "UTC", None);
        check("2025-11-06 14:30:00", "america/sao_paulo", None);
        // An ambiguous local time.
        check(
            "2026-10-25T01:30",
            "Europe/Lisbon",
            time::parse("2026-10-25T00:30:00Z").map(|m| m.0),
        );
        // A skipped local time.
        check(
            "2018-11-04 00:30",
            "America/Sao_Paulo",
            time::parse("2018-11-04T03:30:00Z").map(|m| m.0),
        );
        check("soon", "UTC", None);
    }

    #[test]
    fn a_time_at_the_end_of_the_printable_years_is_read_as_clients_send_it() {
        for text in ["9999-12-31T23:59:59-00:01", "9999-12-31T23:59:60Z"] {
            assert_eq!(parse(text, "UTC"), time::parse(text), "{text}");
        }
        for text in [
            "0000-01-01",
            "0000-12-31T23:59:59+00:01",
            "0001-01-01T00:00:00Z",
            "1899-12-30T00:00:00",
            "1900-01-01T00:00:00",
            "1970-01-01T00:00:00Z",
            "1969-12-31 21:00:00",
        ] {
            assert_eq!(parse(text, "UTC"), None, "{text}");
            assert_eq!(is_zero(text, "UTC"), !text.starts_with("0000"), "{text}");
        }
        assert_eq!(parse("9999-12-31 23:59", "America/Sao_Paulo"), None);
    }
}

#[cfg(test)]
mod fuzz {
    use leadhost_fuzz::{damaged_text, holds};

    use super::*;

    const TIMES: [&str; 6] = [
        "2030-01-31T23:59:59.123456Z",
        "9999-12-31T23:59:59.999999Z",
        "2030-01-31",
        "2025-11-06 14:30:00.5-0300",
        "2018-11-04 00:30",
        "2026-10-25T01:30",
    ];
    const WORDS: [&str; 14] = [
        "0", "9", "59", "60", "0000", "9999", "-", "+", ":", "T", "Z", " ", ".", "23:59",
    ];

    #[test]
    fn fuzz_a_time_of_a_source_is_printed_as_the_same_time() {
        holds(6_000, damaged_text(TIMES, &WORDS), |text| {
            for zone in ["America/Sao_Paulo", "Europe/Lisbon", "Pacific/Apia"] {
                let read = parse(text, zone);
                if let Some(time) = read {
                    assert_eq!(time::parse(&time.text()), Some(time), "{text}");
                }
                let known = time::parse(text).filter(|time| *time >= EARLIEST);
                assert!(known.is_none() || known == read, "{text}");
            }
        });
    }
}
