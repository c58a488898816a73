//! Masks the persons of a delivery by shape, so that it can become a golden case: letters become `x`, and
//! digits other digits. A phone keeps country and area. Masked are the values of its leads, values under
//! names that look personal, values that are written as names of people are, and texts that have one of them, a
//! phone or an e-mail address, however they are escaped. Of damaged JSON, and of a text that became no lead, only
//! the structure stays. Everything else stays as it is. Equal values stay equal. A person has to read the result:
//! what nothing shows to be personal stays.

mod field;
mod leaves;

use std::borrow::Cow;
use std::collections::HashSet;
use std::hash::{BuildHasher as _, RandomState};

use std::net::Ipv4Addr;
use std::ops::Range;
use std::sync::Weak;
use std::time::Instant;

use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, STANDARD_NO_PAD, URL_SAFE, URL_SAFE_NO_PAD};

use self::field::{Personal, Words, is_label, words};
use self::leaves::{ENCODED_LINE, is_encoded, is_json, is_usual_key, leaves};
use leadhost_domain::escapes::{self, Decoded};
use leadhost_domain::phone::written;
use leadhost_domain::text;

/// Until when, and for whom, persons are masked: work for which nobody waits ends.
#[derive(Clone, Debug)]
pub struct Patience {
    pub until: Instant,
    pub caller: Weak<()>,
}

/// What is known of the persons of one delivery.
#[derive(Default)]
pub struct Persons {
    /// `None`: as long as it takes.
    patience: Option<Patience>,
    /// Its key is random, so that trying all phones does not find the one.
    hasher: RandomState,
    /// Values that are no person's, whatever their names.
    labels: HashSet<String>,
    /// Words of names, in lower case.
    words: HashSet<String>,
    /// The last digits of phones.
    phones: HashSet<String>,
    /// Whole values and their lines, in lower case.
    texts: HashSet<String>,
    /// Hashes of [`PHRASE`] words that follow each other in what persons wrote.
    phrases: HashSet<u64>,
    /// Nothing says whose the values of a body are that names none: each is masked.
    pub is_unread: bool,
}

/// Texts in texts that are read: JSON in a field of a form, and JSON in that.
const DEPTH: u8 = 3;
/// Digits at the end of a phone by which it is recognised in another notation.
const PHONE_TAIL: usize = 8;
/// Digits at the end of a phone that are replaced: those before name country, area and kind of line.
const PHONE_DIGITS: usize = 6;
/// Numbers of digits of a phone with its area.
const WHOLE_PHONE: std::ops::RangeInclusive<usize> = 10..=15;
/// Digits of the longest number beside a phone that is an area code or an extension.
const AREA_DIGITS: usize = 4;
/// Bytes of the shortest value that is looked for elsewhere.
const SHORTEST: usize = 6;
/// Bytes of the longest name in one word.
const LONGEST_NAME: usize = 100;
/// Words in a row that two texts have in common only if one quotes the other.
const PHRASE: usize = 4;
/// Words between names that say nothing about a person.
static JOINING: Words = Words::new("da das de del der di do dos du e el la van von y");
/// Words before the name of a person.
static TITLES: Words = Words::new("dona dr dra miss mr mrs ms prof profa señor señora sr sra srta");
/// Words by which links and notations of phones are read.
static NOTATION: Words = Words::new("api com context ext http https me phone send tel wa whatsapp");

impl Persons {
    pub fn with_labels(labels: Vec<String>) -> Self {
        Self {
            labels: labels.into_iter().collect(),
            ..Self::default()
        }
    }

    pub fn with_patience(patience: Option<Patience>) -> Self {
        Self {
            patience,
            ..Self::default()
        }
    }

    /// Returns whether the time was up or the caller has left: then the rest is not masked.
    pub fn is_given_up(&self) -> bool {
        let is_up = |of: &Patience| of.caller.strong_count() == 0 || Instant::now() >= of.until;
        self.patience.as_ref().is_some_and(is_up)
    }

    /// Remembers the values of a lead's field, of a header or of a query, if they are a person's. They are
    /// then masked wherever they stand.
    pub fn learn(&mut self, name: &str, value: &str) {
        let personal = match name {
            "text" => Some(Personal::Text),
            "recipient" => Some(Personal::Phone),
            name => Personal::from_name(name),
        };
        self.learn_value(personal, value, DEPTH);
    }

    pub fn learn_from(&mut self, body: &str, is_form: bool) {
        self.learn_within(body, is_form, DEPTH);
    }

    fn learn_within(&mut self, body: &str, is_form: bool, depth: u8) {
        for leaf in leaves(body, is_form) {
            if self.is_given_up() {
                return;
            }
            self.learn_value(leaf.personal, &leaf.value, depth);
        }
    }

    fn learn_value(&mut self, personal: Option<Personal>, value: &str, depth: u8) {
        if let Some(inner) = (depth > 0).then(|| Inner::of(personal, value)).flatten() {
            return self.learn_within(inner.body, inner.is_form, depth - 1);
        }
        if self.labels.contains(value) {
            return;
        }
        for encoded in Encoded::all(value).filter(|_| depth > 0) {
            self.learn_value(personal, &encoded.text, depth - 1);
        }
        let value = &*readable(value);
        let whole = text::folded(value).to_lowercase();
        let Some(personal) = personal.filter(|_| !is_test_mark(value) && !is_label(&whole)) else {
            return;
        };
        let is_number = !value.contains(char::is_alphabetic);
        if personal == Personal::Phone || (personal == Personal::Name && is_number) {
            numbers(value, |run| {
                self.phones.extend(tail(&digits_of(run)));
                None
            });
            return;
        }
        if personal == Personal::Name {
            let named = emails(&whole, |_| String::new());
            let words = named.split(|one: char| !one.is_alphabetic());
            let is_other =
                |word: &str| is_label(word) || is_around_name(word) || NOTATION.have(word);
            let words = words.filter(|word| word.len() > 1 && !is_other(word));
            self.words.extend(words.map(str::to_owned));
        }
        if personal == Personal::Text {
            self.phrases.extend(phrases(&whole, &self.hasher));
        }
        let lines = value.lines().map(|line| text::folded(line).to_lowercase());
        let texts = lines
            .chain([whole])
            .filter(|text| text.len() >= SHORTEST && !is_label(text));
        self.texts.extend(texts);
    }

