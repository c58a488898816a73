//! Times as sources write them: in configured patterns, and in the formats that can be
//! recognised without one. The result is RFC 3339, or local time
//! (`2026-03-02T14:30:00`) if the source names no zone: the host knows the
//! connection's.

use serde_json::Value;

use crate::{epoch_to_rfc3339, text_of, time_text};

/// Returns a time in one of the formats; without any, in epochs, ISO 8601, day/month/year, and as browsers,
/// mail programs, .NET and databases write one. `month_first` reads 03/02/2026 as the second of March.
pub fn read(value: &Value, formats: &[String], month_first: bool) -> Option<String> {
    let text = text(value)?;
    let (text, zone) = in_zone(&text).unwrap_or((&text, ""));
    let of_day = in_day(text).filter(|_| formats.is_empty());
    let text = of_day.as_deref().unwrap_or(text);
    let read = |text: &str| read_text(text, formats, month_first);
    let known = read(text).or_else(|| read(&with_plus(text)?));
    let time = known.or_else(|| read(&rearranged(text).filter(|_| formats.is_empty())?))?;
    // Without an offset, the host knows the zone's.
    let is_local = !time.ends_with('Z') && !time[DATE.min(time.len())..].contains(['+', '-']);
    if is_local && !zone.is_empty() {
        Some(format!("{time}[{zone}]"))
    } else {
        Some(time)
    }
}

/// The length of a date.
const DATE: usize = 10;

/// Returns a time and the zone of the IANA in brackets after it, as RFC 9557 and Java write it.
fn in_zone(text: &str) -> Option<(&str, &str)> {
    let (time, zone) = text.trim().strip_suffix(']')?.rsplit_once('[')?;
    let is_name = |c: char| c.is_ascii_alphanumeric() || "/_+-".contains(c);
    (zone.len() <= 64 && zone.chars().all(is_name)).then_some((time, zone))
}

/// Returns the text of a time, from a scalar or from an object in which a database or PHP has it, such as
/// `{"_seconds": …, "_nanoseconds": …}`, `{"$date": …}` or `{"date": …, "timezone": …}`.
pub fn text(value: &Value) -> Option<String> {
    let Value::Object(fields) = value else {
        return text_of(value);
    };
    let number = |names: &[&str]| {
        let found = names.iter().find_map(|name| fields.get(*name))?;
        text(found)?.parse::<i64>().ok()
    };
    if let Some(inner) = fields.get("$date").or(fields.get("$numberLong")) {
        return text(inner);
    }
    let of = |name: &str| text_of(fields.get(name)?);
    if let (Some(date), Some(zone)) = (of("date"), of("timezone")) {
        let offset = iso_zone(&zone);
        return Some(if offset.starts_with(['+', '-', 'Z']) {
            format!("{date}{offset}")
        } else {
            format!("{date}[{zone}]")
        });
    }
    let seconds = number(&["_seconds", "seconds"])?;
    let nanos = number(&["_nanoseconds", "nanoseconds", "nanos"]).unwrap_or(0);
    let millis = seconds.checked_mul(1_000)?.checked_add(nanos / 1_000_000)?;
    Some(millis.to_string())
}

