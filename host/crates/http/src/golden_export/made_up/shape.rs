//! Made-up values of the same shape: as long, with letters for letters and digits for digits. The same
//! value always gives the same one under one salt. The salt is random, so that trying
//! all phone numbers does not find the value.

use std::net::IpAddr;

use sha2::{Digest as _, Sha256};

/// Makes values up.
pub struct Shapes {
    salt: Vec<u8>,
}

/// Words between names that say nothing about a person.
const SMALL: [&str; 19] = [
    "da", "das", "de", "del", "der", "di", "do", "dos", "du", "e", "el", "la", "mr", "mrs", "sr",
    "sra", "van", "von", "y",
];

/// Words of labels and of test submissions, which some people type as a name. They name no person, and elsewhere in a
/// delivery they say what a field is, or that it is a test.
const LABELS: [&str; 42] = [
    "address",
    "assunto",
    "campo",
    "cliente",
    "company",
    "completo",
    "contact",
    "contato",
    "correo",
    "customer",
    "data",
    "demo",
    "dummy",
    "email",
    "empresa",
    "endereço",
    "example",
    "exemplo",
    "field",
    "first",
    "form",
    "full",
    "last",
    "lead",
    "leads",
    "mensagem",
    "message",
    "name",
    "nombre",
    "nome",
    "number",
    "person",
    "pessoa",
    "phone",
    "sobrenome",
    "telefone",
    "test",
    "teste",
    "testing",
    "user",
    "usuario",
    "usuário",
];

/// The digits at the end of a phone number that are replaced: those before name the country, the area
/// and the kind of line.
const PHONE_DIGITS: usize = 6;

/// The digits at the end of a phone number by which it is recognised in another notation.
const PHONE_TAIL: usize = 8;

/// How often another value is tried if the made-up one is the value itself.
const ATTEMPTS: u8 = 8;

/// Returns the digits of a text.
pub fn digits_of(text: &str) -> String {
    text.chars().filter(char::is_ascii_digit).collect()
}

/// Returns the end of a phone number, which is the same in all notations. `None`: it is too short.
pub fn phone_tail(text: &str) -> Option<String> {
    let digits = digits_of(text);
    let from = digits.len().checked_sub(PHONE_TAIL)?;
    Some(digits[from..].to_owned())
}

/// Returns whether a word can be that of a name, and is neither one that joins others nor one of labels.
pub fn is_telling(word: &str) -> bool {
    let word = word.to_lowercase();
    word.chars().count() > 2 && !SMALL.contains(&&*word) && !LABELS.contains(&&*word)
}

/// Returns whether a word, in lower case, joins the words of a name, such as `de`.
pub fn joins_names(word: &str) -> bool {
    SMALL.contains(&word)
}

/// Returns whether a word of a name is one that other texts may have too, because it has two letters.
pub fn is_short_name(word: &str) -> bool {
    let word = word.to_lowercase();
    word.chars().count() == 2 && !SMALL.contains(&&*word) && !LABELS.contains(&&*word)
}

impl Shapes {
    /// Returns shapes that depend on this salt.
    pub fn new(salt: &[u8]) -> Self {
        Self {
            salt: salt.to_vec(),
        }
    }

    /// Replaces each word of a name, also inside a text with other characters.
    pub fn words(&self, text: &str) -> String {
        each_word(text, |word| self.word(word))
    }

    /// Replaces one word.
    pub fn word(&self, word: &str) -> String {
        let lower = word.to_lowercase();
        if SMALL.contains(&lower.as_str()) {
            return word.to_owned();
        }
        self.differing("word", &lower, word, |stream| {
            word.chars().map(|one| letter(one, stream)).collect()
        })
    }

    /// Replaces the words and the digits of an address.
    pub fn address(&self, text: &str) -> String {
        let words = self.words(text);
        self.numbers(&words)
    }

    /// Replaces a phone number, except the digits that name country and area.
    pub fn phone(&self, text: &str) -> String {
        let digits = digits_of(text);
        let kept = match digits.len() {
            0 => return text.to_owned(),
            length if length >= PHONE_TAIL => length - PHONE_DIGITS,
            _ => 1,
        };
        let tail = phone_tail(text).unwrap_or(digits);
        self.differing("phone", &tail, text, |stream| {
            let mut place = 0;
            let replaced = text.chars().map(|one| {
                if !one.is_ascii_digit() {
                    return one;
                }
                place += 1;
                match place > kept {
                    true => digit(stream.next()),
                    false => one,
                }
            });
            replaced.collect()
        })
    }