    pub fn body(&self, body: &str, is_form: bool) -> String {
        self.body_within(body, is_form, DEPTH)
    }

    pub fn value(&self, name: &str, value: &str) -> String {
        // The boundary of a multipart stands among names that a plugin reads.
        let is_whole = !name.eq_ignore_ascii_case("content-type");
        self.value_within(Personal::from_name(name), value, is_whole, DEPTH)
    }

    /// Returns the name of a value: sources also write values there.
    pub fn key(&self, key: &str) -> String {
        through_escapes(key, |key| self.plain_key(key))
    }

    fn plain_key(&self, key: &str) -> String {
        if is_number_of_person(key) {
            return self.masked(Personal::Phone, key);
        }
        let found = emails(key, |address| self.masked(Personal::Other, address));
        let found = numbers(&found, |run| self.number(None, run));
        if found != key || (self.is_known(key) && !is_usual_key(key)) {
            self.masked(Personal::Text, key)
        } else {
            found
        }
    }

    fn body_within(&self, body: &str, is_form: bool, depth: u8) -> String {
        let mut masked = String::with_capacity(body.len());
        let mut taken = 0;
        for leaf in leaves(body, is_form) {
            if self.is_given_up() {
                return masked;
            }
            let is_named = !leaf.is_part() || !self.is_unread;
            let personal = leaf.personal.or((!is_named).then_some(Personal::Text));
            let other = match (leaf.is_key(), personal) {
                (true, None) => self.key(&leaf.value),
                _ => self.value_within(personal, &leaf.value, leaf.is_whole(), depth),
            };
            if other != leaf.value {
                masked += &body[taken..leaf.at.start];
                masked += &leaf.write(&other);
                taken = leaf.at.end;
            }
        }
        masked + &body[taken..]
    }

    /// `is_whole`: there is no structure in it that a plugin reads.
    fn value_within(
        &self,
        personal: Option<Personal>,
        value: &str,
        is_whole: bool,
        depth: u8,
    ) -> String {
        if let Some(inner) = (depth > 0).then(|| Inner::of(personal, value)).flatten() {
            let before = through_escapes(inner.before, |text| self.plain_value(None, text, false));
            let body = self.body_within(inner.body, inner.is_form, depth - 1);
            return before + &body;
        }
        if is_test_mark(value) || (self.labels.contains(value) && !self.is_known(value)) {
            return value.to_owned();
        }
        let mut decoded = String::new();
        let mut taken = 0;
        for encoded in Encoded::all(value).filter(|_| depth > 0) {
            let other = self.value_within(None, &encoded.text, is_whole, depth - 1);
            if other != encoded.text {
                decoded += &value[taken..encoded.at.start];
                decoded += &encoded.of(&other);
                taken = encoded.at.end;
            }
        }
        decoded += &value[taken..];
        let value = without_encoded_words(&decoded);
        through_escapes(&value, |value| self.plain_value(personal, value, is_whole))
    }

    fn plain_value(&self, personal: Option<Personal>, value: &str, is_whole: bool) -> String {
        if let Some(personal) = personal {
            return self.masked(personal, value);
        }
        let found = emails(value, |address| self.masked(Personal::Other, address));
        let found = numbers(&found, |run| self.number(None, run));
        let found = handles(&found, |handle| self.masked(Personal::Other, handle));
        let found = each_word(&found, |word| {
            word.chars().nth(2).is_some() && self.is_of_names(word)
        });
        if self.is_known(value) || (is_whole && found != value) {
            self.masked(Personal::Text, value)
        } else {
            found
        }
    }

    /// Returns whether a value is one of a person, quotes it, or has only words of names.
    fn is_known(&self, value: &str) -> bool {
        let whole = text::folded(value).to_lowercase();
        let phrases = phrases(&whole, &self.hasher);
        let mut names = whole
            .split(|one: char| !one.is_alphanumeric())
            .filter(|word| !word.is_empty() && !is_around_name(word))
            .peekable();
        self.texts.contains(&whole)
            || phrases.iter().any(|phrase| self.phrases.contains(phrase))
            || (names.peek().is_some() && names.all(|word| self.words.contains(word)))
    }

    /// Returns whether a word is of a name, or several in one: `AnaPrado`.
    fn is_of_names(&self, word: &str) -> bool {
        self.words.contains(&word.to_lowercase())
            || (word.len() <= LONGEST_NAME
                && word.chars().skip(1).any(char::is_uppercase)
                && words(word).iter().all(|word| self.words.contains(word)))
    }

    fn masked(&self, personal: Personal, value: &str) -> String {
        // `p:+5511987654321` and `912345678;phone-context=PT`.
        let kept = [
            written::context(value),
            value.starts_with("p:").then_some("p"),
        ];
        let letters = each_word(value, |word| {
            !NOTATION.have(&word.to_lowercase()) && !kept.contains(&Some(word))
        });
        numbers(&letters, |run| self.number(Some(personal), run))
    }

