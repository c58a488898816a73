//! Reads a phone as people, spreadsheets, forms and providers write it into digits.
//!
//! This module does not know which numbers exist. A text that is masked, that is an e-mail
//! address, or that has letters in place of digits is not a phone.

use crate::nothing::is_invisible;

/// The number of characters that are read; a phone with its label and extension has about
/// forty.
pub const MAX_CHARACTERS: usize = 64;

#[derive(Debug, PartialEq, Eq)]
pub struct WrittenNumber {
    pub digits: String,
    /// It was written with `+`, with 00, or in a form that always includes the country
    /// code.
    pub international: bool,
    /// Digits of the first group, if there are several groups.
    pub first_group: usize,
}

/// Digits after which another number, a remark or an extension may follow.
const ENOUGH: usize = 8;
/// Maximum digits of a country code.
pub const COUNTRY_CODE: usize = 3;
/// E.164 has 15; a trunk prefix and a carrier's code may come before.
const MAX_DIGITS: usize = 20;

/// Trims and cuts the text.
pub fn bounded(raw: &str) -> String {
    let cut: String = raw.trim().chars().take(MAX_CHARACTERS).collect();
    cut.trim_end().to_owned()
}

/// Returns whether these digits may be a whole number: an area code is none, nor one with its country code.
fn is_enough(digits: &str) -> bool {
    digits.strip_prefix("00").unwrap_or(digits).len() >= ENOUGH
}

/// Returns the parts of a short text that may be phones, between the signs that people put there. If one
/// is too short for a phone, the signs are within one phone.
pub fn several(raw: &str) -> Vec<String> {
    const MOST: usize = 4 * MAX_CHARACTERS;
    if raw.len() > MOST || raw.contains(CONTEXT) {
        return Vec::new();
    }
    let apart = raw.replace('+', "\n+");
    let parts = apart.split(['/', ',', ';', '|', '\n']).map(str::trim);
    let given = parts.filter(|part| !part.is_empty());
    let given: Vec<_> = given.map(str::to_owned).collect();
    let digits = |part: &String| {
        part.chars()
            .filter_map(plain)
            .filter(char::is_ascii_digit)
            .collect::<String>()
    };
    if given.iter().all(|part| is_enough(&digits(part))) {
        given
    } else {
        Vec::new()
    }
}

/// Returns the country that a text names after its number in the way of RFC 3966: a dialling
/// code with `+`, or the country's name in domains, which is its ISO code.
pub fn context(raw: &str) -> Option<&str> {
    let (_, rest) = raw.split_once(CONTEXT)?;
    rest.split(';').next().map(str::trim)
}

/// The parameter of RFC 3966 that says where a number is complete.
const CONTEXT: &str = ";phone-context=";

/// Reads the first number of a text.
pub fn read(raw: &str) -> Option<WrittenNumber> {
    let number = raw.split(CONTEXT).next().unwrap_or_default();
    let text: String = number
        .chars()
        .take(MAX_CHARACTERS)
        .filter_map(plain)
        .flat_map(char::to_lowercase)
        .collect();
    let (text, always_international) = without_envelope(text.trim())?;
    let (digits, plus, begin) = first_number(&text)?;
    let mut groups = text[begin..]
        .split(|c: char| !c.is_ascii_digit())
        .map(|group| group.strip_prefix("00").unwrap_or(group))
        .filter(|group| !group.is_empty());
    let first_group = groups.next().map_or(0, str::len);
    let (digits, zeros) = match digits.strip_prefix("00") {
        Some(rest) if !plus => (rest.to_owned(), true),
        _ => (digits, false),
    };
    (3..=MAX_DIGITS)
        .contains(&digits.len())
        .then_some(WrittenNumber {
            digits,
            international: plus || zeros || always_international,
            first_group,
        })
}

/// Maps digits, spaces and dashes of any script to ASCII; invisible marks are left out.
pub fn plain(character: char) -> Option<char> {
    let digit = |zero: char| {
        char::from_digit(u32::from(character) - u32::from(zero), 10).unwrap_or(character)
    };
    Some(match character {
        '０'..='９' => digit('０'),
        '٠'..='٩' => digit('٠'),
        '۰'..='۹' => digit('۰'),
        '＋' => '+',
        '\u{2010}'..='\u{2015}' | '\u{2212}' | '－' => '-',
        other if is_invisible(other) => return None,
        other if other.is_whitespace() => ' ',
        other => other,
    })
}

/// Strips what programs put around a number. Returns whether that implies a country code.
fn without_envelope(text: &str) -> Option<(String, bool)> {
    let mut text = text;
    let mut international = false;
    for link in ["wa.me/", "?phone=", "&phone="] {
        if let Some((_, rest)) = text.split_once(link) {
            text = rest.split(['?', '&']).next().unwrap_or_default();
            international = true;
        }
    }
    loop {
        text = text.trim_start_matches(['=', '\'', '"', '`', ' ']);
        if let Some(rest) = text.strip_prefix("whatsapp:") {
            international = true;
            text = rest;
        } else if let Some(rest) = ["p:", "tel:"].iter().find_map(|p| text.strip_prefix(p)) {
            text = rest;
        } else {
            break;
        }
    }
    if let Some((user, server)) = text.split_once('@') {
        // Groups, hidden ids and e-mail addresses also contain an at sign.
        if !["s.whatsapp.net", "c.us"].contains(&server.trim()) {
            return None;
        }
        // The part after the colon is the person's device.
        text = user.split(':').next().unwrap_or_default();
        international = true;
    }
    // A spreadsheet stored the number with decimals.
    if let Some(whole) = text.strip_suffix(".0")
        && whole.bytes().all(|byte| byte.is_ascii_digit())
    {
        text = whole;
    }
    // The placeholder of the carrier in a trunk prefix: 0xx11.
    Some((text.replacen("0xx", "", 1), international))
}

/// Returns the digits before the first sign that other text follows, whether a plus precedes them, and
/// where they begin: after a second plus, if only digits of its country code are before that. Forms put
/// their country's code before a number that has it.
fn first_number(text: &str) -> Option<(String, bool, usize)> {
    if text.starts_with('<') || text.contains(['*', '•', '●', '…']) || text.contains("xx") {
        return None;
    }
    let mut digits = String::new();
    let (mut plus, mut begin) = (false, 0);
    let mut code = String::new();
    let mut previous = ' ';
    for (index, character) in text.char_indices() {
        let enough = is_enough(&digits);
        match character {
            '0'..='9' => digits.push(character),
            '+' if digits.is_empty() => plus = true,
            '/' | ',' | ';' | '|' | '+' if enough => break,
            '(' if digits.len() > ENOUGH + 1 => break,
            '#' if enough => break,
            '+' if digits.len() <= COUNTRY_CODE => {
                code = std::mem::take(&mut digits);
                (plus, begin) = (true, index);
            }
            '#' | '+' => return None,
            // A label before the number.
            letter if letter.is_alphabetic() && digits.is_empty() => {}
            letter if letter.is_alphabetic() => {
                let apart = !previous.is_ascii_digit() && !matches!(previous, '.' | '-');
                let extension = ["ramal", "ext", "x"]
                    .iter()
                    .any(|word| text[index..].starts_with(word));
                if enough && (apart || extension) {
                    break;
                }
                return None;
            }
            _ => {}
        }
        previous = character;
    }
    digits.starts_with(&code).then_some((digits, plus, begin))
}
