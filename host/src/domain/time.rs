//! Time in the service: microseconds since the epoch, UTC, written with exactly 27
//! characters, so that texts sort in the order of their times.

use std::fmt;
use std::time::Duration;

use chrono::{DateTime, Datelike as _, NaiveDate, Utc};
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

    /// Writes the whole seconds of a span.
    ///
    /// # Errors
    ///
    /// `S::Error` if the format cannot be written.
    pub fn serialize<S: Serializer>(span: &Duration, to: S) -> Result<S::Ok, S::Error> {
        to.serialize_u64(span.as_secs())
    }

    /// Reads a span from its seconds.
    ///
    /// # Errors
    ///
    /// `D::Error` if the value is not a whole number of 0 or more.
    pub fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Duration, D::Error> {
        u64::deserialize(from).map(Duration::from_secs)
    }
}

/// A span as JSON has it in whole microseconds, for `#[serde(with = "…")]`.
pub mod microseconds {
    use std::time::Duration;

    use serde::{Deserialize as _, Deserializer, Serializer};

    /// Writes the whole microseconds of a span, at most `u64::MAX`.
    ///
    /// # Errors
    ///
    /// `S::Error` if the format cannot be written.
    pub fn serialize<S: Serializer>(span: &Duration, to: S) -> Result<S::Ok, S::Error> {
        to.serialize_u64(u64::try_from(span.as_micros()).unwrap_or(u64::MAX))
    }

    /// Reads a span from its microseconds.
    ///
    /// # Errors
    ///
    /// `D::Error` if the value is not a whole number of 0 or more.
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

    /// Returns the beginning of its second.
    pub fn second(self) -> Self {
        Self(self.0 - self.0.rem_euclid(1_000_000))
    }

    /// Returns the beginning of its minute.
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
        let time = DateTime::<Utc>::from_timestamp_micros(self.0).unwrap_or(DateTime::UNIX_EPOCH);
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
    parse(text)
        .or_else(|| Some(now.minus(parse_span(text)?)))
        .or_else(|| parse(&format!("{text}Z")))
        .or_else(|| parse(&format!("{text}:00Z")))
}

/// Reads a time as clients send it: `Z` or an offset, a space in place of an unencoded
/// plus, any number of fractional digits (six count; the rest is cut, never rounded up), or
/// a bare date (midnight, UTC). Years 0000 to 9999; a time in 0000 is read as the first
/// moment of 0001.
pub fn parse(text: &str) -> Option<Micros> {
    let text = text.trim();
    if text.is_empty() || text.len() > 40 || !text.is_ascii() {
        return None;
    }
    if let Some(date) = bare_date(text) {
        let midnight = date.and_hms_opt(0, 0, 0).expect("midnight is");
        return served(date.year(), midnight.and_utc().timestamp_micros());
    }
    // A plus that was not percent-encoded arrives as a space before the offset.
    let spaced;
    let text = match text.rsplit_once(' ') {
        Some((left, offset))
            if left.contains(['T', 't', ' ']) && offset.len() == 5 && offset.contains(':') =>
        {
            spaced = format!("{left}+{offset}");
            &spaced
        }
        _ => text,
    };
    let time = DateTime::parse_from_rfc3339(text).ok()?;
    served(time.year(), time.timestamp_micros())
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

/// Reads `2030-01-31` exactly: the library would accept signs and blanks too.
fn bare_date(text: &str) -> Option<NaiveDate> {
    let is_digits = |part: &str| part.bytes().all(|byte| byte.is_ascii_digit());
    let mut parts = text.split('-');
    let (year, month, day) = (parts.next()?, parts.next()?, parts.next()?);
    let is_date = [(year, 4), (month, 2), (day, 2)]
        .iter()
        .all(|(part, length)| part.len() == *length && is_digits(part));
    if !is_date || parts.next().is_some() {
        return None;
    }
    NaiveDate::parse_from_str(text, "%Y-%m-%d").ok()
}

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
        check("2026-11-26T21", None);
        check("soon", None);
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
    fn the_text_has_six_digits_and_a_z() {
        assert_eq!(Micros(0).text(), "1970-01-01T00:00:00.000000Z");
        assert_eq!(
            Micros(1_700_000_000_120_000).text(),
            "2023-11-14T22:13:20.120000Z"
        );
        assert_eq!(Micros(0).text().len(), 27);
    }

    #[test]
    fn the_text_equals_the_formatted_time() {
        let year_1 = -62_135_596_800 * 1_000_000;
        let year_9999 = 253_402_300_799 * 1_000_000 + 999_999;
        let spread = (0..2_000).map(|at| year_1 + (year_9999 - year_1) / 2_000 * at + 7 * at);
        for micros in spread.chain([year_1, -1, 1, year_9999]) {
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

    const TIMES: [&str; 6] = [
        "2030-01-31T23:59:59.123456Z",
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