/// Returns in ISO 8601 what JavaScript prints (`Mon Mar 02 2026 09:15:30 GMT-0300 (…)`, `Mar 2, 2026, 9:15 AM`),
/// what RFC 2822, RFC 850, Java and C have, its basic form, and as an epoch what .NET has:
/// `/Date(1772453730000-0300)/`.
fn rearranged(text: &str) -> Option<String> {
    if let Some((_, inner)) = text.split_once("/Date(") {
        let (epoch, end) = inner.split_once(')')?;
        let end_of_epoch = epoch.rfind(['+', '-']).filter(|at| *at > 0);
        let is_whole = end.trim_start_matches('\\') == "/"
            && text.trim_start_matches('\\').starts_with("/Date");
        return is_whole.then(|| epoch[..end_of_epoch.unwrap_or(epoch.len())].to_owned());
    }
    if let Some(extended) = extended(text) {
        return Some(extended);
    }
    let spaced = text.get(..MAX_BYTES).unwrap_or(text).replace(',', " ");
    let words = spaced
        .split_whitespace()
        .take_while(|word| !word.starts_with('('));
    let mut words: Vec<&str> = words.collect();
    let place = |list: &str, word: &str| {
        let begin = word.get(..3)?.to_ascii_lowercase();
        list.split(' ').position(|known| known == begin)
    };
    if place("mon tue wed thu fri sat sun", words.first()?).is_some() {
        words.remove(0);
    }
    let is_half = |word: &&str| {
        ["am", "pm"]
            .iter()
            .any(|half| word.eq_ignore_ascii_case(half))
    };
    let half = words.iter().position(is_half).map(|at| words.remove(at));
    // RFC 850 joins the date.
    if let [day, month, year] = *words.first()?.splitn(3, '-').collect::<Vec<_>>() {
        words.splice(..1, [day, month, year]);
    }
    // C and Java have the year at the end: `Mar 2 09:15:30 2026`.
    if words.get(2).is_some_and(|clock| clock.contains(':')) {
        let year = words.pop()?;
        words.insert(2, year);
    }
    let (first, second, year, clock, zone) = match *words {
        [first, second, year] => (first, second, year, "00:00:00", ""),
        [first, second, year, clock] => (first, second, year, clock, ""),
        [first, second, year, clock, zone] => (first, second, year, clock, zone),
        _ => return None,
    };
    let is_day_first = first.starts_with(|c: char| c.is_ascii_digit());
    let (day, month) = if is_day_first {
        (first, second)
    } else {
        (second, first)
    };
    let month = 1 + place("jan feb mar apr may jun jul aug sep oct nov dec", month)?;
    let zone = iso_zone(zone);
    let is_number = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    let century = match year.len() {
        4 => "",
        // By RFC 2822.
        2 if is_day_first && words.len() > 3 => {
            if year < "50" {
                "20"
            } else {
                "19"
            }
        }
        _ => return None,
    };
    let clock = match half {
        Some(half) => of_day(clock, half)?,
        None => clock.to_owned(),
    };
    let is_date = is_number(day) && is_number(year);
    is_date.then(|| format!("{century}{year}-{month:02}-{day:0>2}T{clock}{zone}"))
}

/// Returns a time that ends with a half of the day (`9:15 PM`, `9:15 p. m.`) with the hour of the whole day.
fn in_day(text: &str) -> Option<String> {
    let is_of_half = |c: char| c.is_whitespace() || ".aApPmM".contains(c);
    let clock = text.trim_end_matches(is_of_half);
    let half = text[clock.len()..]
        .chars()
        .filter(char::is_ascii_alphabetic);
    let half = half.collect::<String>().to_ascii_lowercase();
    let date = clock.trim_end_matches(|c: char| c.is_ascii_digit() || c == ':');
    let clock = &clock[date.len()..];
    let is_half = ["am", "pm"].contains(&half.as_str());
    Some(format!(
        "{date}{}",
        of_day(clock, &half).filter(|_| is_half)?
    ))
}

/// Returns the time of day of a clock with twelve hours.
fn of_day(clock: &str, half: &str) -> Option<String> {
    let (hour, rest) = clock.split_once(':')?;
    let hour: u8 = hour.parse().ok().filter(|hour| (1..=12).contains(hour))?;
    let afternoon = if half.eq_ignore_ascii_case("pm") {
        12
    } else {
        0
    };
    Some(format!("{:02}:{rest}", hour % 12 + afternoon))
}

/// Returns the extended form of `20260302T091530Z`.
fn extended(text: &str) -> Option<String> {
    let (date, clock) = text.split_once(['T', 't'])?;
    let end = clock
        .find(|c: char| !c.is_ascii_digit())
        .unwrap_or(clock.len());
    let (clock, zone) = clock.split_at(end);
    let is_basic = date.len() == 8 && matches!(clock.len(), 4 | 6);
    let is_date = is_basic && date.bytes().all(|byte| byte.is_ascii_digit());
    is_date.then(|| {
        let (year, month, day) = (&date[..4], &date[4..6], &date[6..]);
        let second = if clock.len() == 6 { &clock[4..] } else { "00" };
        format!(
            "{year}-{month}-{day}T{}:{}:{second}{zone}",
            &clock[..2],
            &clock[2..4]
        )
    })
}

