//! What programs write in place of a value that they do not have: `null`, `undefined`, a merge tag that
//! was not filled. The host reads values with this file too, so that both find the same texts empty.

/// Returns whether the whole text is a word for nothing, several of them (`undefined undefined`), or
/// templates that were not filled (`{{first_name}} {{last_name}}`). A word for nothing beside another
/// one is not: `Ana Null` is a name. An address of nobody is one too: `undefined@example.com`.
pub fn is_nothing(text: &str) -> bool {
    let text = text.trim_matches(is_between);
    let is_address = |domain: &str| domain.contains('.') && !domain.contains(char::is_whitespace);
    let is_nobodys = |(local, domain): (&str, &str)| is_address(domain) && is_nobody(local);
    is_zeros(text, 32) || are_words(text) || text.split_once('@').is_some_and(is_nobodys)
}

fn are_words(mut rest: &str) -> bool {
    while !rest.is_empty() {
        match after_tag(rest).or_else(|| after_word(rest)) {
            Some(after) => rest = after.trim_start_matches(is_between),
            None => return false,
        }
    }
    true
}

/// Returns whether what stands before the at sign of an address is nobody's: words for nothing, or a template.
/// Nan and Nil are names, `n.a` may be initials, and signs may be somebody's.
fn is_nobody(local: &str) -> bool {
    let is_long = local.len() > 3 || local.eq_ignore_ascii_case("n/a");
    let is_tag = local.contains(['{', '}']);
    is_tag || is_long && (are_words(local) || are_words(&local.replace('.', " ")))
}

/// Returns whether a text is no id: a word for nothing, or what stands for every record alike, such as
/// `0` and `false`.
pub fn is_no_id(text: &str) -> bool {
    let text = text.trim();
    is_nothing(text)
        || is_zeros(text, 1)
        || ["false", "true"]
            .iter()
            .any(|word| text.eq_ignore_ascii_case(word))
}

/// Returns the name in a text, without words for nothing (`undefined Souza`), templates that were not filled
/// and characters that nobody sees. `None` if nothing or only a greeting or a title is left: `Olá {{name}}`.
pub fn name_in(text: &str) -> Option<String> {
    const UNSEEN: [char; 4] = ['\u{ad}', '\u{200b}', '\u{2060}', '\u{feff}'];
    const BEFORE_NAMES: &str = "sr sra srta dr dra prof don dona mr mrs ms herr frau \
        olá ola oi hola hello hi dear caro cara prezado prezada querido querida estimado estimada";
    /// A longer text is no name.
    const MOST: usize = 1_000;
    let seen = text.replace(UNSEEN, "");
    let name = seen.trim_matches(|c: char| c.is_whitespace() || is_invisible(c));
    let is_sign = |c: char| c.is_whitespace() || c.is_ascii_punctuation();
    if is_no_id(name) || name.chars().all(is_sign) || name.starts_with('[') && name.ends_with(']') {
        return None;
    }
    let (mut rest, mut words, mut is_whole) = (name, Vec::new(), true);
    while !rest.is_empty() && name.len() <= MOST {
        let is_end = |(at, c): &(usize, char)| {
            c.is_whitespace() || *at > 0 && *c != '%' && after_tag_of_name(&rest[*at..]).is_some()
        };
        let end = rest.char_indices().find(is_end);
        let (word, after) = rest.split_at(end.map_or(rest.len(), |(at, _)| at));
        let after_nothing = || after_word(rest).filter(|_| !NAMES.contains(&word));
        rest = match after_tag_of_name(rest).or_else(after_nothing) {
            Some(after) => {
                is_whole = false;
                after.trim_start_matches(is_between)
            }
            None => {
                words.push(word);
                after.trim_start()
            }
        };
    }
    let is_name = |word: &&str| {
        let word = word
            .trim_matches(|c: char| !c.is_alphanumeric())
            .to_lowercase();
        !word.is_empty() && !BEFORE_NAMES.split_whitespace().any(|known| known == word)
    };
    if is_whole {
        Some(name.to_owned())
    } else {
        let name = || words.join(" ").trim_end_matches(is_between).to_owned();
        words.iter().any(is_name).then(name)
    }
}

/// Returns a part of a name in the same way. Words for nothing that people have as names are names beside
/// another part.
pub fn part_of_name(text: &str) -> Option<String> {
    let name = text.trim();
    if NAMES.contains(&name) {
        Some(name.to_owned())
    } else {
        name_in(name)
    }
}

const NAMES: [&str; 3] = ["Null", "Nil", "Nan"];

/// A name has no braces itself.
fn after_tag_of_name(text: &str) -> Option<&str> {
    let in_braces = || text.strip_prefix('{')?.split_once('}');
    after_tag(text).or_else(|| in_braces().map(|(_, rest)| rest))
}

