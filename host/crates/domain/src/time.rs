//! Time in the service: microseconds since the epoch, UTC, written with exactly 27
//! characters, so that texts sort in the order of their times.

use std::fmt;
use std::time::Duration;

use chrono::{DateTime, Datelike as _, NaiveDate, NaiveDateTime, Utc};
use jiff::Timestamp;
use jiff::tz::Offset;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use utoipa::openapi::RefOr;
use utoipa::openapi::schema::{KnownFormat, ObjectBuilder, Schema, SchemaFormat, Type};

/// An instant: microseconds since 1970-01-01T00:00:00Z. The time between two instants is a
/// [`Duration`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Micros(pub i64);

/// Returns the whole microseconds of a span, at most `i64::MAX`.
pub fn micros(span: Duration) -> i64 {
    i64::try_from(span.as_micros()).unwrap_or(i64::MAX)
}

/// Returns this many times a number of seconds. A negative number, which no configuration and no
/// file may have, counts as none.
pub fn span(many: i64, seconds: u64) -> Duration {
    let many = u64::try_from(many).unwrap_or(0);
    Duration::from_secs(many.saturating_mul(seconds))
}

/// Reads a span as people write it: a whole number and its unit, such as `90s`, `5m`, `24h`, `30d`.
pub fn parse_span(text: &str) -> Option<Duration> {
    let unit = match text.chars().last()? {
        's' => 1,
        'm' => 60,
        'h' => 3_600,
        'd' => 86_400,
        _ => return None,
    };
    let number: u32 = text[..text.len() - 1].parse().ok()?;
    Some(Duration::from_secs(u64::from(number) * unit))
}

/// Returns the seconds of a span, rounded up.
pub fn whole_seconds(span: Duration) -> u64 {
    span.as_secs()
        .saturating_add(u64::from(span.subsec_nanos() > 0))
}

/// Formats a time in its largest useful unit, rounded up.
pub fn rounded(seconds: u64) -> String {
    match seconds {
        0..120 => format!("{seconds} s"),
        120..7_200 => format!("{} min", seconds.div_ceil(60)),
        7_200..172_800 => format!("{} h", seconds.div_ceil(3_600)),
        _ => format!("{} d", seconds.div_ceil(86_400)),
    }
}

/// A span as JSON has it in whole seconds, for `#[serde(with = "…")]`.
pub mod seconds {
    use std::time::Duration;

    use serde::{Deserialize as _, Deserializer, Serializer};

    pub fn serialize<S: Serializer>(span: &Duration, to: S) -> Result<S::Ok, S::Error> {
        to.serialize_u64(span.as_secs())
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Duration, D::Error> {
        u64::deserialize(from).map(Duration::from_secs)
    }
}

/// A span as JSON has it in whole microseconds, for `#[serde(with = "…")]`.
pub mod microseconds {
    use std::time::Duration;

    use serde::{Deserialize as _, Deserializer, Serializer};

    pub fn serialize<S: Serializer>(span: &Duration, to: S) -> Result<S::Ok, S::Error> {
        to.serialize_u64(u64::try_from(span.as_micros()).unwrap_or(u64::MAX))
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Duration, D::Error> {
        u64::deserialize(from).map(Duration::from_micros)
    }
}

impl Micros {
    /// Returns the instant after this span, or the last instant that fits if that is earlier.
    pub fn plus(self, span: Duration) -> Self {
        Self(self.0.saturating_add(micros(span)))
    }

    /// Returns the instant before this span, or the first instant that fits if that is later.
    pub fn minus(self, span: Duration) -> Self {
        Self(self.0.saturating_sub(micros(span)))
    }

    /// Moves by seconds that may be negative: the offset of a zone, or the step of a test's
    /// clock. For a span see [`Self::plus`].
    pub fn plus_seconds(self, seconds: i64) -> Self {
        Self(self.0.saturating_add(seconds.saturating_mul(1_000_000)))
    }

