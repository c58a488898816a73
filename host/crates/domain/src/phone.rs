//! Phones: the host turns raw text into E.164 and a match key, in one place. A valid number
//! need not be on a messaging channel: fixed lines, toll-free and short service numbers are
//! valid too.
//!
//! [`written`] reads the text; the library knows which numbers exist. A number written
//! without `+` must be a valid number, either of the region or with a `+` before it. A
//! number written with `+` need only be possible, because the library's tables are older
//! than the newest numbers.

pub mod written;

use std::borrow::Cow;

use rlibphonenumber::{
    NumberLengthType, PHONE_NUMBER_UTIL, PhoneNumber, PhoneNumberFormat, PhoneNumberType,
    enums::Region,
};
use serde::{Deserialize, Serialize};

/// A phone as a source wrote it and as the service reads it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Phone {
    /// The source's text, trimmed; at most [`written::MAX_CHARACTERS`].
    pub raw: String,
    /// `None` if it is not a possible number.
    pub e164: Option<String>,
    /// Two numbers with the same key belong to one person: E.164, for a mobile in Brazil
    /// without the ninth digit; see [`match_key`].
    pub match_key: Option<String>,
}

impl Phone {
    /// Returns the number in E.164, or the source's text if it is not a possible number.
    pub fn best(&self) -> &str {
        self.e164.as_deref().unwrap_or(&self.raw)
    }
}

/// Reads a phone. The region (ISO 3166 alpha-2, in any case) applies to numbers without a
/// country code; if the region does not exist, only numbers with a country code are read.
/// A country after the number (`912345678;phone-context=PT`) is its region instead.
/// Never panics, and reads no more than the first few dozen characters.
pub fn normalise(raw: &str, region: &str) -> Phone {
    let raw = written::bounded(raw);
    let region = match written::context(&raw) {
        Some(country) => region_of(country),
        None => Region::from_code(region.trim()).ok(),
    };
    let e164 = written::read(&raw)
        .and_then(|written| resolve(&written, region))
        .map(|number| number.format_as(PhoneNumberFormat::E164).into_owned());
    let match_key = e164.as_deref().map(match_key);
    Phone {
        raw,
        e164,
        match_key,
    }
}

/// Reads a text in the same way, and each phone of one in which several are between signs.
pub fn all(raw: &str, region: &str) -> Vec<Phone> {
    let several = written::several(raw);
    // Most texts have one phone, and reading one is expensive.
    if several.len() > 1 {
        let phones = several.iter().map(|one| normalise(one, region));
        let phones: Vec<Phone> = phones.collect();
        if phones.iter().all(|phone| phone.e164.is_some()) {
            return phones;
        }
    }
    vec![normalise(raw, region)]
}

/// Returns the region of an ISO code, or of a dialling code with `+`.
fn region_of(country: &str) -> Option<Region> {
    match country.strip_prefix('+') {
        Some(code) => PHONE_NUMBER_UTIL.get_region_for_country_code(code.parse().ok()?),
        // The name in domains, and many people's.
        None if country.eq_ignore_ascii_case("uk") => Some(Region::GB),
        None => Region::from_code(country).ok(),
    }
}

/// Returns whether phones without a country code can be read for a region.
pub fn is_region(region: &str) -> bool {
    Region::from_code(region).is_ok_and(|region| {
        PHONE_NUMBER_UTIL
            .get_supported_regions()
            .any(|known| known == region)
    })
}

/// Country codes with the digit that marked mobiles after them. Providers still write it, and
/// people leave it out: Mexico gave it up in 2019, Argentina writes 15 within the country.
const MOBILE_MARKS: [(&str, &str); 2] = [("+52", "1"), ("+54", "9")];

/// Digits of a number of these countries, with its area code and without the mark.
const WITHOUT_MARK: usize = 10;

