//! E-mail addresses as people, forms and mail programs write them. The host reads addresses with this
//! file too, so that both find the same ones.

/// Maximum addresses of one text.
const MOST: usize = 20;
/// Maximum words of the name of an address, and those that are none and beside addresses.
const NAME_WORDS: usize = 8;
const OTHER_WORDS: usize = 2;
/// What stands before an address: the scheme of a link, or the label that somebody wrote.
const LABELS: [&str; 5] = ["mailto:", "email:", "e-mail:", "mail:", "correo:"];
/// Maximum characters of an address.
const MAX_CHARACTERS: usize = 254;

/// Returns the addresses of a text that is nothing but addresses: one, or several between commas,
/// semicolons, slashes, spaces or `e`, each with a name (`"Souza, Ana" <ana@example.com>`), a comment,
/// or `mailto:`, or in a link of Markdown or HTML. Invisible characters and final signs are left out, and
/// references of HTML and an encoded at sign are read.
pub fn addresses(text: &str) -> Vec<String> {
    let mut found = Vec::new();
    let mut text = super::html::unescaped(text);
    if !text.contains(['@', '＠']) {
        text = text.replace("%40", "@").into();
    }
    if !text.contains(['@', '＠']) {
        return found;
    }
    let visible = text.chars().filter(|c| !super::nothing::is_invisible(*c));
    let text: String = visible.map(|c| if c == '＠' { '@' } else { c }).collect();
    let mut rest = text.trim();
    if unlabelled(rest).is_some() {
        rest = rest.split('?').next().unwrap_or_default();
    }
    let mut part = Part::default();
    let mut others = 0;
    // A sign at the end ends the last part.
    for character in rest.chars().map(Some).chain([None]) {
        if character.is_some_and(|character| part.take(character)) {
            continue;
        }
        let part = std::mem::take(&mut part);
        let read = part.addresses();
        let words = part.plain.split_whitespace().count();
        match part.bracketed {
            // With a comma in the name, its begin is a part of its own.
            Some(_) if !read.is_empty() => others = words.saturating_sub(NAME_WORDS),
            _ if read.is_empty() => others += words,
            _ => {}
        }
        found.extend(read);
        if found.len() >= MOST {
            break;
        }
    }
    found.truncate(MOST);
    // A text with an address in it is not an address.
    if others <= OTHER_WORDS {
        found
    } else {
        Vec::new()
    }
}

/// The text between two separators.
#[derive(Default)]
struct Part {
    /// Without comments and names in quotes.
    plain: String,
    /// In angle brackets.
    bracketed: Option<String>,
    quoted: String,
    comment: String,
    inside: Option<char>,
}

impl Part {
    /// Returns whether the character belongs to the part, and does not end it.
    fn take(&mut self, character: char) -> bool {
        match (self.inside, character) {
            (Some(end), c) if c == end => {
                self.inside = None;
                if c == ')' && unlabelled(&self.comment).is_some() {
                    self.bracketed = Some(std::mem::take(&mut self.comment));
                }
                // A tag of HTML.
                let is_tag =
                    |inner: &mut String| !inner.contains('@') || inner.contains(['"', '\'']);
                if c == '>' && self.bracketed.take_if(is_tag).is_some() {
                    self.plain.push(' ');
                }
            }
            (Some('>'), c) => self.bracketed.get_or_insert_default().push(c),
            (Some('"'), c) => self.quoted.push(c),
            (Some(_), c) => self.comment.push(c),
            (None, ',' | ';' | '|' | '\n') => return false,
            // Before the at sign it may belong to an address.
            (None, '/') if self.bracketed.is_some() || self.plain.contains('@') => return false,
            (None, '<') => {
                self.inside = Some('>');
                self.bracketed = Some(String::new());
            }
            (None, '"') => self.inside = Some('"'),
            (None, '(') => {
                self.inside = Some(')');
                self.comment.clear();
            }
            (None, c) => self.plain.push(c),
        }
        true
    }

    fn addresses(&self) -> Vec<String> {
        let text = match &self.bracketed {
            Some(address) => address,
            // In the comment after a name.
            None if self.comment.contains('@') && self.plain.split_whitespace().all(is_of_name) => {
                &self.comment
            }
            None if self.plain.trim().is_empty() => &self.quoted,
            None => &self.plain,
        };
        let (mut found, mut names) = (Vec::new(), 0);
        for word in text.split_whitespace() {
            match address(word) {
                Some(address) => found.push(address),
                None if JOINING.contains(&word) => {}
                None if found.is_empty() && is_of_name(word) => names += 1,
                // A space in an address, or a text with an address in it.
                None => return Vec::new(),
            }
        }
        found.truncate(if names > NAME_WORDS { 0 } else { MOST });
        found
    }
}

const JOINING: [&str; 10] = ["e", "y", "ou", "o", "and", "or", "und", "oder", "et", "&"];