    /// Returns the time from `earlier` to this. Zero if `earlier` is later.
    pub fn since(self, earlier: Self) -> Duration {
        let micros = self.0.saturating_sub(earlier.0);
        Duration::from_micros(u64::try_from(micros).unwrap_or(0))
    }

    /// Returns whether this was less than `most` ago. False for a time in the future: the
    /// clock was set back since.
    pub fn is_recent(self, now: Self, most: Duration) -> bool {
        self <= now && now.since(self) < most
    }

    /// Returns whether this is in the future by at most `most`. A time further ahead was
    /// computed before the clock was set back, and no longer counts.
    pub fn is_ahead(self, now: Self, most: Duration) -> bool {
        self > now && self.since(now) <= most
    }

    /// Returns the number of the slot of this length that it is in. The slots begin in 1970.
    pub fn slot(self, length: Duration) -> i64 {
        self.0.div_euclid(micros(length).max(1))
    }

    /// Returns the beginning of the slot of this length with this number.
    pub fn from_slot(number: i64, length: Duration) -> Self {
        Self(number.saturating_mul(micros(length)))
    }

    pub fn second(self) -> Self {
        Self(self.0 - self.0.rem_euclid(1_000_000))
    }

    pub fn minute(self) -> Self {
        Self(self.0 - self.0.rem_euclid(60 * 1_000_000))
    }

    /// Returns `YYYY-MM-DDTHH:MM:SS.ffffffZ`, always with six digits.
    pub fn text(self) -> String {
        self.to_string()
    }

    /// Returns the text without fractions of a second: `YYYY-MM-DDTHH:MM:SSZ`.
    pub fn to_the_second(self) -> String {
        let text = self.to_string();
        format!("{}Z", &text[..text.len() - ".000000Z".len()])
    }

    /// The same text without `fmt`, for the years 0 to 9999: every row of an export has
    /// several.
    pub fn digits(self) -> Option<[u8; 27]> {
        let time = Timestamp::from_microsecond(self.0).ok()?;
        let time = Offset::UTC.to_datetime(time);
        let mut digits = *b"0000-00-00T00:00:00.000000Z";
        put::<4>(&mut digits, 0, u32::try_from(time.year()).ok()?);
        put::<2>(&mut digits, 5, time.month().unsigned_abs().into());
        put::<2>(&mut digits, 8, time.day().unsigned_abs().into());
        put::<2>(&mut digits, 11, time.hour().unsigned_abs().into());
        put::<2>(&mut digits, 14, time.minute().unsigned_abs().into());
        put::<2>(&mut digits, 17, time.second().unsigned_abs().into());
        let micros = time.subsec_nanosecond().unsigned_abs() / 1_000;
        put::<6>(&mut digits, 20, micros);
        Some(digits)
    }
}

impl utoipa::PartialSchema for Micros {
    fn schema() -> RefOr<Schema> {
        let format = SchemaFormat::KnownFormat(KnownFormat::DateTime);
        ObjectBuilder::new()
            .schema_type(Type::String)
            .format(Some(format))
            .into()
    }
}

impl utoipa::ToSchema for Micros {}

impl fmt::Display for Micros {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(digits) = self.digits() {
            return f.write_str(std::str::from_utf8(&digits).expect("digits"));
        }
        // Another year has no text that sorts and can be read again.
        let Self(served) = (*self).clamp(FIRST, LAST);
        let time = DateTime::<Utc>::from_timestamp_micros(served).expect("a year up to 9999");
        write!(f, "{}", time.format("%Y-%m-%dT%H:%M:%S%.6fZ"))
    }
}

impl Serialize for Micros {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

/// Writes a number of `WIDTH` digits at this place.
fn put<const WIDTH: usize>(to: &mut [u8], place: usize, mut number: u32) {
    for digit in to[place..place + WIDTH].iter_mut().rev() {
        *digit = b'0' + (number % 10) as u8;
        number /= 10;
    }
}

impl<'de> Deserialize<'de> for Micros {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        parse(&text).ok_or_else(|| serde::de::Error::custom("expected an RFC 3339 time"))
    }
}

/// Reads a time as people name it: as [`parse`] does, or by how long before `now` it was, as
/// [`parse_span`] reads that. A time without a zone is UTC, and its seconds may be left out, as the
/// date fields of browsers do.
pub fn parse_moment(text: &str, now: Micros) -> Option<Micros> {
    let text = text.trim();
    let before = || Some(now.minus(parse_span(text)?)).filter(|moment| *moment >= FIRST);
    parse(text)
        .or_else(before)
        .or_else(|| parse(&format!("{text}Z")))
}

/// Reads a date of HTTP (RFC 9110), in its own form or one of the two former ones.
pub fn parse_http_date(text: &str) -> Option<Micros> {
    const FORMS: [&str; 3] = [
        "%a, %d %b %Y %H:%M:%S GMT",
        "%A, %d-%b-%y %H:%M:%S GMT",
        "%a %b %e %H:%M:%S %Y",
    ];
    let time = FORMS
        .iter()
        .find_map(|form| NaiveDateTime::parse_from_str(text.trim(), form).ok())?;
    served(time.year(), time.and_utc().timestamp_micros())
}

/// Reads a time as [`read`] does, and does not say why it cannot.
pub fn parse(text: &str) -> Option<Micros> {
    read(text).ok()
}

/// Why a text is not a moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TimeError {
    /// It is a date and a time of day, anywhere on earth.
    NoOffset,
    NotTime,
}