    /// Returns the replacement of a number, if it is a person's. `personal`: what the value around it is.
    fn number(&self, personal: Option<Personal>, run: &str) -> Option<String> {
        let digits = digits_of(run);
        let tail = tail(&digits).unwrap_or_default();
        let is_phone = match personal {
            Some(Personal::Phone) => digits.len() >= PHONE_TAIL,
            Some(Personal::Other) => false,
            _ => is_written_as_phone(run),
        };
        if (is_phone || self.phones.contains(&tail)) && digits.len() <= *WHOLE_PHONE.end() {
            return Some(self.other_digits(run, PHONE_DIGITS, &tail));
        }
        let is_area = personal == Some(Personal::Phone) && digits.len() <= AREA_DIGITS;
        let is_telling = personal.is_some() || is_document(run) || run.parse::<Ipv4Addr>().is_ok();
        (is_telling && !is_area).then(|| self.other_digits(run, digits.len(), &digits))
    }

    /// Replaces so many digits at the end of a number. `key` says by which ones: with the same key, the same
    /// digits. None becomes 0 or 1, which some countries have at no place of a phone.
    fn other_digits(&self, run: &str, most: usize, key: &str) -> String {
        // The key may be as long as a body: it is hashed once.
        let key = self.hasher.hash_one(key);
        let mut left = digits_of(run).len();
        let replaced = run.chars().map(|one| {
            let Some(digit) = digit(one) else {
                return one;
            };
            left -= 1;
            if left >= most {
                return one;
            }
            let others = || ('2'..='9').filter(|other| *other != digit);
            let drawn = self.hasher.hash_one((key, left)) % others().count() as u64;
            let drawn = usize::try_from(drawn).unwrap_or_default();
            others().nth(drawn).unwrap_or('2')
        });
        replaced.collect()
    }
}

/// A body within a value.
struct Inner<'v> {
    body: &'v str,
    is_form: bool,
    /// What stands before it: the address, if it is the query of one.
    before: &'v str,
}

/// A text in Base64 or in hexadecimal digits within a value: alone, in a token (JWT) or in an address (`data:`).
struct Encoded {
    at: Range<usize>,
    text: String,
    is_hex: bool,
    is_for_addresses: bool,
    is_padded: bool,
}

impl Encoded {
    /// Characters of the shortest.
    const SHORTEST: usize = 12;

    fn all(value: &str) -> impl Iterator<Item = Self> {
        let is_end = |one: char| one == '\n' || one == '\r';
        let is_sign =
            move |one: char| one.is_ascii_alphanumeric() || "+/-_".contains(one) || is_end(one);
        let runs = value.split(move |one| !is_sign(one)).flat_map(move |run| {
            let run = run.trim();
            let is_in_lines = run.find(is_end).is_some_and(|at| at >= ENCODED_LINE);
            run.split(move |one| !is_in_lines && is_end(one))
        });
        let runs = runs.filter(|run| run.len() >= Self::SHORTEST);
        runs.filter_map(move |run| {
            let start = run.as_ptr().addr() - value.as_ptr().addr();
            let end = start + run.len();
            let padding = value[end..].bytes().take(2).take_while(|one| *one == b'=');
            let padding = padding.count();
            let is_for_addresses = run.contains(['-', '_']);
            let run = run.replace(is_end, "");
            let of_base64 = || {
                if is_for_addresses {
                    URL_SAFE_NO_PAD.decode(&run).ok()
                } else {
                    STANDARD_NO_PAD.decode(&run).ok()
                }
            };
            let is_text = |text: &String| {
                let mut signs = text.chars();
                signs.all(|one| !one.is_control() || one.is_whitespace())
            };
            let read = |bytes: Option<Vec<u8>>| String::from_utf8(bytes?).ok().filter(is_text);
            let hex = read(of_hex(&run));
            Some(Self {
                at: start..end + padding,
                is_hex: hex.is_some(),
                text: hex.or_else(|| read(of_base64()))?,
                is_for_addresses,
                is_padded: padding > 0,
            })
        })
    }

    fn of(&self, text: &str) -> String {
        if self.is_hex {
            return text.bytes().map(|byte| format!("{byte:02x}")).collect();
        }
        match (self.is_for_addresses, self.is_padded) {
            (true, false) => URL_SAFE_NO_PAD.encode(text),
            (true, true) => URL_SAFE.encode(text),
            (false, false) => STANDARD_NO_PAD.encode(text),
            (false, true) => STANDARD.encode(text),
        }
    }
}

impl<'v> Inner<'v> {
    /// Finds JSON, a mail with its lines or elements, or the query of an address.
    fn of(personal: Option<Personal>, value: &'v str) -> Option<Self> {
        let inner = |body| Self {
            body,
            is_form: false,
            before: "",
        };
        if is_json(value) {
            return Some(inner(value));
        }
        if let Some(at) = value.find('?')
            && value[..at].contains("://")
            && value[at..].contains('=')
            && !value.contains(char::is_whitespace)
        {
            return Some(Self {
                is_form: true,
                before: &value[..=at],
                ..inner(&value[at + 1..])
            });
        }
        let is_mail = personal.is_none() && (value.contains("</") || value.contains('\n'));
        let is_mail = is_mail && !value.lines().all(is_encoded);
        is_mail.then(|| inner(value))
    }
}

/// Returns a text without its escapes.
fn readable(text: &str) -> Cow<'_, str> {
    if escapes::may_be_in(text.as_bytes()) {
        let decoded = Decoded::new(text.as_bytes());
        Cow::Owned(decoded.characters().map(|(one, _)| one).collect())
    } else {
        Cow::Borrowed(text)
    }
}