    /// Replaces all digits. A number keeps its length: its first digit does not become zero.
    pub fn numbers(&self, text: &str) -> String {
        let digits = digits_of(text);
        if digits.is_empty() {
            return text.to_owned();
        }
        self.differing("number", &digits, text, |stream| {
            let mut is_first = true;
            let replaced = text.chars().map(|one| {
                if !one.is_ascii_digit() {
                    return one;
                }
                let first = std::mem::take(&mut is_first);
                match (first, one) {
                    (true, '0') => '0',
                    (true, _) => char::from(b'1' + stream.next() % 9),
                    (false, _) => digit(stream.next()),
                }
            });
            replaced.collect()
        })
    }

    /// Replaces letters and digits of an id.
    pub fn id(&self, text: &str) -> String {
        self.differing("id", text, text, |stream| {
            text.chars()
                .map(|one| letter_or_digit(one, stream))
                .collect()
        })
    }

    /// Replaces a date: a year of four digits, and days and months that exist.
    pub fn birth(&self, text: &str) -> String {
        let mut stream = self.stream("birth", &digits_of(text), 0);
        let mut made = String::new();
        let mut rest = text;
        while let Some(one) = rest.chars().next() {
            let length = rest.find(|one: char| !one.is_ascii_digit());
            let length = length.unwrap_or(rest.len());
            let drawn = u32::from(stream.next());
            match length {
                0 => made.push(one),
                1 => made += &(1 + drawn % 9).to_string(),
                2 => made += &format!("{:02}", 1 + drawn % 12),
                4 => made += &(1950 + drawn % 50).to_string(),
                _ => made += &self.numbers(&rest[..length]),
            }
            rest = &rest[length.max(if length == 0 { one.len_utf8() } else { 0 })..];
        }
        made
    }

    /// Replaces an e-mail address by one of `example.com`, which has no mailboxes.
    pub fn email(&self, text: &str) -> String {
        let Some((local, _)) = text.rsplit_once('@') else {
            return self.words(text);
        };
        let lower = text.to_lowercase();
        let local = self.differing("email", &lower, local, |stream| {
            local
                .chars()
                .map(|one| letter_or_digit(one, stream))
                .collect()
        });
        format!("{local}@example.com")
    }

    /// Replaces an address on the network by one that is for documentation.
    pub fn ip(&self, text: &str) -> String {
        let number = self.stream("ip", text.trim(), 0).next().max(1);
        match text.trim().parse() {
            Ok(IpAddr::V4(_)) => format!("203.0.113.{number}"),
            Ok(IpAddr::V6(_)) => format!("2001:db8::{number}"),
            Err(_) => self.numbers(text),
        }
    }

    /// Makes a value up until it is another one than before, which it is nearly always at once.
    fn differing(
        &self,
        kind: &str,
        value: &str,
        before: &str,
        make: impl Fn(&mut Stream) -> String,
    ) -> String {
        let mut made = String::new();
        for attempt in 0..ATTEMPTS {
            made = make(&mut self.stream(kind, value, attempt));
            if made != before {
                break;
            }
        }
        made
    }

    fn stream(&self, kind: &str, value: &str, attempt: u8) -> Stream {
        let mut hash = Sha256::new();
        hash.update(&self.salt);
        hash.update([attempt]);
        hash.update(kind);
        hash.update([0]);
        hash.update(value);
        Stream {
            block: hash.finalize().into(),
            at: 0,
        }
    }
}

/// Bytes that follow from a value.
struct Stream {
    block: [u8; 32],
    at: usize,
}

impl Stream {
    fn next(&mut self) -> u8 {
        if self.at == self.block.len() {
            self.block = Sha256::digest(self.block).into();
            self.at = 0;
        }
        self.at += 1;
        self.block[self.at - 1]
    }
}

/// Replaces the runs of letters in a text. References of XML and HTML, such as `&eacute;`, stay.
pub fn each_word(text: &str, replace: impl Fn(&str) -> String) -> String {
    let mut made = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(one) = rest.chars().next() {
        let reference = if one == '&' { reference(rest) } else { None };
        if let Some(end) = reference {
            made += &rest[..=end];
            rest = &rest[end + 1..];
            continue;
        }
        let end = rest.find(|one: char| !one.is_alphabetic());
        match end.unwrap_or(rest.len()) {
            0 => {
                made.push(one);
                rest = &rest[one.len_utf8()..];
            }
            end => {
                made += &replace(&rest[..end]);
                rest = &rest[end..];
            }
        }
    }
    made
}