impl TimeError {
    /// Returns what a refusal says between the name of the value and what it must be.
    pub const fn lacks(self) -> &'static str {
        match self {
            Self::NoOffset => " has no offset from UTC: it",
            Self::NotTime => "",
        }
    }
}

/// Reads a time as clients send it: every form of ISO 8601 with a calendar date, a time of day and
/// an offset, so RFC 3339, `+0000`, `+00` and the basic format too; with a space in place of the `T`
/// and of a plus that was not percent-encoded, or a bare date (midnight, UTC). Six fractional digits
/// count; the rest is cut, never rounded up. Years 0000 to 9999; a time in 0000 is read as the first
/// moment of 0001.
pub fn read(text: &str) -> Result<Micros, TimeError> {
    let text = text.trim();
    if text.is_empty() || text.len() > 40 {
        return Err(TimeError::NotTime);
    }
    let (date, rest) = calendar_date(text).ok_or(TimeError::NotTime)?;
    let midnight = date.and_hms_opt(0, 0, 0).expect("midnight is");
    let midnight = midnight.and_utc().timestamp_micros();
    let served = |micros| served(date.year(), micros).ok_or(TimeError::NotTime);
    if rest.is_empty() && text.contains('-') {
        return served(midnight);
    }
    let (clock, rest) = rest
        .strip_prefix(['T', 't', ' '])
        .and_then(time_of_day)
        .ok_or(TimeError::NotTime)?;
    if rest.is_empty() {
        return Err(TimeError::NoOffset);
    }
    let offset = offset(rest).ok_or(TimeError::NotTime)?;
    served(midnight + clock - offset * 1_000_000)
}

/// Splits off the two digits that a text begins with.
fn two_digits(text: &str) -> Option<(u32, &str)> {
    let (digits, rest) = text.split_at_checked(2)?;
    let is_number = digits.bytes().all(|byte| byte.is_ascii_digit());
    Some((digits.parse().ok().filter(|_| is_number)?, rest))
}

/// Splits off `2030-01-31` or `20300131`. The library would accept signs and blanks too.
fn calendar_date(text: &str) -> Option<(NaiveDate, &str)> {
    let (century, rest) = two_digits(text)?;
    let (year, rest) = two_digits(rest)?;
    let extended = rest.strip_prefix('-');
    let (month, rest) = two_digits(extended.unwrap_or(rest))?;
    let rest = match extended {
        Some(_) => rest.strip_prefix('-')?,
        None => rest,
    };
    let (day, rest) = two_digits(rest)?;
    let year = i32::try_from(century * 100 + year).ok()?;
    Some((NaiveDate::from_ymd_opt(year, month, day)?, rest))
}