/// Masks a text as it reads without its escapes. `mask` gives a character for each one: only those that it
/// changes are written anew, so that the escapes around them stay.
fn through_escapes(text: &str, mask: impl Fn(&str) -> String) -> String {
    if !escapes::may_be_in(text.as_bytes()) {
        return mask(text);
    }
    let decoded = Decoded::new(text.as_bytes());
    let plain: String = decoded.characters().map(|(one, _)| one).collect();
    let masked = mask(&plain);
    let mut made = Vec::with_capacity(text.len());
    let mut taken = 0;
    for ((one, at), other) in decoded.characters().zip(masked.chars()) {
        if one != other {
            made.extend_from_slice(&text.as_bytes()[taken..at.start]);
            made.extend_from_slice(other.encode_utf8(&mut [0; 4]).as_bytes());
            taken = at.end;
        }
    }
    made.extend_from_slice(&text.as_bytes()[taken..]);
    String::from_utf8_lossy(&made).into_owned()
}

/// Empties the encoded words of mails, `=?utf-8?B?QW5h?=`: their text cannot be masked by its shape.
fn without_encoded_words(text: &str) -> Cow<'_, str> {
    let mut made = String::new();
    let mut rest = text;
    while let Some(at) = rest.find("=?") {
        // The charset, the encoding, and the text.
        let mut marks = rest[at + 2..]
            .match_indices('?')
            .map(|(mark, _)| at + 2 + mark);
        let (Some(_), Some(text), Some(end)) = (marks.next(), marks.next(), marks.next()) else {
            break;
        };
        let is_one = rest[end..].starts_with("?=") && text - at <= ENCODED_WORD_HEAD;
        let kept = if is_one { text + 1 } else { at + 2 };
        made += &rest[..kept];
        rest = if is_one { &rest[end..] } else { &rest[kept..] };
        if is_one {
            made += "?=";
            rest = &rest[2..];
        }
    }
    if made.is_empty() {
        Cow::Borrowed(text)
    } else {
        Cow::Owned(made + rest)
    }
}

/// Bytes of the longest beginning of an encoded word.
const ENCODED_WORD_HEAD: usize = 64;

/// Returns whether a word, in lower case, stands with names and says nothing about a person.
fn is_around_name(word: &str) -> bool {
    JOINING.have(word) || TITLES.have(word)
}

/// Returns whether a value is a number as long as a phone with its area, without a word beside it.
fn is_number_of_person(value: &str) -> bool {
    let is_sign = |one: char| " +-().".contains(one);
    value
        .chars()
        .all(|one| digit(one).is_some() || is_sign(one))
        && WHOLE_PHONE.contains(&digits_of(value).len())
}

/// Returns whether a value is what Meta sends in the place of a person's in a test lead:
/// `<test lead: dummy data for FULL_NAME>`.
fn is_test_mark(value: &str) -> bool {
    value.starts_with("<test lead") && value.ends_with('>')
}

fn phrases(text: &str, hasher: &RandomState) -> Vec<u64> {
    let words: Vec<&str> = text.split(' ').collect();
    let phrases = words.windows(PHRASE);
    phrases.map(|phrase| hasher.hash_one(phrase)).collect()
}

fn digit(one: char) -> Option<char> {
    written::plain(one).filter(char::is_ascii_digit)
}

fn digits_of(text: &str) -> String {
    text.chars().filter_map(digit).collect()
}

/// Returns the end of a phone, which is the same in all notations. `None`: it is too short.
fn tail(digits: &str) -> Option<String> {
    let from = digits.len().checked_sub(PHONE_TAIL)?;
    Some(digits[from..].to_owned())
}

/// Returns whether a number is written as phones are: `+551134567890`, `(11) 3456-7890`, `206-555-0100`.
fn is_written_as_phone(run: &str) -> bool {
    let groups: Vec<usize> = run
        .split(|one| digit(one).is_none())
        .map(str::len)
        .collect();
    let ends_so = matches!(groups[..], [.., 3..=5, 4]);
    let is_written_so = ends_so || run.starts_with(['+', '＋']) || run.contains('(');
    is_written_so && WHOLE_PHONE.contains(&digits_of(run).len())
}

/// Returns whether a number is written like a person's tax number in Brazil: `123.456.789-09`.
fn is_document(run: &str) -> bool {
    let groups: Vec<usize> = run.split(['.', '-']).map(str::len).collect();
    groups == [3, 3, 3, 2] && digits_of(run).len() == 11
}

fn emails(text: &str, replace: impl Fn(&str) -> String) -> String {
    let is_local = |one: char| one.is_alphanumeric() || "._%+-".contains(one);
    let is_domain = |one: char| one.is_alphanumeric() || ".-".contains(one);
    let mut made = String::with_capacity(text.len());
    let mut taken = 0;
    for (at, _) in text.match_indices('@') {
        if at < taken {
            continue;
        }
        let start = taken + text[taken..at].trim_end_matches(is_local).len();
        let after = &text[at + 1..];
        let length = after.find(|one| !is_domain(one)).unwrap_or(after.len());
        let domain = after[..length].trim_end_matches(['.', '-']);
        if start == at || !domain.contains('.') {
            continue;
        }
        let end = at + 1 + domain.len();
        made += &text[taken..start];
        made += &replace(&text[start..end]);
        taken = end;
    }
    made + &text[taken..]
}

/// Replaces the names of accounts, such as `@ana.prado`.
fn handles(text: &str, replace: impl Fn(&str) -> String) -> String {
    let is_sign = |one: char| one.is_alphanumeric() || "._-".contains(one);
    let mut made = String::with_capacity(text.len());
    let mut taken = 0;
    for (at, _) in text.match_indices('@') {
        let after = &text[at + 1..];
        let length = after.find(|one| !is_sign(one)).unwrap_or(after.len());
        if length >= SHORTEST_HANDLE && !text[..at].ends_with(char::is_alphanumeric) {
            made += &text[taken..=at];
            made += &replace(&after[..length]);
            taken = at + 1 + length;
        }
    }
    made + &text[taken..]
}