/// More than the longest of these times, whose comment names a zone in words.
const MAX_BYTES: usize = 120;

/// Returns the offset of a zone: of `GMT-0300`, of the names that RFC 822 has for zones of North America, and of
/// those that stand for one zone only.
fn iso_zone(zone: &str) -> String {
    const NAMES: [&str; 8] = ["EST", "EDT", "CST", "CDT", "MST", "MDT", "PST", "PDT"];
    if let Some(at) = NAMES.iter().position(|name| *name == zone) {
        return format!("-0{}:00", 5 + at / 2 - at % 2);
    }
    const OTHERS: [(&str, &str); 7] = [
        ("BRT", "-03:00"),
        ("BRST", "-02:00"),
        ("ART", "-03:00"),
        ("WET", "+00:00"),
        ("WEST", "+01:00"),
        ("CET", "+01:00"),
        ("CEST", "+02:00"),
    ];
    if let Some((_, offset)) = OTHERS.iter().find(|(name, _)| *name == zone) {
        return (*offset).to_owned();
    }
    let bare = ["GMT", "UTC", "UT"]
        .iter()
        .find_map(|name| zone.strip_prefix(name));
    bare.map_or(zone, |offset| if offset.is_empty() { "Z" } else { offset })
        .to_owned()
}

/// Returns a time with the plus of its offset, if it was not percent-encoded in a form and arrived as a
/// space. Only after seconds: `12:00 13:00` is from one time to another.
fn with_plus(text: &str) -> Option<String> {
    let shape = text.replace(|c: char| c.is_ascii_digit(), "0");
    let (time, offset) = shape.rsplit_once(' ')?;
    let whole = match time.rsplit_once('.') {
        Some((whole, fraction)) if fraction.bytes().all(|byte| byte == b'0') => whole,
        _ => time,
    };
    let is_lost = ["00:00", "0000"].contains(&offset)
        && (whole.ends_with(":00:00") || time.ends_with(":00:00"));
    is_lost.then(|| format!("{}+{}", &text[..time.len()], &text[time.len() + 1..]))
}

fn read_text(text: &str, formats: &[String], month_first: bool) -> Option<String> {
    if !formats.is_empty() {
        return formats.iter().find_map(|format| match format.as_str() {
            "epoch" => epoch(text),
            pattern => parse(text, pattern),
        });
    }
    if let Some(time) = epoch(text) {
        return Some(time);
    }
    let iso = [
        "%Y-%m-%dT%H:%M:%S%f%z",
        "%Y-%m-%dT%H:%M%z",
        "%Y-%m-%d",
        "%Y/%m/%d %H:%M:%S",
        "%Y/%m/%d",
    ];
    let day_first = [
        "%d/%m/%Y",
        "%d/%m/%Y %H:%M:%S",
        "%d/%m/%Y %H:%M",
        "%d-%m-%Y",
        "%d-%m-%Y %H:%M:%S",
        "%d-%m-%Y %H:%M",
        "%d.%m.%Y %H:%M",
    ];
    let month_then_day = ["%m/%d/%Y", "%m/%d/%Y %H:%M:%S", "%m/%d/%Y %H:%M"];
    // A comma or an `às` between date and time has no meaning.
    let spaced = text
        .replace(',', " ")
        .replace(" às ", " ")
        .replace(" - ", " ");
    let find = |patterns: &[&str]| patterns.iter().find_map(|pattern| parse(&spaced, pattern));
    let (first, then) = if month_first {
        (&month_then_day[..], &day_first[..])
    } else {
        (&day_first[..], &month_then_day[..])
    };
    find(&iso).or_else(|| find(first)).or_else(|| find(then))
}

/// Reads only values that are clearly an epoch: nine digits or more are after 1973.
fn epoch(text: &str) -> Option<String> {
    let whole = text.split('.').next().unwrap_or_default();
    let digits = whole.strip_prefix('-').unwrap_or(whole);
    if digits.len() > 16 || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    let number: i64 = whole.parse().ok()?;
    match digits.len() {
        // Microseconds.
        16 => epoch_to_rfc3339(number / 1000),
        9.. => time_text(&Value::String(whole.to_owned())),
        _ => None,
    }
}