/// Returns the key that two spellings of one person's number share. Brazil added a 9 after
/// the area code of mobiles, and providers answer with and without it. A number whose
/// eighth digit from the end is 2 to 5 was a fixed line at that time, so (11) 3456-7890 and
/// (11) 93456-7890 are two people. Keys are stored: a new rule needs a migration of them.
pub fn match_key(e164: &str) -> String {
    for (country, mark) in MOBILE_MARKS {
        let national = e164.strip_prefix(country);
        if let Some(number) = national.and_then(|national| national.strip_prefix(mark))
            && number.len() == WITHOUT_MARK
        {
            return format!("{country}{number}");
        }
    }
    if let Some(rest) = e164.strip_prefix("+55")
        && rest.is_ascii()
        && let [a, b, b'9', old @ b'6'..=b'9', tail @ ..] = rest.as_bytes()
        && tail.len() == 7
    {
        let old = [*a, *b, *old];
        let parts = old.iter().chain(tail).copied().map(char::from);
        return "+55".chars().chain(parts).collect();
    }
    e164.to_owned()
}

/// Loads the library's tables before the first lead, which takes about 50 ms.
pub fn warm_up() {
    normalise("(11) 98765-4321", "BR");
    normalise("+1 206 555 0100", "US");
}

/// Digits of a mobile number with its area code.
const WHOLE_NATIONAL: usize = 11;

/// Digits of a country code that no area code has.
const COUNTRY_GROUP: usize = 3;

/// Tries the readings of a number, likeliest first, and returns the first number that
/// exists.
fn resolve(written: &written::WrittenNumber, region: Option<Region>) -> Option<PhoneNumber> {
    let digits = written.digits.as_str();
    let with_plus = || parse(&format!("+{digits}"), None);
    let national = || region.and_then(|region| parse(&national_form(digits, region), Some(region)));
    let valid = |number: &PhoneNumber| number.is_valid();
    let found = if written.international {
        // A plus before a whole national number is a slip. Before a shorter number, or
        // before a group that is not an area code, it marks a broken number of another
        // country, which must not be read as a number of this region.
        let is_slip = digits.len() >= WHOLE_NATIONAL && written.first_group != COUNTRY_GROUP;
        let slip = || national().filter(|_| is_slip);
        with_plus()
            .filter(valid)
            .or_else(|| slip().filter(valid))
            .or_else(|| with_plus().filter(is_plausible).filter(is_stable))
    } else {
        national()
            .filter(valid)
            .or_else(|| with_plus().filter(valid))
    };
    if let Some(number) = found {
        // Some countries have numbers of any length: there a country code may pass for an area code.
        let meant = if written.international {
            without_repeated_code(digits).find(is_mobile)
        } else if digits.starts_with(&number.country_code.to_string()) {
            with_plus().filter(is_mobile)
        } else {
            None
        };
        return meant.filter(|_| !is_mobile(&number)).or(Some(number));
    }
    let is_possible =
        |number: Option<PhoneNumber>| number.is_some_and(|number| is_plausible(&number));
    if is_possible(with_plus()) || is_possible(national()) {
        return None;
    }
    without_repeated_code(digits).find(valid)
}

fn is_mobile(number: &PhoneNumber) -> bool {
    number.get_type() == PhoneNumberType::Mobile
}

/// Returns the numbers that are meant if a form's picker put the country's code before a number that has it.
fn without_repeated_code(digits: &str) -> impl Iterator<Item = PhoneNumber> {
    let codes = 1..=written::COUNTRY_CODE.min(digits.len() / 2);
    let twice = codes.filter(|length| digits[..*length] == digits[*length..2 * length]);
    twice.filter_map(|length| parse(&format!("+{}", &digits[length..]), None))
}

/// Adds the ninth digit to an old mobile: otherwise the library takes 55, an area code, for
/// the country code.
fn national_form(digits: &str, region: Region) -> Cow<'_, str> {
    match with_ninth_digit(digits) {
        Some(new) if region == Region::BR => Cow::Owned(new),
        _ => Cow::Borrowed(digits),
    }
}

/// Returns a Mexican mobile as it is dialled since 2019: the library has dropped both the mark after the
/// country code and the prefixes within the country.
fn without_mexican_mark(text: &str, region: Option<Region>) -> Option<String> {
    let country = if text.starts_with("+52") { "+52" } else { "" };
    let number = &text[country.len()..];
    let is_mexican = !country.is_empty() || region == Some(Region::MX);
    ["1", "01", "044", "045"]
        .iter()
        .filter_map(|mark| number.strip_prefix(mark))
        .find(|rest| is_mexican && rest.len() == WITHOUT_MARK)
        .map(|rest| format!("{country}{rest}"))
}