/// Characters of the shortest name of an account.
const SHORTEST_HANDLE: usize = 3;

fn of_hex(text: &str) -> Option<Vec<u8>> {
    let pairs = text.as_bytes().chunks(2);
    pairs
        .map(|pair| match pair {
            [high, low] => {
                let digit = |byte: u8| char::from(byte).to_digit(16);
                u8::try_from(digit(*high)? * 16 + digit(*low)?).ok()
            }
            _ => None,
        })
        .collect()
}

/// Replaces runs of digits in a text, with the signs that people write between the digits of one number.
fn numbers(text: &str, mut replace: impl FnMut(&str) -> Option<String>) -> String {
    let mut made = String::with_capacity(text.len());
    let mut rest = text;
    let begins = |one: char| digit(one).is_some() || "+＋(".contains(one);
    while let Some(from) = rest.find(begins) {
        made += &rest[..from];
        rest = &rest[from..];
        let within = |one: char| begins(one) || " ).-\u{2010}\u{2011}\u{2013}\u{a0}".contains(one);
        let length = rest.find(|one| !within(one)).unwrap_or(rest.len());
        let run = rest[..length].trim_end_matches(|one: char| digit(one).is_none());
        let (run, after) = if run.is_empty() {
            rest.split_at(length)
        } else {
            rest.split_at(run.len())
        };
        made += &replace(run).unwrap_or_else(|| run.to_owned());
        rest = after;
    }
    made + rest
}

/// Replaces the letters of words by `x`. References of XML and HTML that are not decoded stay.
fn each_word(text: &str, is_masked: impl Fn(&str) -> bool) -> String {
    let mut made = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(one) = rest.chars().next() {
        let sign = reference(rest);
        let end = rest
            .find(|one: char| !one.is_alphabetic())
            .unwrap_or(rest.len());
        let (word, after) = match sign {
            Some(length) => rest.split_at(length),
            None => rest.split_at(end.max(one.len_utf8())),
        };
        if sign.is_none() && end > 0 && is_masked(word) {
            made.extend(
                word.chars()
                    .map(|one| if one.is_uppercase() { 'X' } else { 'x' }),
            )
        } else {
            made += word
        }
        rest = after;
    }
    made
}

/// Returns the length of the reference with which a text begins, such as `&amp;`.
fn reference(text: &str) -> Option<usize> {
    let name = text.strip_prefix('&')?;
    let name = &name[..name.floor_char_boundary(REFERENCE_BYTES)];
    let end = name.find(';').filter(|end| *end > 0)?;
    let is_name = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'#';
    name[..end].bytes().all(is_name).then_some(end + 2)
}

/// Bytes of the longest name of a reference.
const REFERENCE_BYTES: usize = 32;

#[cfg(test)]
mod tests {
    use super::*;
    use leadhost_domain::{contact, phone};

    fn masked(lead: &[(&str, &str)], body: &str, is_form: bool) -> String {
        let mut persons = Persons::default();
        lead.iter()
            .for_each(|(name, value)| persons.learn(name, value));
        persons.learn_from(body, is_form);
        persons.body(body, is_form)
    }

    /// A body, and what stays of it: a `~` stands for another digit.
    fn check(lead: &[(&str, &str)], body: &str, is_form: bool, expect: &str) {
        let masked = masked(lead, body, is_form);
        assert_eq!(masked.chars().count(), expect.chars().count(), "{masked}");
        let is_same = |(one, (before, expect)): (char, (char, char))| match expect {
            '~' => one.is_ascii_digit() && one != before,
            expect => one == expect,
        };
        let is_same = masked
            .chars()
            .zip(body.chars().zip(expect.chars()))
            .all(is_same);
        assert!(is_same, "{masked}\n{expect}");
    }