/// Splits off a time of day, in microseconds since midnight: `12:30:59.5`, `123059,5`, `12:30` or `12`.
/// A fraction belongs to the last part. 24:00 is the end of the day, and a minute may have a second 60.
fn time_of_day(text: &str) -> Option<(i64, &str)> {
    let (hours, mut rest) = two_digits(text)?;
    let (mut seconds, mut unit) = (hours * 3_600, 3_600);
    let is_extended = rest.starts_with(':');
    for (next, most) in [(60, 59), (1, 60)] {
        let part = if is_extended {
            rest.strip_prefix(':')
        } else {
            rest.starts_with(|c: char| c.is_ascii_digit())
                .then_some(rest)
        };
        let Some(part) = part else {
            break;
        };
        let (number, after) = two_digits(part)?;
        if number > most {
            return None;
        }
        (seconds, unit, rest) = (seconds + number * next, next, after);
    }
    let mut micros = i64::from(seconds) * 1_000_000;
    if let Some(fraction) = rest.strip_prefix(['.', ',']) {
        let end = fraction.find(|c: char| !c.is_ascii_digit());
        let (digits, after) = fraction.split_at(end.unwrap_or(fraction.len()));
        let nanos: i64 = format!("{:0<9}", digits.get(..9).unwrap_or(digits))
            .parse()
            .ok()?;
        if digits.is_empty() {
            return None;
        }
        (micros, rest) = (micros + nanos * i64::from(unit) / 1_000, after);
    }
    let is_in_day = hours < 24 || micros == 24 * 3_600 * 1_000_000;
    is_in_day.then_some((micros, rest))
}

/// Reads an offset from UTC, in seconds: `Z`, `+03:00`, `-0300` or `+00`. The sign may be the one that
/// typographers write, and a plus that was not percent-encoded is a space.
fn offset(text: &str) -> Option<i64> {
    let signed = text.trim_start();
    if signed.eq_ignore_ascii_case("z") {
        return Some(0);
    }
    let (sign, digits) = match signed.strip_prefix(['-', '\u{2212}']) {
        Some(digits) => (-1, digits),
        None if signed.len() < text.len() => (1, signed.strip_prefix('+').unwrap_or(signed)),
        None => (1, signed.strip_prefix('+')?),
    };
    let (hours, rest) = two_digits(digits)?;
    let (minutes, rest) = match rest {
        "" => (0, ""),
        rest => two_digits(rest.strip_prefix(':').unwrap_or(rest))?,
    };
    let is_offset = rest.is_empty() && hours < 24 && minutes < 60;
    is_offset.then_some(sign * i64::from(hours * 3_600 + minutes * 60))
}

/// Returns the time for a year that RFC 3339 knows. A time before the year 1 becomes the
/// first moment of these years, and one that its offset moves past 9999 the last.
pub(super) fn served(year: i32, micros: i64) -> Option<Micros> {
    let is_served = (0..=9_999).contains(&year);
    is_served.then(|| Micros(micros).clamp(FIRST, LAST))
}