#[derive(Default)]
struct DateParts {
    year: Option<i64>,
    month: Option<i64>,
    day: Option<i64>,
    hour: i64,
    minute: i64,
    second: i64,
    afternoon: Option<bool>,
    has_time: bool,
    fraction: String,
    zone: String,
}

/// Returns a text as read by a pattern; `None` if it does not match to its end.
fn parse(text: &str, pattern: &str) -> Option<String> {
    let mut parts = DateParts::default();
    let mut rest = text.trim();
    let mut pattern = pattern.trim().chars();
    while let Some(character) = pattern.next() {
        if character != '%' {
            rest = match character {
                ' ' => {
                    let after = rest.trim_start();
                    (after.len() < rest.len()).then_some(after)?
                }
                // ISO 8601 is often written with a space.
                'T' => rest.strip_prefix(['T', 't', ' '])?,
                other => rest.strip_prefix(other)?,
            };
            continue;
        }
        let directive = pattern.next()?;
        rest = match directive {
            'Y' => number(rest, 4, &mut parts.year)?,
            'y' => {
                let after = number(rest, 2, &mut parts.year)?;
                parts.year = parts.year.map(|year| 2000 + year);
                after
            }
            'm' => number(rest, 2, &mut parts.month)?,
            'd' => number(rest, 2, &mut parts.day)?,
            'b' => month_name(rest, &mut parts.month)?,
            'H' | 'I' => {
                parts.has_time = true;
                some(rest, &mut parts.hour)?
            }
            'M' => some(rest, &mut parts.minute)?,
            'S' => some(rest, &mut parts.second)?,
            'f' => fraction(rest, &mut parts.fraction)?,
            'z' => zone(rest, &mut parts.zone)?,
            'p' => {
                let word: String = rest.chars().filter(|c| *c != '.').take(2).collect();
                parts.afternoon = match word.to_ascii_lowercase().as_str() {
                    "am" => Some(false),
                    "pm" => Some(true),
                    _ => return None,
                };
                rest.trim_start_matches(|c: char| c.is_ascii_alphabetic() || c == '.')
            }
            '%' => rest.strip_prefix('%')?,
            _ => return None,
        };
    }
    rest.trim().is_empty().then_some(())?;
    parts.text()
}

impl DateParts {
    fn text(mut self) -> Option<String> {
        if let Some(afternoon) = self.afternoon {
            (1..=12).contains(&self.hour).then_some(())?;
            self.hour = self.hour % 12 + if afternoon { 12 } else { 0 };
        }
        let (year, month, day) = (self.year?, self.month?, self.day?);
        let valid = (1..=9999).contains(&year)
            && (1..=12).contains(&month)
            && (1..=days_in(year, month)).contains(&day)
            && self.hour < 24
            && self.minute < 60
            && self.second < 61;
        valid.then_some(())?;
        let (hour, minute, second) = (self.hour, self.minute, self.second.min(59));
        let fraction = if self.has_time {
            self.fraction.as_str()
        } else {
            ""
        };
        Some(format!(
            "{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}{fraction}{}",
            self.zone
        ))
    }
}

fn days_in(year: i64, month: i64) -> i64 {
    match month {
        2 if year % 4 == 0 && (year % 100 != 0 || year % 400 == 0) => 29,
        2 => 28,
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    }
}

/// Reads one to `most` digits; exactly four if four are required.
fn number<'a>(text: &'a str, most: usize, out: &mut Option<i64>) -> Option<&'a str> {
    let length = text
        .bytes()
        .take(most)
        .take_while(u8::is_ascii_digit)
        .count();
    if length == 0 || (most == 4 && length < 4) {
        return None;
    }
    *out = text[..length].parse().ok();
    Some(&text[length..])
}

fn some<'a>(text: &'a str, out: &mut i64) -> Option<&'a str> {
    let mut read = None;
    let rest = number(text, 2, &mut read)?;
    *out = read?;
    Some(rest)
}

/// Reads `.123456789`, if present.
fn fraction<'a>(text: &'a str, out: &mut String) -> Option<&'a str> {
    let Some(digits) = text.strip_prefix('.') else {
        return Some(text);
    };
    let length = digits.bytes().take_while(u8::is_ascii_digit).count();
    (length > 0).then_some(())?;
    *out = format!(".{}", &digits[..length.min(9)]);
    Some(&digits[length..])
}

