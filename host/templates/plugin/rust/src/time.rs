//! Times as sources write them, without a configured format: epochs, ISO 8601, and day
//! before month. The result is RFC 3339, or local time if the source names no zone: the
//! host knows the connection's.

use leadhost_sdk::epoch_to_rfc3339;

/// Returns a time, or `None` for a text that is none.
pub fn read(text: &str) -> Option<String> {
    let text = text.trim();
    epoch(text).or_else(|| date(text))
}

/// Reads seconds, milliseconds or microseconds: nine digits or more are after 1973.
fn epoch(text: &str) -> Option<String> {
    let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
    let is_number = |part: &str| part.bytes().all(|byte| byte.is_ascii_digit());
    if !is_number(whole) || !is_number(fraction) {
        return None;
    }
    let number: i64 = whole.parse().ok()?;
    match whole.len() {
        9..=14 => epoch_to_rfc3339(number),
        16 => epoch_to_rfc3339(number / 1000),
        _ => None,
    }
}

fn date(text: &str) -> Option<String> {
    let (first, after) = number(text, 4)?;
    let sign = after.chars().next().filter(|sign| "-/.".contains(*sign))?;
    let (second, after) = number(&after[1..], 2)?;
    let (third, after) = number(after.strip_prefix(sign)?, 4)?;
    let is_year = |part: &str| part.len() == 4;
    let (year, mut month, mut day) = match (is_year(first), is_year(third)) {
        (true, false) if sign != '.' && third.len() < 3 => (first, second, third),
        (false, true) if first.len() < 3 => (third, second, first),
        _ => return None,
    };
    // The month comes first where the second number can only be a day.
    if is_year(third) && month.parse::<u32>().ok()? > 12 {
        (month, day) = (day, month);
    }
    let (year, month, day): (u32, u32, u32) =
        (year.parse().ok()?, month.parse().ok()?, day.parse().ok()?);
    let is_day = (1..=9999).contains(&year)
        && (1..=12).contains(&month)
        && (1..=days(year, month)).contains(&day);
    let clock = is_day.then(|| clock(after))??;
    Some(format!("{year:04}-{month:02}-{day:02}T{clock}"))
}

/// Reads the time of day and the zone after a date. Without them it is midnight.
fn clock(after: &str) -> Option<String> {
    if after.trim().is_empty() {
        return Some("00:00:00".to_owned());
    }
    let spaced = after.trim_start_matches([' ', ',']);
    let spaced = spaced.strip_prefix("às ").unwrap_or(spaced);
    let after = if spaced.len() < after.len() {
        spaced
    } else {
        after.strip_prefix(['T', 't'])?
    };
    let (hour, after) = number(after, 2)?;
    let (minute, mut after) = number(after.strip_prefix(':')?, 2)?;
    let (mut second, mut fraction) = ("0", String::new());
    if let Some(rest) = after.strip_prefix(':') {
        (second, after) = number(rest, 2)?;
        if let Some(rest) = after.strip_prefix('.') {
            let length = rest.bytes().take_while(u8::is_ascii_digit).count();
            fraction = (length > 0).then(|| format!(".{}", &rest[..length.min(9)]))?;
            after = &rest[length..];
        }
    }
    let (hour, minute, second): (u32, u32, u32) = (
        hour.parse().ok()?,
        minute.parse().ok()?,
        second.parse().ok()?,
    );
    let zone = zone(after.trim())?;
    let is_clock = hour < 24 && minute < 60 && second < 61;
    is_clock.then(|| {
        format!(
            "{hour:02}:{minute:02}:{:02}{fraction}{zone}",
            second.min(59)
        )
    })
}

/// Reads `Z`, `UTC`, `+00:00`, `-0300`, `-03`, or nothing.
fn zone(text: &str) -> Option<String> {
    match text {
        "" => return Some(String::new()),
        "Z" | "z" | "UTC" | "GMT" => return Some("Z".to_owned()),
        _ => {}
    }
    let (hours, after) = number(text.strip_prefix(['+', '-'])?, 2)?;
    let minutes = after.strip_prefix(':').unwrap_or(after);
    let minutes = if after.is_empty() { "00" } else { minutes };
    let is_two = |part: &str| part.len() == 2 && part.bytes().all(|byte| byte.is_ascii_digit());
    let is_zone = is_two(hours) && is_two(minutes) && hours < "15" && minutes < "60";
    is_zone.then(|| format!("{}{hours}:{minutes}", &text[..1]))
}

/// Returns the first digits, at most so many, and what follows them.
fn number(text: &str, most: usize) -> Option<(&str, &str)> {
    let digits = text.bytes().take(most).take_while(u8::is_ascii_digit);
    let length = digits.count();
    (length > 0).then(|| text.split_at(length))
}

fn days(year: u32, month: u32) -> u32 {
    match month {
        2 if year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400)) => {
            29
        }
        2 => 28,
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn usual_spellings_are_read_and_other_texts_are_not() {
        for (text, expect) in [
            ("1772452799", "2026-03-02T11:59:59Z"),
            ("1772452799042", "2026-03-02T11:59:59.042Z"),
            ("2026-03-02T11:59:59.5-0300", "2026-03-02T11:59:59.5-03:00"),
            ("2026-03-02 11:59 UTC", "2026-03-02T11:59:00Z"),
            ("2026-03-02", "2026-03-02T00:00:00"),
            ("02/03/2026, 14:30", "2026-03-02T14:30:00"),
            ("2.3.2026 às 14:30:05", "2026-03-02T14:30:05"),
            ("03/25/2026", "2026-03-25T00:00:00"),
            ("29/02/2024", "2024-02-29T00:00:00"),
        ] {
            assert_eq!(super::read(text).as_deref(), Some(expect), "{text}");
        }
        for text in [
            "29/02/2026",
            "tomorrow",
            "2026",
            "12/2026",
            "2026-03-02T25:00",
            "2026-03-02x",
            "2026-03-02 10:00 às",
            "",
        ] {
            assert_eq!(super::read(text), None, "{text}");
        }
    }
}