/// `0001-01-01T00:00:00Z`, and the last microsecond of the year 9999.
const FIRST: Micros = Micros(-62_135_596_800 * 1_000_000);
const LAST: Micros = Micros(253_402_300_800 * 1_000_000 - 1);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_span_ends_at_the_last_instant_and_is_never_negative() {
        let (first, last) = (Micros(i64::MIN), Micros(i64::MAX));
        assert_eq!(Micros(1).plus(Duration::MAX), last);
        assert_eq!(Micros(-2).minus(Duration::MAX), first);
        assert_eq!(last.since(first), Duration::from_micros(i64::MAX as u64));
        assert_eq!(Micros(7).since(Micros(4)), Duration::from_micros(3));
        assert_eq!(Micros(4).since(Micros(7)), Duration::ZERO);
        assert_eq!(micros(Duration::from_nanos(1_999)), 1);
        assert_eq!(whole_seconds(Duration::from_nanos(1)), 1);
        assert_eq!(whole_seconds(Duration::from_secs(2)), 2);
        assert_eq!(Micros(-1).minute(), Micros(-60_000_000));
        assert_eq!(Micros(-1).second(), Micros(-1_000_000));
        assert_eq!(Micros(1_999_999).second(), Micros(1_000_000));
    }

    #[test]
    fn a_time_on_the_other_side_of_now_is_neither_recent_nor_ahead() {
        let most = Duration::from_micros(3);
        let now = Micros(10);
        let recent = (0..20).filter(|at| Micros(*at).is_recent(now, most));
        assert_eq!(recent.collect::<Vec<_>>(), [8, 9, 10]);
        let ahead = (0..20).filter(|at| Micros(*at).is_ahead(now, most));
        assert_eq!(ahead.collect::<Vec<_>>(), [11, 12, 13]);
        assert!(!Micros(i64::MIN).is_recent(now, most) && !Micros(i64::MAX).is_ahead(now, most));
        assert!(!now.is_recent(now, Duration::ZERO));
    }

    #[test]
    fn a_moment_may_be_without_zone_and_seconds() {
        let check = |text: &str, expect: Option<&str>| {
            let expect = expect.and_then(parse);
            assert_eq!(parse_moment(text, Micros(0)), expect, "{text}");
        };
        check("2026-11-26T21:00", Some("2026-11-26T21:00:00Z"));
        check("2026-11-26T21:00:07", Some("2026-11-26T21:00:07Z"));
        check("2026-11-26 21:00", Some("2026-11-26T21:00:00Z"));
        check("2026-11-26T21:00:07-03:00", Some("2026-11-27T00:00:07Z"));
        check("1s", Some("1969-12-31T23:59:59Z"));
        check("2026-11-26T21", Some("2026-11-26T21:00:00Z"));
        check("2026-11-26Z", None);
        check("soon", None);
        // Before the year 1 there is no time.
        check("3000000d", None);
        check("4294967295d", None);
    }

    #[test]
    fn a_time_past_the_last_year_is_written_as_its_last_moment() {
        for (time, written) in [
            (LAST.plus(Duration::from_micros(1)), LAST),
            (Micros(i64::MAX), LAST),
            (Micros(i64::MIN), FIRST),
        ] {
            assert_eq!(parse(&time.text()), Some(written));
        }
    }

    #[test]
    fn a_date_of_http_is_read_in_each_of_its_forms() {
        let expected = parse("1994-11-06T08:49:37Z");
        for text in [
            "Sun, 06 Nov 1994 08:49:37 GMT",
            "Sunday, 06-Nov-94 08:49:37 GMT",
            "Sun Nov  6 08:49:37 1994",
        ] {
            assert_eq!(parse_http_date(text), expected, "{text}");
        }
        for text in [
            "",
            "30",
            "Sun, 06 Nov 1994 08:49:37",
            "1994-11-06T08:49:37Z",
        ] {
            assert_eq!(parse_http_date(text), None, "{text}");
        }
    }

    #[test]
    fn a_span_is_read_with_its_unit() {
        let check = |text: &str, expect: Option<u64>| {
            assert_eq!(parse_span(text), expect.map(Duration::from_secs), "{text}");
        };
        check("90s", Some(90));
        check("5m", Some(300));
        check("24h", Some(86_400));
        check("30d", Some(30 * 86_400));
        check("0s", Some(0));
        for text in ["", "90", "s", "1w", "-1s", "1.5h", "4294967296s", "1é"] {
            check(text, None);
        }
    }

    #[test]
    fn the_text_equals_the_formatted_time() {
        let year_1 = -62_135_596_800 * 1_000_000;
        let year_9999 = 253_402_300_799 * 1_000_000 + 999_999;
        let spread = (0..2_000).map(|at| year_1 + (year_9999 - year_1) / 2_000 * at + 7 * at);
        for micros in spread.chain([year_1, -1, 0, year_9999]) {
            let time = DateTime::<Utc>::from_timestamp_micros(micros).expect("a time");
            let expect = time.format("%Y-%m-%dT%H:%M:%S%.6fZ").to_string();
            assert_eq!(Micros(micros).text(), expect);
        }
    }

    #[test]
    fn times_are_read_as_clients_send_them() {
        let check = |text: &str, expect: Option<i64>| {
            assert_eq!(parse(text).map(|m| m.0), expect, "{text}")
        };
        check("1970-01-01T00:00:01Z", Some(1_000_000));
        check("1970-01-01T00:00:01.1234569Z", Some(1_123_456));
        check("1970-01-01T01:00:00+01:00", Some(0));
        check("1970-01-01T01:00:00 01:00", Some(0));
        check("1970-01-01 01:00:00 01:00", Some(0));
        check("1970-01-01 00:00:01Z", Some(1_000_000));
        check("1970-01-01T00:00:01.1234567899Z", Some(1_123_456));
        check("1970-01-01 01:00", None);
        check("1970-01-02", Some(24 * 3_600 * 1_000_000));
        check("", None);
        check("yesterday", None);
        check("1970-13-01", None);
        check("1970- 1- 2", None);
        check("+197-01-02", None);
        check("-197-01-02", None);
        check("1970-1-002", None);
        check("1970-01-01T00:00:00", None);
    }

    #[test]
    fn every_form_of_a_time_with_an_offset_is_the_same_moment() {
        let noon = parse("2026-01-31T12:00:00Z");
        assert!(noon.is_some());
        for text in [
            "2026-01-31T12:00:00+0000",
            "2026-01-31T12:00:00 0000",
            "2026-01-31T12:00:00+00",
            "2026-01-31T12:00:00 00",
            "2026-01-31T12:00:00 +0000",
            "2026-01-31T12:00:00-0000",
            "2026-01-31T09:00:00-0300",
            "2026-01-31T09:00:00-03",
            "2026-01-31T09:00:00\u{2212}03:00",
            "2026-01-31T17:30:00+0530",
            "2026-01-31T17:30:00 0530",
            "2026-02-01T01:00:00.000000+13:00",
            "2026-01-31 12:00:00+00:00",
            "2026-01-31 12:00:00.000000+00",
            "2026-01-31 12:00:00 00:00",
            "2026-01-31 12:00:00 -0000",
            "2026-01-31 09:00:00 -0300",
            "2026-01-31t12:00:00z",
            "2026-01-31T12:00:00,000Z",
            "2026-01-31T12:00Z",
            "2026-01-31T12Z",
            "2026-01-31T11.5-00:30",
            "20260131T120000Z",
            "20260131T120000+0000",
            "20260131T120000 0000",
            "20260131T090000-0300",
            "20260131T120000.000Z",
            "20260131T1200Z",
            "20260131 120000Z",
            "20260131T12:00:00Z",
            "2026-01-31T120000Z",
        ] {
            assert_eq!(parse(text), noon, "{text}");
        }
        let check = |text: &str, expect: &str| assert_eq!(parse(text), parse(expect), "{text}");
        check("2026-01-31T24:00:00Z", "2026-02-01T00:00:00Z");
        check("2026-01-31T23:59:60Z", "2026-02-01T00:00:00Z");
        check("2026-01-31T12:00:00,25+0000", "2026-01-31T12:00:00.25Z");
        check("20260131T120000,250Z", "2026-01-31T12:00:00.25Z");
        check("2026-01-31T12:30,5Z", "2026-01-31T12:30:30Z");
    }

    #[test]
    fn a_text_that_names_no_moment_is_told_apart_from_one_that_lacks_its_offset() {
        for text in [
            "2026-01-31T12:00:00",
            "2026-01-31 12:00:00",
            "2026-01-31T12:00",
            "2026-01-31 12:00",
            "20260131T120000",
            "2026-01-31T12:00:00.5",
        ] {
            assert_eq!(read(text), Err(TimeError::NoOffset), "{text}");
        }
        for text in [
            "",
            "20260131",
            "1769860800",
            "1769860800000",
            "2026-01-31Z",
            "2026-01-31+00:00",
            "2026-02-30T12:00:00Z",
            "2026-01-31T24:00:01Z",
            "2026-01-31T25:00:00Z",
            "2026-01-31T12:60:00Z",
            "2026-01-31T12:00:61Z",
            "2026-01-31T12:00:00.Z",
            "2026-01-31T12:00:00+24:00",
            "2026-01-31T12:00:00+0060",
            "2026-01-31T12:00:00+3",
            "2026-01-31T12:00:00+000",
            "2026-01-31T12:00:00+00:00:00",
            "2026-01-31T12:00:00Z0",
            "2026-01-31T12:00:00BRT",
            "2026-0131T12:00:00Z",
            "202601-31T12:00:00Z",
            "\u{0662}026-01-31T12:00:00Z",
            "2026-01-31T12:00:00.0000000000000000000000Z",
        ] {
            assert_eq!(read(text), Err(TimeError::NotTime), "{text}");
        }
    }

    #[test]
    fn a_time_outside_the_printable_years_becomes_their_first_or_last_moment() {
        let last = "9999-12-31T23:59:59.999999Z";
        assert_eq!(parse(last), Some(LAST));
        assert_eq!(parse("0001-01-01"), Some(FIRST));
        for text in ["0000-01-01", "0000-12-31T23:59:59+00:01"] {
            assert_eq!(parse(text), Some(FIRST), "{text}");
        }
        for (text, expect) in [
            ("0001-01-01T00:00:00+00:01", Some(FIRST)),
            ("9999-12-31T23:59:59-00:01", Some(LAST)),
            ("9999-12-31T23:59:60Z", Some(LAST)),
        ] {
            assert_eq!(parse(text), expect, "{text}");
        }
    }
}