    #[test]
    fn persons_are_masked_and_everything_else_stays() {
        let body = r#"{
  "id": 9007199254740993, "form_name": "Contato", "price": 350000.00, "at": "2026-03-02T12:00:00Z",
  "name": "Ana Prado", "phones": ["(11) 98765-4321", 5511987654321], "cpf": "123.456.789-09",
  "email": "ana77@mail.example", "message": "Ana aqui, +55 11 98765-4321 &amp; \u00c1lvaro", "by": "Ana P.",
  "listing": "AP-0042", "nota": "Call 11 98765-4321 or ana77@mail.example"
}"#;
        let expect = r#"{
  "id": 9007199254740993, "form_name": "Contato", "price": 350000.00, "at": "2026-03-02T12:00:00Z",
  "name": "Xxx Xxxxx", "phones": ["(11) 987~~-~~~~", 5511987~~~~~~], "cpf": "~~~.~~~.~~~-~~",
  "email": "xxx~~@xxxx.xxxxxxx", "message": "Xxx xxxx, +55 11 987~~-~~~~ &amp; Xxxxxx", "by": "Xxx X.",
  "listing": "AP-0042", "nota": "Xxxx 11 987~~-~~~~ xx xxx~~@xxxx.xxxxxxx"
}"#;
        let body = body.replace(r"\u00c1", "Á");
        check(&[], &body, false, expect);
        let masked: serde_json::Value =
            serde_json::from_str(&masked(&[], &body, false)).expect("JSON");
        let phone = masked["phones"][0].as_str().expect("a phone");
        assert_eq!(
            masked["phones"][1].to_string(),
            format!("55{}", digits_of(phone))
        );
        let email = masked["email"].as_str().expect("an address");
        assert!(
            masked["nota"]
                .as_str()
                .is_some_and(|text| text.ends_with(email))
        );
        assert_eq!(contact::email(email).as_deref(), Some(email));
        for text in ["message", "nota"] {
            let text = digits_of(masked[text].as_str().expect("a text"));
            assert!(text.contains(&digits_of(phone)), "{text}");
        }
    }

    #[test]
    fn a_masked_phone_is_one_of_the_same_country_and_area() {
        for (phone, region) in [
            ("+55 (11) 98765-4321", "BR"),
            ("11 3456-7890", "BR"),
            ("whatsapp:+5511987654321", "BR"),
            ("https://wa.me/5511987654321", "BR"),
            ("p:+5511987654321", "BR"),
            ("٠٩١٢٣٤٥٦٧٨٩", "IR"),
            ("912 345 678", "PT"),
            ("912345678;phone-context=PT", "BR"),
            ("+1 206 555 0102", "US"),
            ("(206) 555-0102", "US"),
            ("020 7946 0018", "GB"),
            ("030 901820", "DE"),
        ] {
            let persons = Persons::default();
            let masked = persons.value("phone", phone);
            let read = |text| phone::normalise(text, region).e164.expect("a phone");
            let (before, after) = (read(phone), read(&masked));
            assert_eq!(before.len(), after.len(), "{masked}");
            assert_eq!(
                before[..before.len() - 6],
                after[..before.len() - 6],
                "{masked}"
            );
            assert_ne!(
                before[before.len() - 6..],
                after[before.len() - 6..],
                "{masked}"
            );
            assert_eq!(persons.value("fone", phone), masked);
            assert_ne!(Persons::default().value("phone", phone), masked);
        }
    }

    #[test]
    fn the_values_of_a_lead_are_masked_wherever_they_stand() {
        let lead = [
            ("name", "Rui de Sá Prado"),
            ("phone", "+5511987654321"),
            ("message", "Moro na rua das Flores\nOi Bia"),
        ];
        for (body, expect) in [
            (
                r#"{"a": "PRADO", "b": 11987654321, "c": "of", "d": "de"}"#,
                r#"{"a": "XXXXX", "b": 11987~~~~~~, "c": "of", "d": "de"}"#,
            ),
            (
                r#"{"q": "Eu moro na rua das Flores", "r": "oi bia", "s": "Sá", "t": "Quero sá"}"#,
                r#"{"q": "Xx xxxx xx xxx xxx Xxxxxx", "r": "xx xxx", "s": "Xx", "t": "Quero sá"}"#,
            ),
            (
                r#"{"x": "[{\"y\": \"Rui\"}]", "mail": {"html": "<p>Rui</p><p>Ref: AP-1</p>"}}"#,
                r#"{"x": "[{\"y\": \"Xxx\"}]", "mail": {"html": "<p>Xxx</p><p>Ref: AP-1</p>"}}"#,
            ),
            (
                "<a><b>i <3 Rui <r@x.io></b><!-- Rui --></a>",
                "<a><b>i <3 Xxx <x@x.xx></b><!-- Xxx --></a>",
            ),
            (
                r#"{"cep": 1e5, "document": "1", "n": 1, "s": "sim", "obs": "Sim"}"#,
                r#"{"cep": ~e~, "document": "~", "n": 1, "s": "sim", "obs": "Xxx"}"#,
            ),
            (
                "Lead of Rui Prado: (11) 98765-4321 in AP-0042",
                "Lead of Xxx Xxxxx: (11) 987~~-~~~~ in AP-0042",
            ),
        ] {
            check(&lead, body, false, expect);
        }
        check(
            &lead,
            "first=Rui&x=Oi+Bia&payload=%7B%22y%22%3A%22Prado%22%7D&lang=de",
            true,
            "first=Xxx&x=Xx+Xxx&payload=%7B%22y%22%3A%22Xxxxx%22%7D&lang=de",
        );
    }

    #[test]
    fn persons_in_base64_and_in_keys_of_their_names_are_masked() {
        let lead = [("name", "Rosa Lima"), ("email", "rosa@example.com")];
        let token = format!(
            "{}.{}.c2ln",
            URL_SAFE_NO_PAD.encode("{\"alg\":1}"),
            URL_SAFE_NO_PAD.encode("{\"sub\":\"rosa@example.com\"}")
        );
        let address = STANDARD.encode("rosa@example.com");
        let twice = STANDARD.encode(&address);
        let values = [
            address.clone(),
            token,
            format!("data:text/plain;base64,{address}"),
            twice,
        ];
        let mut persons = Persons::default();
        lead.iter()
            .for_each(|(name, value)| persons.learn(name, value));
        for value in values {
            let body = serde_json::json!({"x": value}).to_string();
            let masked: serde_json::Value =
                serde_json::from_str(&persons.body(&body, false)).expect("JSON");
            let masked = masked["x"].as_str().expect("a text");
            assert_ne!(masked, value);
            let mut texts: Vec<String> = Encoded::all(masked).map(|one| one.text).collect();
            for _ in 0..2 {
                let inner: Vec<String> = texts
                    .iter()
                    .flat_map(|text| Encoded::all(text))
                    .map(|one| one.text)
                    .collect();
                texts.extend(inner);
            }
            assert!(
                !texts.is_empty() && texts.iter().all(|text| !text.contains("rosa")),
                "{texts:?}"
            );
        }
        for key in ["rosa_lima", "rosa.lima", "Rosa-Lima"] {
            assert!(!persons.key(key).to_lowercase().contains("rosa"), "{key}");
        }
        assert_eq!(
            persons.value("x", "cm9zYWRvcy12ZW50b3M"),
            "cm9zYWRvcy12ZW50b3M"
        );
    }

    #[test]
    fn labels_and_marks_of_a_test_stay_whatever_name_was_typed() {
        let body = r#"{"nome": "Nome Teste Anabela", "event_type": "lead", "is_test": "test",
            "fields": {"q1": "Nome completo", "q2": "Qual o nome da empresa?", "q3": "Anabela"},
            "field_data": [{"name": "FULL_NAME", "values": ["<test lead: dummy data for FULL_NAME>"]}]}"#;
        let expect = body
            .replace("Nome Teste", "Xxxx Xxxxx")
            .replace("Anabela", "Xxxxxxx");
        check(&[], body, false, &expect);
    }

    /// Replaces all digits, since others are drawn each time.
    fn without_digits(text: &str) -> String {
        text.replace(|one: char| one.is_ascii_digit(), "9")
    }

    #[test]
    fn persons_in_encoded_parts_in_handles_and_in_any_element_are_masked() {
        let text =
            "of a file that Ximenia Lua wrote, and it is so long that it needs several lines";
        let encoded = STANDARD.encode(text);
        let (first, second) = encoded.split_at(76);
        let body = format!(
            "--Ximenia-9\r\nContent-Disposition: form-data; name=\"nome\"\r\n\r\nXimenia Lua\r\n--Ximenia-9\r\n\
             Content-Disposition: form-data; name=\"file\"\r\nContent-Transfer-Encoding: base64\r\n\r\n{first}\r\n{second}\r\n--Ximenia-9--\r\n"
        );
        let masked = masked(&[], &body, false);
        let decoded: Vec<_> = Encoded::all(&masked).map(|one| one.text).collect();
        let decoded = decoded.concat();
        assert!(
            decoded.contains("that Xxxxxxx Xxx wrote"),
            "{masked}\n{decoded}"
        );
        assert!(
            masked.starts_with("--Xxxxxxx-9\r\nContent-Disposition: form-data; name"),
            "{masked}"
        );
        for (body, expect) in [
            (
                r#"{"nome": "Lua", "x": "Obrigado, @ximenia.lua", "insta": "xilua", "placa": "ABC1D23", "y": "a@b"}"#,
                r#"{"nome": "Xxx", "x": "Xxxxxxxx, @xxxxxxx.xxx", "insta": "xxxxx", "placa": "XXX~X~~", "y": "a@b"}"#,
            ),
            (
                r#"{"who": "Ximenia Lua", "cidade": "Rio Claro", "q": [{"label": "Tipo Unidade", "value": "Loft"}]}"#,
                r#"{"who": "Xxxxxxx Xxx", "cidade": "Rio Claro", "q": [{"label": "Tipo Unidade", "value": "Loft"}]}"#,
            ),
            (
                "<l who='Ximenia Lua'><x>Ximenia Torquato</x><cidade>Rio Claro</cidade><td>Tipo Unidade</td></l>",
                "<l who='Xxxxxxx Xxx'><x>Xxxxxxx Xxxxxxxx</x><cidade>Rio Claro</cidade><td>Tipo Unidade</td></l>",
            ),
            (
                "id;who;nome\n7;Ximenia Lua;Eva",
                "id;who;nome\n7;Xxxxxxx Xxx;Xxx",
            ),
            (
                "{\"nome\": \"Lua\", \"x\": \"4f6c61204c7561\"}",
                "{\"nome\": \"Xxx\", \"x\": \"58787820587878\"}",
            ),
            (
                "{\"nome\": \"Lua\", \"x\": \"page/LuaLua\"}",
                "{\"nome\": \"Xxx\", \"x\": \"xxxx/XxxXxx\"}",
            ),
        ] {
            check(&[], body, false, expect);
        }
        check(
            &[],
            "who=Ximenia+Lua&cidade=Rio+Claro",
            true,
            "who=Xxxxxxx+Xxx&cidade=Rio+Claro",
        );
    }

    #[test]
    fn persons_are_masked_in_tables_and_in_damaged_json() {
        for (body, expect) in [
            (
                "ref,Nome,obs,cpf\r\nAP-1,\"Lua, \"\"Xi\"\"\nDias\",of Lua,1\r\n\r\nLua,Eva,a\"b,\"2",
                "ref,Nome,obs,cpf\r\nAP-1,\"Xxx, \"\"Xx\"\"\nXxxx\",xx Xxx,~\r\n\r\nXxx,Xxx,x\"x,\"~",
            ),
            (
                "id\tPhone\n7\t(11) 98765-4321\n8\t11987654321",
                "id\tPhone\n7\t(11) 987~~-~~~~\n8\t11987~~~~~~",
            ),
            (
                r#"{"nome": "Ximenia Lua", "b": 5, "tel": "11987654321", "x": "Lu"#,
                r#"{"nome": "Xxxxxxx Xxx", "b": ~, "tel": "11987~~~~~~", "x": "Xx"#,
            ),
            (
                r#"[{"nome": "Ximenia, "e-mail":"a@b.co",, 'q1':'Lua', "Ana Lua": 1}"#,
                r#"[{"nome": "Xxxxxxx, "e-mail":"x@x.xx",, 'q1':'Xxx', "Xxx Xxx": ~}"#,
            ),
            (
                "{\"nome\": \"Ximenia\", \"q\": 7}\n{\"nome\": \"Lua\", \"q\": 7}\n",
                "{\"nome\": \"Xxxxxxx\", \"q\": 7}\n{\"nome\": \"Xxx\", \"q\": 7}\n",
            ),
            (
                "\u{feff}{\"nome\": \"Ximenia\", \"q\": 7}",
                "\u{feff}{\"nome\": \"Xxxxxxx\", \"q\": 7}",
            ),
        ] {
            for is_form in [false, true] {
                check(&[], body, is_form, expect);
            }
        }
    }

    #[test]
    fn a_person_is_masked_however_the_sender_escapes_it() {
        let lead = [
            ("name", "Ismail José"),
            ("email", "ismail@mail.example"),
            ("phone", "+5511987654321"),
        ];
        for (body, is_form, expect) in [
            (
                "<l><mail>ismail&#64;mail.example</mail><x>Jos&eacute; &amp; co, Ol&aacute;</x><tel>&#43;5511987654321</tel></l>",
                false,
                "<l><mail>xxxxxx&#64;xxxx.xxxxxxx</mail><x>Xxxx &amp; co, Ol&aacute;</x><tel>&#43;9999999999999</tel></l>",
            ),
            (
                "<l><email>bia&commat;mail.example</email><nome>L&unknown; &lt;b&gt;</nome></l>",
                false,
                "<l><email>xxx&commat;xxxx.xxxxxxx</email><nome>X&unknown; &lt;x&gt;</nome></l>",
            ),
            (
                r#"{"link": "https://site.example/ismail%40mail.example/?e=ismail%40mail.example&q=Hello%20Ismail&utm_source=x"}"#,
                false,
                r#"{"link": "https://site.example/xxxxxx%40xxxx.xxxxxxx/?e=xxxxxx%40xxxx.xxxxxxx&q=Xxxxx+Xxxxxx&utm_source=x"}"#,
            ),
            (
                r#"{"a": "ismail\u0040mail.example", "b": "ismail%2540mail.example", "c": "\\u0049smail", "d": "Hello Ismail"}"#,
                false,
                r#"{"a": "xxxxxx@xxxx.xxxxxxx", "b": "xxxxxx%2540xxxx.xxxxxxx", "c": "Xxxxxx", "d": "Xxxxx Xxxxxx"}"#,
            ),
            (
                "a=ismail%40mail.example&b=%49smail&c=1%25",
                true,
                "a=xxxxxx%40xxxx.xxxxxxx&b=Xxxxxx&c=9%25",
            ),
            (
                r#"{"data": "eyJub21lIjogIlJpdGEgTGltYSIsICJ4IjogIklzbWFpbCJ9", "d": "aGVsbG8gd29ybGQ="}"#,
                false,
                r#"{"data": "eyJub21lIjogIlh4eHggWHh4eCIsICJ4IjogIlh4eHh4eCJ9", "d": "aGVsbG8gd29ybGQ="}"#,
            ),
            (
                "Subject: =?UTF-8?B?SXNtYWls?= of =?utf-8?q?Is=6Dail?= ?\nRef: AP-1",
                false,
                "Subject: =?UTF-8?B??= of =?utf-8?q??= ?\nRef: AP-9",
            ),
            (
                r#"{"peer": "203.0.113.7:443"}"#,
                false,
                r#"{"peer": "999.9.999.9:443"}"#,
            ),
        ] {
            let masked = masked(&lead, body, is_form);
            assert_eq!(without_digits(&masked), without_digits(expect), "{body}");
        }
    }

    #[test]
    fn a_value_that_is_the_name_of_another_is_masked() {
        let lead = [("name", "Ismail Status"), ("phone", "+5511987654321")];
        let body = r#"{"ana@mail.example": {"score": 7}, "5511987654321": 1, "(11) 3456-7890": 2, "Ismail": 3, "status": "ok", "Torquato, Ximenia": 1, "Dra. Ximenia": 1, "DR. ISMAIL": 2,
            "indicado_por": "Nívea", "y": "of Nívea", "Rua, Cidade": "x",
            "Rita Lima": {"tel": "11 3456-7890"}, "Unit Type": "loft", "x": "of Rita", "value": 5, "r\u0069ta@mail.example": 1}"#;
        let masked = masked(&lead, body, false);
        for person in [
            "ana@",
            "87654321",
            "3456-7890",
            "Ismail",
            "Rita",
            "Lima",
            "ta@mail",
            "Torquato",
            "Ximenia",
            "ISMAIL",
            "Nívea",
        ] {
            assert!(!masked.contains(person), "{person} in {masked}");
        }
        for kept in [
            r#""xxx@xxxx.xxxxxxx": {"score": 7}"#,
            r#""status": "ok""#,
            r#""Unit Type": "loft""#,
            r#""value": 5"#,
            r#""Rua, Cidade": "x""#,
        ] {
            assert!(masked.contains(kept), "{kept} in {masked}");
        }
        let form = self::masked(&lead, "ana%40mail.example=1&5511987654321=x&y", true);
        assert!(form.starts_with("xxx%40xxxx.xxxxxxx="), "{form}");
        assert!(
            form.ends_with("=x&y") && !form.contains("87654321"),
            "{form}"
        );
    }

    #[test]
    fn the_work_grows_with_the_body_and_not_faster() {
        let all = |piece: &str, bytes: usize| piece.repeat(bytes / piece.len());
        for piece in [
            "9",
            "9 ",
            "(",
            "a@",
            "a ",
            "%40",
            "&#64;",
            "\\\\",
            "<a b='",
            "a=9&",
            "\n",
            "=?a?b?c",
            "=?",
            "\"a\":1,",
            "Ana Prado ",
            "\"",
            " \"\",\"",
        ] {
            for (before, after) in [
                ("{\"cpf\": \"", "\"}"),
                ("{\"x\": \"", "\"}"),
                ("id,nome\n", ""),
                ("", ""),
            ] {
                let body = |bytes| format!("{before}{}{after}", all(piece, bytes));
                leadhost_fuzz::grows_linearly(body, |body| {
                    masked(&[("name", "Ana Lima")], body, before.is_empty());
                });
            }
        }
    }

    #[test]
    fn a_text_without_persons_stays_as_it_is() {
        for text in [
            "",
            "{}",
            r#"[1, 2.50, "a@b", "v1.2.3", "2026-03-02 12:30:05 +0000", "R$ 350.000,00", "900719925474099"]"#,
            "no person (at all) + 12",
            "<?xml version=\"1.0\"?><a b='c' d>1</a>",
        ] {
            assert_eq!(masked(&[], text, false), text);
        }
    }
}