fn parse(text: &str, region: Option<Region>) -> Option<PhoneNumber> {
    let dialled_now = without_mexican_mark(text, region);
    let text = dialled_now.as_deref().unwrap_or(text);
    let number = PHONE_NUMBER_UTIL.parse(text, region).ok()?;
    if number.country_code == 55
        && let Some(new) = with_ninth_digit(&number.get_national_significant_number())
    {
        return PHONE_NUMBER_UTIL.parse(format!("+55{new}"), None).ok();
    }
    Some(number)
}

/// Returns an old Brazilian mobile without the ninth digit (area code and eight digits that
/// begin with 6 to 9) as it is dialled now.
fn with_ninth_digit(national: &str) -> Option<String> {
    match national.as_bytes() {
        [b'1'..=b'9', b'1'..=b'9', b'6'..=b'9', rest @ ..] if rest.len() == 7 => {
            Some(format!("{}9{}", &national[..2], &national[2..]))
        }
        _ => None,
    }
}

/// Returns whether the length is right and the number is not a dummy such as 00000-0000.
fn is_plausible(number: &PhoneNumber) -> bool {
    let national = number.get_national_significant_number();
    let distinct = (b'0'..=b'9')
        .filter(|digit| national.as_bytes().contains(digit))
        .count();
    distinct > 2 && number.is_possible_with_reason() == Ok(NumberLengthType::IsPossible)
}