/// Returns whether a character has no width: programs copy it into texts, and nobody sees it.
pub fn is_invisible(character: char) -> bool {
    matches!(
        character,
        '\u{ad}'
            | '\u{61c}'
            | '\u{200b}'..='\u{200f}'
            | '\u{202a}'..='\u{202e}'
            | '\u{2060}'..='\u{2069}'
            | '\u{feff}'
    )
}

/// What stands between two words or alone in place of one.
fn is_between(character: char) -> bool {
    character.is_whitespace() || is_invisible(character) || "-–—,;_/".contains(character)
}

/// Returns whether a text is an id of zeros, at least so many: the nil UUID has 32.
fn is_zeros(text: &str, least: usize) -> bool {
    text.bytes().filter(|byte| *byte == b'0').count() >= least
        && text.bytes().all(|byte| b"0-{}.".contains(&byte))
}

const WORDS: [&str; 10] = [
    "n.a",
    "n.a.",
    "null",
    "undefined",
    "none",
    "nil",
    "nan",
    "n/a",
    "#n/a",
    r"\n",
];

fn after_word(text: &str) -> Option<&str> {
    // A list of two is `[object Object],[object Object]`.
    if text
        .get(..8)
        .is_some_and(|begin| begin.eq_ignore_ascii_case("[object "))
    {
        return text.split_once(']').map(|(_, rest)| rest);
    }
    // Go prints one, and Google Analytics the other.
    if let Some(rest) = text
        .strip_prefix("<no value>")
        .or_else(|| text.strip_prefix("(not set)"))
    {
        return Some(rest);
    }
    let end = text.find(|c: char| c.is_whitespace() || ",;".contains(c));
    let (word, rest) = text.split_at(end.unwrap_or(text.len()));
    let bare = word.trim_matches(['<', '>', '(', ')', '"', '\'']);
    let is_word = WORDS.iter().any(|known| bare.eq_ignore_ascii_case(known));
    is_word.then_some(rest)
}

/// Begins and ends of the tags of template languages.
const TAGS: [(&str, &str); 9] = [
    ("{{", "}}"),
    ("{%", "%}"),
    ("<%", "%>"),
    ("<<", ">>"),
    ("#{", "}"),
    ("${", "}"),
    ("*|", "|*"),
    ("%%", "%%"),
    ("[[", "]]"),
];

/// A tag that a person has to fill has one of these words: `[nome completo]`.
const FIELDS: [&str; 5] = ["name", "nome", "nombre", "sobrenome", "apellido"];