/// Reads `Z`, `+00:00`, `-0300`, `-03`, or nothing.
fn zone<'a>(text: &'a str, out: &mut String) -> Option<&'a str> {
    let trimmed = text.trim_start();
    if let Some(rest) = trimmed.strip_prefix(['Z', 'z']) {
        *out = "Z".to_owned();
        return Some(rest);
    }
    for utc in ["UTC", "GMT"] {
        if let Some(rest) = trimmed.strip_prefix(utc) {
            *out = "Z".to_owned();
            return Some(rest);
        }
    }
    let Some(rest) = trimmed.strip_prefix(['+', '-']) else {
        return Some(text);
    };
    let (mut hours, mut minutes) = (0, 0);
    let (length, mut after) = (
        rest.bytes().take(2).take_while(u8::is_ascii_digit).count(),
        some(rest, &mut hours)?,
    );
    (length == 2).then_some(())?;
    let colon = after.strip_prefix(':').unwrap_or(after);
    if colon.starts_with(|c: char| c.is_ascii_digit()) {
        after = some(colon, &mut minutes)?;
    }
    (hours < 15 && minutes < 60).then_some(())?;
    *out = format!("{}{hours:02}:{minutes:02}", &trimmed[..1]);
    Some(after)
}

/// Reads three letters or the whole name, in English, Portuguese or Spanish.
fn month_name<'a>(text: &'a str, out: &mut Option<i64>) -> Option<&'a str> {
    const NAMES: [&[&str]; 12] = [
        &["jan", "ene"],
        &["feb", "fev"],
        &["mar"],
        &["apr", "abr"],
        &["may", "mai"],
        &["jun"],
        &["jul"],
        &["aug", "ago"],
        &["sep", "set"],
        &["oct", "out"],
        &["nov"],
        &["dec", "dez", "dic"],
    ];
    let begin: String = text.chars().take(3).collect::<String>().to_lowercase();
    let month = NAMES
        .iter()
        .position(|names| names.contains(&begin.as_str()))?;
    *out = i64::try_from(month + 1).ok();
    Some(text.trim_start_matches(|c: char| c.is_alphabetic() || c == '.'))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn check(text: &str, expect: Option<&str>) {
        assert_eq!(read(&json!(text), &[], false).as_deref(), expect, "{text}");
    }

    #[test]
    fn usual_spellings_are_read_without_a_format() {
        check("1772452799", Some("2026-03-02T11:59:59Z"));
        check("1772452799042", Some("2026-03-02T11:59:59.042Z"));
        check("1772452799042000", Some("2026-03-02T11:59:59.042Z"));
        check(
            "2026-03-02T11:59:59.123-0300",
            Some("2026-03-02T11:59:59.123-03:00"),
        );
        check("2026-03-02T11:59:59Z", Some("2026-03-02T11:59:59Z"));
        check("2026-03-02 11:59:59", Some("2026-03-02T11:59:59"));
        check("2026-03-02 11:59:59 UTC", Some("2026-03-02T11:59:59Z"));
        check("2026-03-02T11:59+01", Some("2026-03-02T11:59:00+01:00"));
        check("2026-03-02", Some("2026-03-02T00:00:00"));
        check("02/03/2026 14:30", Some("2026-03-02T14:30:00"));
        check("02/03/2026, 14:30:05", Some("2026-03-02T14:30:05"));
        check("02/03/2026 às 14:30", Some("2026-03-02T14:30:00"));
        check("03/25/2026 2:30 PM", Some("2026-03-25T14:30:00"));
        for evening in [
            "3/2/2026 9:15 p.m.",
            "03/02/2026 9:15 PM",
            "3/2/2026, 9:15:00\u{202f}p. m.",
            "03-02-2026 09:15pm",
            "2026-02-03 9:15 PM",
            "2026-02-03T09:15 pm",
        ] {
            check(evening, Some("2026-02-03T21:15:00"));
        }
        check("3/2/2026 12:05 a.m.", Some("2026-02-03T00:05:00"));
        check("25/02/2026 9:15 PM", Some("2026-02-25T21:15:00"));
        check("03/02/2026 13:15 PM", None);
        check(
            "2026-03-02T12:00:00 01:00",
            Some("2026-03-02T12:00:00+01:00"),
        );
        check(
            "2026-03-02 12:00:00.5 0530",
            Some("2026-03-02T12:00:00.5+05:30"),
        );
        check("2026-03-02T12:00 01:00", None);
        check("2026-03-02T12:00:00 23:00", None);
        check("2026-03-02T12:00:00 1:00", None);
        check("29/02/2024", Some("2024-02-29T00:00:00"));
        check("29/02/2026", None);
        check("tomorrow", None);
        check("2026", None);
        check("12/2026", None);
        check("2024-12-20-12:10:30 -03:00", None);
        assert_eq!(
            read(&json!("03/02/2026"), &[], true).as_deref(),
            Some("2026-03-02T00:00:00")
        );
        assert_eq!(
            read(&json!("03/02/2026 9:15 PM"), &[], true).as_deref(),
            Some("2026-03-02T21:15:00")
        );
    }

    #[test]
    fn times_of_databases_are_read_from_their_objects() {
        for (value, expect) in [
            (
                json!({"_seconds": 1_772_453_730, "_nanoseconds": 5_000_000}),
                Some("2026-03-02T12:15:30.005Z"),
            ),
            (
                json!({"seconds": "1772453730", "nanos": 0}),
                Some("2026-03-02T12:15:30Z"),
            ),
            (
                json!({"seconds": 1_772_453_730}),
                Some("2026-03-02T12:15:30Z"),
            ),
            (
                json!({"$date": "2026-03-02T12:15:30Z"}),
                Some("2026-03-02T12:15:30Z"),
            ),
            (
                json!({"$date": {"$numberLong": "1772453730000"}}),
                Some("2026-03-02T12:15:30Z"),
            ),
            (
                json!({"date": "2026-03-02 09:15:30.000000", "timezone_type": 3, "timezone": "America/Sao_Paulo"}),
                Some("2026-03-02T09:15:30.000000[America/Sao_Paulo]"),
            ),
            (
                json!({"date": "2026-03-02 09:15:30.000000", "timezone_type": 1, "timezone": "-03:00"}),
                Some("2026-03-02T09:15:30.000000-03:00"),
            ),
            (
                json!({"date": "2026-03-02 09:15:30", "timezone": "UTC"}),
                Some("2026-03-02T09:15:30Z"),
            ),
            (json!({"seconds": i64::MAX}), None),
            (json!({"minutes": 3}), None),
        ] {
            assert_eq!(read(&value, &[], false).as_deref(), expect, "{value}");
        }
    }

    #[test]
    fn a_format_is_followed_exactly() {
        let check = |text: &str, format: &str, expect: Option<&str>| {
            let formats = [format.to_owned()];
            assert_eq!(
                read(&json!(text), &formats, false).as_deref(),
                expect,
                "{text}"
            );
        };
        check(
            "02.03.26 14h30",
            "%d.%m.%y %Hh%M",
            Some("2026-03-02T14:30:00"),
        );
        check(
            "2 de março 2026",
            "%d de %b %Y",
            Some("2026-03-02T00:00:00"),
        );
        check(
            "Dez 24 2026 12:05 a.m.",
            "%b %d %Y %I:%M %p",
            Some("2026-12-24T00:05:00"),
        );
        check("1772452799", "epoch", Some("2026-03-02T11:59:59Z"));
        check(
            "02.03.2026 12:00:00 01:00",
            "%d.%m.%Y %H:%M:%S%z",
            Some("2026-03-02T12:00:00+01:00"),
        );
        check("2026-03-02", "%d/%m/%Y", None);
        check("02/03/2026 x", "%d/%m/%Y", None);
        check("02/03/2026", "%d/%m/%Y %H:%M", None);
        check("02/03/2026 25:00", "%d/%m/%Y %H:%M", None);
        check("x", "%q", None);
        check("x", "%", None);
    }

    #[test]
    fn odd_texts_never_panic() {
        let text = "2026-03-02T11:59:59.123é-03:00 às PM março";
        for (at, _) in text.char_indices() {
            check(&text[at..], None);
            let _ = read(&json!(&text[..at]), &[], true);
            let _ = read(
                &json!(text),
                &[text[at..].to_owned(), "%Y%m%d%z%p%b%f".into()],
                true,
            );
        }
    }
}