/// Returns whether reading the number's E.164 text gives the same number. False for numbers
/// with zeros that each reading drops.
fn is_stable(number: &PhoneNumber) -> bool {
    let text = number.format_as(PhoneNumberFormat::E164);
    parse(&text, None).is_some_and(|again| again.format_as(PhoneNumberFormat::E164) == text)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(raw: &str, region: &str, expect: Option<&str>) {
        let phone = normalise(raw, region);
        assert_eq!(phone.e164.as_deref(), expect, "{raw} in {region}");
        assert_eq!(phone.match_key.is_some(), expect.is_some(), "{raw}");
    }

    fn brazil(raw: &str, expect: &str) {
        check(raw, "BR", Some(expect));
    }

    fn nothing(raw: &str) {
        for region in ["BR", "US", "GB", "PT", "", "??"] {
            check(raw, region, None);
        }
    }

    #[test]
    fn brazilian_numbers_are_read_in_every_usual_spelling() {
        for raw in [
            "(11) 98765-4321",
            "11987654321",
            "011 98765-4321",
            "0xx11 98765-4321",
            "(0XX11) 98765-4321",
            "5511987654321",
            "+55 11 98765-4321",
            "+55 (0) 11 98765-4321",
            "0055 11 98765 4321",
            "+11 98765-4321",
            "00 11 98765-4321",
            "p:+5511987654321",
            "'11987654321",
            "=\"11987654321\"",
            "tel:+55-11-98765-4321",
            "tel:+55-11-98765-4321;ext=12",
            "whatsapp:+5511987654321",
            "5511987654321@s.whatsapp.net",
            "5511987654321:17@s.whatsapp.net",
            "5511987654321@c.us",
            "https://wa.me/5511987654321?text=Ola",
            "(11) 98765-4321 / (11) 3456-7890",
            "(11) 98765-4321, 11 3456-7890",
            "11 98765-4321; 11 3456-7890",
            "11 98765-4321 ou 11 3456-7890",
            "(11) 98765-4321 (11) 3456-7890",
            "11/98765-4321",
            "(11) 98765-4321 ramal 22",
            "(11) 98765-4321 r. 22",
            "(11) 98765-4321 (recado com Bia)",
            "11 98765-4321 x22",
            "11987654321x22",
            "11 98765-4321 ext 22",
            "11 98765-4321 #22",
            "Cel.: (11) 98765-4321",
            "\u{a0}(11)\u{a0}98765\u{2011}4321\u{a0}",
            "\u{202a}+55\u{2009}11 98765–4321\u{202c}",
            "(１１)９８７６５-４３２１",
            "＋５５１１９８７６５４３２１",
            "11987654321.0",
            "11.98765.4321",
        ] {
            brazil(raw, "+5511987654321");
        }
    }

    #[test]
    fn old_mobiles_get_the_ninth_digit() {
        brazil("(11) 8765-4321", "+5511987654321");
        brazil("+55 11 8765 4321", "+5511987654321");
        brazil("551187654321", "+5511987654321");
        brazil("0 11 8765-4321", "+5511987654321");
        brazil("(55) 8765-4321", "+5555987654321");
        brazil("(51) 6123-4567", "+5551961234567");
    }

    #[test]
    fn fixed_lines_and_service_numbers_stay_as_they_are() {
        brazil("(11) 3456-7890", "+551134567890");
        brazil("55 11 3456-7890", "+551134567890");
        brazil("0800 701 2345", "+558007012345");
        brazil("4004-1234", "+5540041234");
    }

    #[test]
    fn a_country_code_that_is_written_twice_counts_once() {
        for (raw, expect) in [
            ("+55+5511900005101", "+5511900005101"),
            ("+55 +55 (11) 90000-5102", "+5511900005102"),
            ("+555511900005103", "+5511900005103"),
            ("5555 11 90000-5104", "+5511900005104"),
            ("55+5511900005109", "+5511900005109"),
            ("(+55) +55 11 90000-5110", "+5511900005110"),
            ("+7+78639222222", "+78639222222"),
            ("+1 +1 206 555 0100", "+12065550100"),
            ("+351+351912345678", "+351912345678"),
            ("+351 351 912 345 678", "+351912345678"),
            ("+44 +44 7400 123456", "+447400123456"),
            ("4444 7400 123456", "+447400123456"),
        ] {
            brazil(raw, expect);
        }
        for (raw, expect) in [
            ("+49 49 151 23456789", "+4915123456789"),
            ("0049 49 151 23456789", "+4915123456789"),
            ("+39 39 333 1234567", "+393331234567"),
        ] {
            brazil(raw, expect);
        }
        brazil("+39 393 123 4567", "+393931234567");
        brazil("+49 491 123456", "+49491123456");
        brazil("+49 4921 123456", "+494921123456");
        // The code of another country, and a rest that is no valid number.
        for raw in [
            "+1+5511900005101",
            "+55+1 206 555 0100",
            "11+5511900005101",
            "5555 1190 000",
            "5555 00 90000-5104",
        ] {
            check(raw, "BR", None);
        }
    }

    #[test]
    fn each_phone_of_a_text_with_several_is_read() {
        for (raw, expect) in [
            (
                "+5511900000001+5511900000002",
                &["+5511900000001", "+5511900000002"][..],
            ),
            (
                "11 90000-0001 / (11) 90000-0002",
                &["+5511900000001", "+5511900000002"],
            ),
            (
                "11 90000-0001; 11 90000-0002, 11 90000-0003",
                &["+5511900000001", "+5511900000002", "+5511900000003"],
            ),
            ("11 90000-0001 / 0002", &["+5511900000001"]),
            ("+55 +55 11 90000-0001", &["+5511900000001"]),
            ("11 90000-0001, ligar cedo", &["+5511900000001"]),
            ("912345678;phone-context=PT", &["+351912345678"]),
            ("não", &[""]),
        ] {
            let phones = all(raw, "BR");
            let read = phones
                .iter()
                .map(|phone| phone.e164.as_deref().unwrap_or_default());
            assert_eq!(read.collect::<Vec<_>>(), expect, "{raw}");
        }
        assert_eq!(all(&"+5511900000001".repeat(1_000_000), "BR").len(), 1);
    }

    #[test]
    fn a_mobile_of_every_area_code_is_read_in_every_spelling() {
        const NONE: [u32; 22] = [
            20, 23, 25, 26, 29, 30, 36, 39, 40, 50, 52, 56, 57, 58, 59, 60, 70, 72, 76, 78, 80, 90,
        ];
        for area in (11..=99).filter(|area| !NONE.contains(area)) {
            let e164 = format!("+55{area}984550102");
            for raw in [
                e164.clone(),
                format!("+55 {area} 98455-0102"),
                format!("55{area}984550102"),
                format!("({area}) 98455-0102"),
            ] {
                brazil(&raw, &e164);
            }
        }
    }

    #[test]
    fn area_code_55_is_not_the_country() {
        brazil("(55) 99999-9999", "+5555999999999");
        brazil("55 3221-0000", "+555532210000");
        brazil("5555999991234", "+5555999991234");
    }

    #[test]
    fn other_countries_are_read_with_and_without_plus() {
        brazil("+54 9 11 2345-6789", "+5491123456789");
        brazil("5491123456789", "+5491123456789");
        brazil("+1 (206) 555-0142", "+12065550142");
        brazil("12065550142", "+12065550142");
        brazil("+351 912 345 678", "+351912345678");
        check("912 345 678", "PT", Some("+351912345678"));
        check("020 7183 8750", "gb", Some("+442071838750"));
        for raw in [
            "4915123450016",
            "49 151 23450016",
            "49-151-23450016",
            "+49 (0) 151 / 234 500 16",
            "0049 (0) 151 / 23450016",
            "+49 0151 / 23450016",
            "0151 / 234 500 16",
        ] {
            check(raw, "DE", Some("+4915123450016"));
            assert_eq!(all(raw, "DE").len(), 1, "{raw}");
        }
        check("04921 123456", "DE", Some("+494921123456"));
        check("4921 123456", "DE", Some("+494921123456"));
        check("+44 (0)20 7183 8750", "BR", Some("+442071838750"));
        check("2565550142", "US", Some("+12565550142"));
        check("+5511987654321", "", Some("+5511987654321"));
        check("(11) 98765-4321", "", None);
    }

    #[test]
    fn a_number_with_plus_need_only_be_possible() {
        brazil("+1 (555) 123-4567", "+15551234567");
        check("(555) 123-4567", "US", None);
    }

    #[test]
    fn a_text_that_is_not_a_number_gives_none() {
        for raw in [
            "",
            "  ",
            "-",
            "n/a",
            "não informado",
            "<test lead: dummy data for phone_number>",
            "test",
            "+999 12345678",
            "00 999 12345678",
            "+55 00 98765-4321",
            "+55 0 0 98765-4321",
            "+1-555-0199",
            "+15550199",
            "+1234567890",
            "00000 000000",
            "+55 11 00000-0000",
            "+00000000000",
            "11 9****-4321",
            "119XXXX4321",
            "(11) 9••••-4321",
            "9.99999999E9",
            "1.1987654321e10",
            "maria@example.com",
            "120363000000000000@g.us",
            "123456789012345@lid",
            "2024-07-10T13:45:10",
            "98765432109876543210987654321",
            "US.1234",
        ] {
            nothing(raw);
        }
    }

    #[test]
    fn the_match_key_leaves_out_the_ninth_digit_of_old_mobiles_only() {
        let key = |raw: &str| normalise(raw, "BR").match_key;
        assert_eq!(key("(11) 98765-4321"), Some("+551187654321".into()));
        assert_eq!(key("(11) 98765-4321"), key("551187654321"));
        assert_eq!(key("(11) 3456-7890"), Some("+551134567890".into()));
        assert_eq!(key("(11) 93456-7890"), Some("+5511934567890".into()));
        assert_eq!(match_key("+55"), "+55");
        assert_eq!(match_key("+5511é"), "+5511é");
    }

    #[test]
    fn the_match_key_leaves_out_the_mobile_marks_of_mexico_and_argentina() {
        let check = |raw: &str, region: &str, expect: &str| {
            let key = normalise(raw, region).match_key;
            assert_eq!(key.as_deref(), Some(expect), "{raw} in {region}");
        };
        for (region, raw) in [
            ("BR", "+52 55 1234 5678"),
            ("BR", "+52 1 55 1234 5678"),
            ("BR", "5215512345678"),
            ("BR", "whatsapp:+5215512345678"),
            ("", "+5215512345678"),
            ("MX", "55 1234 5678"),
            ("MX", "044 55 1234 5678"),
            ("MX", "045 55 1234 5678"),
            ("MX", "01 55 1234 5678"),
            ("MX", "1 55 1234 5678"),
            ("MX", "5215512345678"),
            ("MX", "525512345678"),
        ] {
            check(raw, region, "+525512345678");
        }
        for (region, raw) in [
            ("BR", "+54 11 2345-6789"),
            ("BR", "+54 9 11 2345-6789"),
            ("BR", "5491123456789"),
            ("BR", "+54 11 15-2345-6789"),
            ("BR", "+54 (011) 15-2345-6789"),
            ("AR", "011 15-2345-6789"),
            ("AR", "(011) 15 2345-6789"),
            ("AR", "11 15 2345-6789"),
            ("AR", "11 2345-6789"),
            ("AR", "9 11 2345-6789"),
            ("AR", "5491123456789"),
            ("AR", "541123456789"),
        ] {
            check(raw, region, "+541123456789");
        }
        check("0351 15-234-5678", "AR", "+543512345678");
        check("+54 9 351 234-5678", "BR", "+543512345678");
        assert_eq!(match_key("+52155123456789"), "+52155123456789");
        assert_eq!(match_key("+52155é12345é"), "+52155é12345é");
    }

    #[test]
    fn a_country_after_the_number_is_its_region() {
        for (raw, expect) in [
            ("912345678;phone-context=PT", Some("+351912345678")),
            ("tel:912345678;phone-context=pt", Some("+351912345678")),
            ("(91) 2345678;phone-context=+351", Some("+351912345678")),
            ("34912345678;phone-context=ES", Some("+34912345678")),
            ("34912345678;phone-context=+34", Some("+34912345678")),
            ("41912345678;phone-context=CH", Some("+41912345678")),
            ("91 234 56 78;phone-context=CH", Some("+41912345678")),
            ("0170 1234567;phone-context=DE", Some("+491701234567")),
            ("07400 123456;phone-context=UK", Some("+447400123456")),
            ("06 1234 5678;phone-context=IT", Some("+390612345678")),
            ("011 15-2345-6789;phone-context=AR", Some("+5491123456789")),
            ("+5511987654321;phone-context=PT", Some("+5511987654321")),
            ("5511987654321;phone-context=PT", Some("+5511987654321")),
            ("11987654321;phone-context=BR;ext=1", Some("+5511987654321")),
            // Nothing else is guessed.
            ("11987654321;phone-context=XX", None),
            ("11987654321;phone-context=", None),
            ("11987654321;phone-context=+999", None),
            ("11987654321;phone-context=example.com", None),
            (";phone-context=PT", None),
        ] {
            check(raw, "BR", expect);
        }
    }

    #[test]
    fn the_raw_text_is_kept_trimmed_and_bounded() {
        assert_eq!(normalise(" 11 9 ", "BR").raw, "11 9");
        let long = normalise(&"é1".repeat(1_000_000), "BR");
        assert_eq!(long.raw.chars().count(), written::MAX_CHARACTERS);
    }

    #[test]
    fn regions_are_those_whose_numbers_are_known() {
        for known in ["BR", "US", "PT", "AR", "GB"] {
            assert!(is_region(known), "{known}");
        }
        for unknown in ["", "XX", "ZZ", "UK", "BRA", "001", "é"] {
            assert!(!is_region(unknown), "{unknown}");
        }
    }
}