fn after_tag(text: &str) -> Option<&str> {
    for (begin, end) in TAGS {
        if let Some(inner) = text.strip_prefix(begin) {
            let (name, rest) = inner.split_once(end)?;
            return (!name.trim().is_empty()).then_some(rest.trim_start_matches('}'));
        }
    }
    // These signs are in other texts too: within them is only the name of a field.
    let (end, inner) = match text.as_bytes().first()? {
        b'%' => ('%', &text[1..]),
        b'{' => ('}', text[1..].trim_start_matches(['$', '!'])),
        b'[' => (']', &text[1..]),
        _ => return None,
    };
    let is_letter = |c: u8| c.is_ascii_alphabetic() || c == b'_';
    let word = inner.find(char::is_whitespace).unwrap_or(inner.len());
    if end == '%' && word > 0 && inner[..word].bytes().all(is_letter) {
        return Some(&inner[word..]);
    }
    let (name, rest) = inner.split_once(end)?;
    let is_name = name
        .bytes()
        .all(|c| c.is_ascii_alphanumeric() || b"_-.: ".contains(&c));
    let is_field = match end {
        '%' => !name.contains(' ') && name.bytes().any(is_letter),
        // `{5f0c…}` is an id, and `[sic]` a remark.
        '}' => name.bytes().all(|c| is_letter(c) || c == b'.'),
        _ => {
            let asks = |word: &str| FIELDS.iter().any(|field| word.eq_ignore_ascii_case(field));
            let is_one = name.starts_with("your-") || name.contains('_');
            is_one && !name.contains(' ') || name.split(' ').any(asks)
        }
    };
    (is_name && is_field && !name.is_empty()).then_some(rest)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_for_nothing_and_tags_are_known_and_names_are_not() {
        for text in [
            "null",
            " NULL ",
            "undefined",
            "undefined undefined",
            "None",
            "nil",
            "<nil>",
            "<null>",
            "(null)",
            "NaN",
            "N/A",
            "n/a",
            "#N/A",
            "-",
            "--",
            "—",
            "- -",
            "[object Object]",
            "[object Object],[object Object]",
            "00000000-0000-0000-0000-000000000000",
            "{00000000000000000000000000000000}",
            "{{lead.id}}",
            "{{first}} {{last}}",
            "{{{name}}}",
            "{{a}}-{{b}}",
            "%NAME%",
            "%FIRST% %LAST%",
            "%%name%%",
            "*|FNAME|*",
            "${name}",
            "[your-name]",
            "[first_name]",
            "{% name %}",
            "<%= name %>",
            "<<name>>",
            "#{name}",
            "{name}",
            "undefined {{last}}",
            "<no value>",
            "(not set)",
            "N.A.",
            "%name",
            "{$name}",
            "{!Lead.Name}",
            "[Nome]",
            "[nome completo]",
            "\u{200b}null\u{feff}",
            "null;",
            "{{email}}@example.com",
            "{{contact.email}}@example.com",
            "{{first}}.{{last}}@example.com",
            "lead-{{id}}@example.com",
            "%email%@example.com",
            "${email}@example.com",
            "undefined@example.com",
            "undefined.undefined@example.com",
            "NULL@null.com",
            "N/A@example.com",
            "",
        ] {
            assert!(is_nothing(text), "{text}");
        }
        for text in [
            "Ana Null",
            "Null Ana",
            "Na",
            "Nina",
            "Nilda",
            "nanda",
            "0",
            "false",
            "{{a}} e Ana",
            "Oi {{name}}",
            "50%",
            "% de entrada %",
            "100% ok 50%",
            "[sic]",
            "{5f0c3a}",
            "{550e8400-e29b-41d4-a716-446655440000}",
            "{\"a\":1}",
            "?",
            "...",
            "{{",
            "{{}}",
            "%%",
            "${x",
            "<b>Ana</b>",
            "-23.5505",
            "[object",
            "AP-1",
            "_id",
            "00",
            "nan@example.com",
            "n.a@example.com",
            "_@example.com",
            "null.souza@example.com",
            "null@",
        ] {
            assert!(!is_nothing(text), "{text}");
        }
    }

    #[test]
    fn a_name_has_no_words_for_nothing_and_no_tags() {
        for (text, name) in [
            ("Ana  Lima ", "Ana  Lima"),
            ("undefined Souza", "Souza"),
            ("Ana undefined", "Ana"),
            ("Ana (null) Souza", "Ana Souza"),
            ("Ana <no value>", "Ana"),
            ("null, Souza", "Souza"),
            ("Souza, null", "Souza"),
            ("Ana null;", "Ana"),
            ("🌸", "🌸"),
            ("Ana [object Object]", "Ana"),
            ("Ana Null", "Ana Null"),
            ("Nan Nil Lima", "Nan Nil Lima"),
            ("\u{feff}An\u{200b}a\u{feff} Lima", "Ana Lima"),
            ("Ana [VIP]", "Ana [VIP]"),
            ("Ana 50% x", "Ana 50% x"),
            ("Ana - Lima", "Ana - Lima"),
            ("Ana %last_name", "Ana"),
            ("%FIRST% Souza", "Souza"),
            ("<%= name %> Lima", "Lima"),
            ("Ana{{last}} Lima", "Ana Lima"),
            ("Olá Ana {{last}}", "Olá Ana"),
            ("José 100%ana", "José 100%ana"),
            ("Sr. Souza", "Sr. Souza"),
            (
                "<test lead: dummy data for full_name>",
                "<test lead: dummy data for full_name>",
            ),
        ] {
            assert_eq!(name_in(text).as_deref(), Some(name), "{text}");
        }
        for text in [
            "",
            "-",
            "null",
            "Null",
            "Sr. undefined",
            "dra null",
            "Olá {{name}}",
            "Olá{{name}}",
            "Oi {{ name | upper }}!",
            "[Nome]",
            "[nome completo]",
            "[Cliente]",
            "Olá [Nome]",
            "{$name}",
            "{!Lead.Name}",
            "{first name}",
            "%name",
            "Oi *|FNAME|*",
            "Caro ${nome}",
            "[[name]]",
            "\u{feff}undefined",
            "null;",
            ".",
            "...",
            "0",
            "false",
        ] {
            assert_eq!(name_in(text), None, "{text}");
        }
        assert_eq!(part_of_name(" Null ").as_deref(), Some("Null"));
        assert_eq!(part_of_name("null"), None);
    }

    #[test]
    fn an_id_that_all_records_share_is_none() {
        for text in [
            "0",
            " 0 ",
            "false",
            "True",
            "0.0",
            "000000000000000000000000",
            "null",
            "{{id}}",
        ] {
            assert!(is_no_id(text), "{text}");
        }
        for text in [
            "10",
            "0-1",
            "-7",
            "f",
            "truex",
            "00000000-0000-0000-0000-000000000001",
        ] {
            assert!(!is_no_id(text), "{text}");
        }
    }

    #[test]
    fn many_tags_take_time_in_proportion() {
        // Each is passed once: a quadratic reading of so many would not end.
        assert!(is_nothing(&"{{a}} null ".repeat(400_000)));
        assert!(!is_nothing(&"{{".repeat(1_000_000)));
        for hostile in ["{{", "[object ", "%%a", "undefined "] {
            let _ = name_in(&hostile.repeat(400_000));
        }
    }
}
