//! Times as sources write them.

use serde_json::Value;

/// Returns a source's time in the form that the contract requires: an epoch (a
/// number, or digits in a text) as RFC 3339, an ISO text unchanged except that an
/// offset like `+0000` gets its colon. Returns `None` for an absent value.
pub fn time_text(value: &Value) -> Option<String> {
    let text = crate::text_of(value)?;
    let whole = text
        .split_once('.')
        .map_or(text.as_str(), |(whole, _)| whole);
    if let Ok(epoch) = whole.parse::<i64>()
        && epoch.unsigned_abs() > 9999
    {
        return epoch_to_rfc3339(epoch);
    }
    Some(with_colon(text))
}

/// `2026-03-02T12:00:00+0000` to `2026-03-02T12:00:00+00:00`.
fn with_colon(mut text: String) -> String {
    let bytes = text.as_bytes();
    if let [.., b'+' | b'-', a, b, c, d] = bytes
        && bytes.contains(&b':')
        && [a, b, c, d].iter().all(|byte| byte.is_ascii_digit())
    {
        text.insert(text.len() - 2, ':');
    }
    text
}

/// Returns an epoch in seconds, or in milliseconds if it is above 1e11, as RFC 3339
/// in UTC. Returns `None` for times outside the years 1 to 9999.
pub fn epoch_to_rfc3339(epoch: i64) -> Option<String> {
    let (seconds, millis) = if epoch.unsigned_abs() > MILLIS_ABOVE {
        (epoch.div_euclid(1000), epoch.rem_euclid(1000))
    } else {
        (epoch, 0)
    };
    if !(EARLIEST..=LATEST).contains(&seconds) {
        return None;
    }
    let (year, month, day) = civil(seconds.div_euclid(86_400));
    let second = seconds.rem_euclid(86_400);
    let (hour, minute, second) = (second / 3600, second / 60 % 60, second % 60);
    let date = format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}");
    Some(if millis == 0 {
        format!("{date}Z")
    } else {
        format!("{date}.{millis:03}Z")
    })
}

/// 1e11 seconds are the year 5138; 1e11 milliseconds are 1973.
const MILLIS_ABOVE: u64 = 100_000_000_000;
/// 0001-01-01T00:00:00Z.
const EARLIEST: i64 = -62_135_596_800;
/// 9999-12-31T23:59:59Z.
const LATEST: i64 = 253_402_300_799;

/// Returns year, month and day of a number of days since 1970-01-01. The calendar
/// repeats every 400 years. Years are counted from March, so that the leap day is the
/// last of its year.
fn civil(days: i64) -> (i64, i64, i64) {
    let days = days + 719_468;
    let era = days.div_euclid(146_097);
    let day_of_era = days.rem_euclid(146_097);
    let year_of_era =
        (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month_from_march = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * month_from_march + 2) / 5 + 1;
    let month = if month_from_march < 10 {
        month_from_march + 3
    } else {
        month_from_march - 9
    };
    let year = year_of_era + era * 400 + i64::from(month <= 2);
    (year, month, day)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn times_come_as_numbers_digits_and_iso_texts() {
        let check = |value: Value, expect: Option<&str>| {
            assert_eq!(time_text(&value).as_deref(), expect, "{value}");
        };
        check(json!(1_772_452_799), Some("2026-03-02T11:59:59Z"));
        check(json!(1_772_452_799.5), Some("2026-03-02T11:59:59Z"));
        check(json!("1772452799000"), Some("2026-03-02T11:59:59Z"));
        check(
            json!("2026-03-02T11:59:59+0000"),
            Some("2026-03-02T11:59:59+00:00"),
        );
        check(
            json!("2026-03-02T11:59:59.123Z"),
            Some("2026-03-02T11:59:59.123Z"),
        );
        check(json!("2026-03-02 11:59"), Some("2026-03-02 11:59"));
        check(json!("02-03-2026"), Some("02-03-2026"));
        check(json!("é+0000"), Some("é+0000"));
        check(json!(""), None);
        check(json!(null), None);
        check(json!("99999999999999999999"), Some("99999999999999999999"));
    }

    #[test]
    fn seconds_and_milliseconds_are_distinguished() {
        let check = |epoch: i64, expect: Option<&str>| {
            assert_eq!(epoch_to_rfc3339(epoch).as_deref(), expect, "{epoch}");
        };
        check(0, Some("1970-01-01T00:00:00Z"));
        check(951_782_400, Some("2000-02-29T00:00:00Z"));
        check(1_772_452_799, Some("2026-03-02T11:59:59Z"));
        check(1_772_452_799_042, Some("2026-03-02T11:59:59.042Z"));
        check(1_772_452_799_000, Some("2026-03-02T11:59:59Z"));
        check(-1, Some("1969-12-31T23:59:59Z"));
        check(i64::MAX, None);
        check(i64::MIN, None);
    }
}
