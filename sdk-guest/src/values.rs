//! Values as sources write them: each takes a text that may be absent, and returns one that fits, if it does.

use serde_json::Value;

use crate::text::{digits, present};
use crate::written_time;

/// Returns texts with a space between; of a first one whose last words are the second only the first: some
/// sources send the whole name as the first.
pub fn join<const N: usize>(texts: [Option<String>; N]) -> Option<String> {
    let mut texts = texts.into_iter().filter_map(present);
    let mut joined = texts.next()?;
    for text in texts {
        if !ends_with_words(&joined, &text) {
            joined = format!("{joined} {text}");
        }
    }
    Some(joined)
}

/// Whether the last words of a text are these: `Prado` of `Ana Prado`, not `Chen` of `Yuchen`.
pub fn ends_with_words(text: &str, words: &str) -> bool {
    let (text, words) = (text.to_lowercase(), words.to_lowercase());
    let before = text.strip_suffix(&words);
    before.is_some_and(|before| before.is_empty() || before.ends_with(char::is_whitespace))
}

/// Returns the number that a text is. A sign that groups three digits each is none of decimals: `500.000` is
/// five hundred thousand, as `1.234,56` and `1,234.56` show it in their languages.
pub fn written_number(text: &str) -> Option<f64> {
    let is_digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    let unsigned = text.trim_start_matches(['+', '-']);
    let grouped = || {
        let point = unsigned.find(['.', ',']).map(|at| &unsigned[at..=at])?;
        let decimal = if point == "." { ',' } else { '.' };
        let (whole, decimals) = unsigned.split_once(decimal).unwrap_or((unsigned, "0"));
        let (first, groups) = whole.split_once(point)?;
        let is_grouped = (1..=3).contains(&first.len())
            && !first.starts_with('0')
            && groups
                .split(point)
                .all(|group| group.len() == 3 && is_digits(group));
        let sign = &text[..text.len() - unsigned.len()];
        let written = format!("{sign}{}.{decimals}", whole.replace(point, ""));
        (is_grouped && is_digits(first) && is_digits(decimals)).then_some(written)
    };
    let written = grouped().unwrap_or_else(|| text.replace(',', "."));
    written
        .parse()
        .ok()
        .filter(|number: &f64| number.is_finite())
}

/// Returns a phone as the source wrote it; `None` if it has at most three digits, as an area code alone. A whole
/// number that a program wrote as `1.1987654321e+10` is its digits.
pub fn phone(text: Option<String>) -> Option<String> {
    phone_with_codes(text, None, None)
}

/// Returns a phone with the area code and the country (a calling code, or the ISO code) that are beside it,
/// unless it has them itself.
pub fn phone_with_codes(
    text: Option<String>,
    area: Option<String>,
    country: Option<String>,
) -> Option<String> {
    let text = present(text)?;
    let is_of_program = text.ends_with(".0") || text.contains(['e', 'E']);
    let whole = is_of_program.then(|| whole_number(&text)).flatten();
    let phone = whole.unwrap_or(text);
    let is_phone = digits(&phone).len() > 3 && !is_test_mark(&phone);
    is_phone.then(|| with_codes(&phone, area.as_deref(), present(country).as_deref()))
}

/// Whether a text is what Meta sends in place of an answer of a test lead, such as
/// `<test lead: dummy data for phone_number>`. It can be a name, but is no phone and no address.
pub fn is_test_mark(text: &str) -> bool {
    text.trim_start().starts_with("<test lead")
}

/// Returns an e-mail address; `None` if the text has no `@`.
pub fn email(text: Option<String>) -> Option<String> {
    present(text).filter(|text| text.contains('@'))
}

/// Returns a time as the contract has it: RFC 3339, or local time if the text names no zone. `None` if it is
/// neither an epoch nor ISO 8601 nor a date with the day in front.
pub fn time(text: Option<String>) -> Option<String> {
    written_time::read(&Value::String(text?), &[], false)
}

/// Whether a text means yes, in the languages of usual forms.
pub fn yes(text: Option<String>) -> bool {
    let text = text.unwrap_or_default().to_lowercase().replace('í', "i");
    let letters = text.chars().filter(char::is_ascii_alphanumeric);
    YES.contains(&letters.collect::<String>().as_str())
}

/// Words for yes, in lower case and without accents.
pub const YES: [&str; 13] = [
    "true", "1", "yes", "y", "sim", "s", "si", "on", "test", "teste", "aceito", "accepted",
    "granted",
];

/// Adds the area code and the country that are beside a phone, if it has none itself. The host
/// knows whether a number has its country's code already, and which zeros are dropped: it gets
/// the country of such a number as the context of RFC 3966.
pub fn with_codes(phone: &str, area: Option<&str>, country: Option<&str>) -> String {
    let number = digits(phone);
    if phone.starts_with('+') || phone.starts_with("p:") {
        return phone.to_owned();
    }
    let in_country = |phone: &str, country: &str| format!("{phone};phone-context={country}");
    let iso = country.filter(|country| is_iso_code(country));
    if number.len() > 11 {
        return iso.map_or_else(|| phone.to_owned(), |iso| in_country(phone, iso));
    }
    let area = area.filter(|area| is_code(area));
    let area = area.map(|area| digits(area).trim_start_matches('0').to_owned());
    let phone = match area.filter(|area| (1..=4).contains(&area.len())) {
        Some(area) if number.len() < 10 => format!("({area}) {phone}"),
        _ => phone.to_owned(),
    };
    if let Some(iso) = iso {
        return in_country(&phone, iso);
    }
    match country.map(digits) {
        // A number of North America with its country code.
        Some(code) if code == "1" && number.len() == 11 && number.starts_with('1') => {
            format!("+{phone}")
        }
        Some(code) if (1..=3).contains(&code.len()) && number.starts_with(&code) => {
            in_country(&phone, &format!("+{code}"))
        }
        Some(code) if (1..=3).contains(&code.len()) => format!("+{code} {phone}"),
        _ => phone,
    }
}

/// Whether a text is the ISO code of a country, by its form.
pub fn is_iso_code(text: &str) -> bool {
    text.len() == 2 && text.bytes().all(|byte| byte.is_ascii_alphabetic())
}

/// Whether a text is an area code or a calling code, by its form.
pub fn is_code(text: &str) -> bool {
    (1..=4).contains(&digits(text).len())
        && text
            .chars()
            .all(|c| c.is_ascii_digit() || "+() ".contains(c))
}

/// Returns the digits of a whole number of at most twenty digits, also of one that was written with a fraction
/// or an exponent, as programs write large numbers: of `1.1987654321e+10`.
pub fn whole_number(text: &str) -> Option<String> {
    let (number, exponent) = text.split_once(['e', 'E']).unwrap_or((text, "0"));
    let (before, after) = number.split_once('.').unwrap_or((number, ""));
    let point = before.len().checked_add(exponent.parse().ok()?)?;
    let digits = format!("{before}{after}");
    if before.is_empty() || point > 20 || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    let digits = format!("{digits:0<point$}");
    let (whole, rest) = digits.split_at(point);
    let is_whole = rest.bytes().all(|byte| byte == b'0');
    is_whole.then(|| whole.trim_start_matches('0').to_owned())
}