/// Returns the place of the semicolon of a reference at the beginning of a text.
fn reference(text: &str) -> Option<usize> {
    let bytes = text.as_bytes().iter().take(REFERENCE_BYTES);
    let end = bytes.skip(1).position(|one| *one == b';')? + 1;
    let is_name = |one: &u8| one.is_ascii_alphanumeric() || *one == b'#';
    let name = &text.as_bytes()[1..end];
    (!name.is_empty() && name.iter().all(is_name)).then_some(end)
}

/// The longest reference of XML and HTML that is recognised.
const REFERENCE_BYTES: usize = 10;

fn digit(drawn: u8) -> char {
    char::from(b'0' + drawn % 10)
}

fn letter_or_digit(one: char, stream: &mut Stream) -> char {
    match one {
        '0'..='9' => digit(stream.next()),
        one => letter(one, stream),
    }
}

/// Replaces a letter by one that is as long in UTF-8: vowels by vowels, so that names stay readable.
fn letter(one: char, stream: &mut Stream) -> char {
    if !one.is_alphabetic() {
        return one;
    }
    let lower = one.to_lowercase().next().unwrap_or(one);
    let choice: &[char] = match lower.len_utf8() {
        1 if "aeiou".contains(lower) => &['a', 'e', 'i', 'o', 'u'],
        1 => &[
            'b', 'c', 'd', 'f', 'g', 'l', 'm', 'n', 'p', 'r', 's', 't', 'v',
        ],
        2 => &['á', 'é', 'í', 'ó', 'ú', 'ê', 'ô', 'ã', 'õ'],
        3 => &['山', '川', '田', '中', '村', '木', '森', '林'],
        _ => &['𠀀', '𠀁', '𠀂', '𠀃'],
    };
    let drawn = choice[usize::from(stream.next()) % choice.len()];
    match one.is_uppercase() {
        true => drawn.to_uppercase().next().unwrap_or(drawn),
        false => drawn,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shapes() -> Shapes {
        Shapes::new(b"a salt")
    }

    #[test]
    fn a_name_keeps_its_lengths_its_case_and_its_small_words() {
        let made = shapes().words("Ana de Souza-LÚCIA d'Ávila &eacute;");
        let lengths = |text: &str| -> Vec<usize> { text.split(' ').map(str::len).collect() };
        assert_eq!(
            lengths(&made),
            lengths("Ana de Souza-LÚCIA d'Ávila &eacute;")
        );
        assert!(
            made.contains(" de ") && made.ends_with(" &eacute;"),
            "{made}"
        );
        assert!(!made.contains("Souza") && !made.contains("Ana"), "{made}");
        assert!(made.starts_with(char::is_uppercase), "{made}");
        assert_eq!(
            shapes().word("SOUZA"),
            shapes().word("Souza").to_uppercase()
        );
    }

    #[test]
    fn a_phone_is_the_same_in_every_notation_and_keeps_country_and_area() {
        let made = shapes().phone("+55 (11) 98765-4321");
        assert!(made.starts_with("+55 (11) 98"), "{made}");
        assert_eq!(made.len(), "+55 (11) 98765-4321".len());
        assert_ne!(made, "+55 (11) 98765-4321");
        let digits = digits_of(&made);
        assert_eq!(shapes().phone("5511987654321"), digits);
        assert_eq!(shapes().phone("987654321"), digits[4..]);
        assert_eq!(shapes().phone("none"), "none");
    }

    #[test]
    fn other_values_keep_their_shape() {
        let shapes = shapes();
        let email = shapes.email("Ana.Prado77@mail.example");
        let (local, domain) = email.split_once('@').expect("an address");
        assert_eq!(domain, "example.com");
        assert_eq!(local.len(), "Ana.Prado77".len());
        assert!(local.contains('.') && !local.contains("Prado"), "{email}");
        let number = shapes.numbers("123.456.789-09");
        assert_eq!(number.len(), 14);
        assert!(!number.starts_with('0') && number.ends_with(|one: char| one.is_ascii_digit()));
        let birth = shapes.birth("1987-05-31T00");
        assert!(birth.starts_with("19") && birth.len() == 13, "{birth}");
        assert!(shapes.ip("192.168.0.7").starts_with("203.0.113."));
        assert!(shapes.ip("::1").starts_with("2001:db8::"));
        assert_eq!(shapes.id("user-77A").len(), 8);
        assert_ne!(shapes.id("user-77A"), "user-77A");
    }

    #[test]
    fn another_salt_gives_other_values() {
        let other = Shapes::new(b"another salt");
        assert_ne!(other.word("Magdalena"), shapes().word("Magdalena"));
    }
}