#[cfg(test)]
mod fuzz {
    use leadhost_fuzz::{damaged_text, holds};

    use super::*;

    const TIMES: [&str; 8] = [
        "2030-01-31T23:59:59.123456Z",
        "20300131T235959,5-0300",
        "2030-01-31t24 0000",
        "2030-01-31T23:59:60.9999999+23:59",
        "0001-01-01T00:00:00-00:00",
        "9999-12-31T23:59:59.999999Z",
        "2030-01-31 01:00:00 01:00",
        "2030-01-31",
    ];
    const WORDS: [&str; 14] = [
        "0", "9", "59", "60", "0000", "9999", "-", "+", ":", "T", "Z", " ", ".", "23:59",
    ];

    /// Printing gives the time's own text, which reads back as the same time.
    fn is_printed(time: Micros) {
        let printed = time.text();
        assert_eq!(printed.len(), 27, "{printed}");
        assert_eq!(parse(&printed), Some(time), "{printed}");
        let as_json = serde_json::to_string(&time).expect("a time is JSON");
        let read: Micros = serde_json::from_str(&as_json).expect("it was written");
        assert_eq!(read, time);
    }

    #[test]
    fn fuzz_a_time_that_is_read_is_printed_as_the_same_time() {
        holds(6_000, damaged_text(TIMES, &WORDS), |text| {
            if let Some(time) = parse(text) {
                is_printed(time);
            }
        });
    }

    #[test]
    fn fuzz_every_time_of_the_years_that_are_served_is_printed_as_itself() {
        let first = parse("0001-01-01").expect("a date").0;
        let last = parse("9999-12-31T23:59:59.999999Z").expect("a time").0;
        holds(4_000, first..=last, |micros| is_printed(Micros(*micros)));
    }
}