#[cfg(test)]
mod fuzz {
    use leadhost_fuzz::{damaged_text, holds};

    use super::*;

    #[test]
    fn fuzz_a_number_that_is_read_is_read_again_as_the_same() {
        let seeds = [
            "+55 (11) 98765-4321",
            "011 15 98765 4321",
            "0055 21 3456-7890 ext. 12",
            "+351 912 345 678",
            "tel:+1-201-555-0123",
            "11 8765-4321",
            "whatsapp:５５11@s.whatsapp.net;ext=1",
            "0xx0xx00=+'\"wa.me/phone=p:tel:",
            "5555555555555555555555555555555555555555",
        ];
        let words = "+,0,9,55,(,),-, ,x,٣,＋,/,\0,é,@,\u{202e},🙂,:,.,#,0000000000";
        let words: Vec<&str> = words.split(',').collect();
        holds(3_000, damaged_text(seeds, &words), |raw| {
            for region in ["BR", "PT", "US", "AR", "MX", "é", "nowhere"] {
                let read = normalise(raw, region);
                assert!(read.raw.chars().count() <= written::MAX_CHARACTERS);
                assert_eq!(read.e164.is_some(), read.match_key.is_some());
                let Some(e164) = read.e164 else {
                    continue;
                };
                let digits = e164.strip_prefix('+').expect("a plus");
                assert!((1..=15).contains(&digits.len()), "{e164}");
                assert!(digits.bytes().all(|digit| digit.is_ascii_digit()), "{e164}");
                let again = normalise(&e164, "nowhere");
                assert_eq!(again.e164.as_ref(), Some(&e164), "{raw} in {region}");
                assert_eq!(again.match_key, read.match_key);
            }
        });
    }
}