/// Whether a word before an address is one of its name.
fn is_of_name(word: &str) -> bool {
    word.starts_with(char::is_uppercase) && !word.contains('@')
        || ["de", "da", "do", "das", "dos", "del"].contains(&word)
        || unlabelled(word) == Some("")
}

/// Returns the rest of a text that begins with a label.
fn unlabelled(text: &str) -> Option<&str> {
    LABELS.iter().find_map(|label| {
        let (begin, rest) = text.split_at_checked(label.len())?;
        begin.eq_ignore_ascii_case(label).then_some(rest)
    })
}

fn address(word: &str) -> Option<String> {
    let word = word.trim_matches(['\'', '`', '"', '[', ']']);
    let word = unlabelled(word).unwrap_or(word);
    let (local, domain) = word.split_once('@')?;
    let domain = domain
        .split('?')
        .next()?
        .trim_end_matches(['.', '!', '>', ')', '*']);
    let is_one = !local.is_empty()
        && domain.contains('.')
        && !local.contains(['[', ']', ')', '>', ':', '\\'])
        && domain
            .chars()
            .all(|c| c.is_alphanumeric() || "-.".contains(c))
        && local.chars().count() + 1 + domain.chars().count() <= MAX_CHARACTERS;
    let address = || format!("{local}@{domain}");
    is_one
        .then(address)
        .filter(|address| !super::nothing::is_nothing(address))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_read_as_people_and_programs_write_them() {
        let check = |text: &str, expect: &[&str]| assert_eq!(addresses(text), expect, "{text}");
        let (ana, bia) = ("ana@example.com", "bia@example.com");
        for text in [
            "ana@example.com",
            " ana@example.com ",
            "Ana Souza <ana@example.com>",
            "\"Souza, Ana\" <ana@example.com>",
            "Souza, Ana <ana@example.com>",
            "Da Silva Souza Lima, Ana <ana@example.com>",
            "ana@example.com, -",
            "<ana@example.com>",
            "mailto:ana@example.com?subject=Oi, Ana Lima",
            "MAILTO:ana@example.com",
            "<mailto:ana@example.com>",
            "ana@example.com.",
            "ana@example.com (Ana; casa)",
            "(casa) ana@example.com",
            "ana@example.com\u{200b}",
            "\u{feff}ana@exam\u{ad}ple.com\u{202a}",
            "'ana@example.com'",
            "\"ana@example.com\"",
            "ana@example.com,",
            "ana＠example.com",
            "ana@example.com <ana@example.com>",
            "\"Ana <ana@example.com>\" <ana@example.com>",
            "&lt;ana@example.com&gt;",
            "ana@example.com&nbsp;",
            "ana&#64;example.com",
            "[ana@example.com](mailto:ana@example.com)",
            "[Ana](mailto:ana@example.com?subject=Oi)",
            "[ana@example.com]",
            "Ana ana@example.com",
            "Ana de Souza ana@example.com",
            "ana@example.com,bia@example",
            "Ana Souza (ana@example.com)",
            "(ana@example.com)",
            "email:ana@example.com",
            "e-mail: ana@example.com",
            "E-mail:ana@example.com",
            "ana@example.com!",
            "ana@example.com>",
            "ana%40example.com",
            "mailto:ana%40example.com",
            "<a href=\"mailto:ana@example.com\">ana@example.com</a>",
            "<p>ana@example.com</p>",
            "undefined@example.com, Ana <ana@example.com>",
        ] {
            check(text, &[ana]);
        }
        for text in [
            "ana@example.com, bia@example.com",
            "ana@example.com;bia@example.com",
            "ana@example.com / bia@example.com",
            "ana@example.com/bia@example.com",
            "Ana <ana@example.com>, \"Lima, Bia\" <bia@example.com>",
            "ana@example.com bia@example.com",
            "ana@example.com e bia@example.com",
            "ana@example.com und bia@example.com",
            "ana@example.com<br>bia@example.com",
            "ana@example.com\nbia@example.com.",
        ] {
            check(text, &[ana, bia]);
        }
        check("ana/casa@example.com", &["ana/casa@example.com"]);
        for text in [
            "",
            "@",
            "a@b",
            "a b@example.com",
            "a@b@example.com",
            "fale com ana@example.com",
            "Ana <ana>",
            "Quero falar com ana@example.com",
            "ana@exam]ple.com",
            "ana@example.com&gt",
            "Quero visitar hoje, ana@example.com",
            "{\"email\":\"ana@example.com\",\"nome\":\"Ana\"}",
            "@example.com",
            "{{email}}@example.com",
            "Ana <null@null.com>",
            "https://ana:segredo@example.com",
            "fale comigo (ana@example.com)",
        ] {
            check(text, &[]);
        }
        assert_eq!(addresses(&"a@example.com,".repeat(1_000)).len(), MOST);
    }
}
