//! The values in a body, each with its place and what its name says of it, so that single values can be
//! replaced and everything around them stays as the source wrote it.

use std::borrow::Cow;
use std::ops::Range;

use serde::de::IgnoredAny;

use super::field::{Personal, Words, is_label, is_of_nobody};
use super::{JOINING, TITLES, is_number_of_person};
use leadhost_domain::json;

/// A value in a body.
#[derive(Debug)]
pub struct Leaf<'t> {
    pub at: Range<usize>,
    pub value: Cow<'t, str>,
    pub personal: Option<Personal>,
    form: LeafForm,
}

/// How a value is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum LeafForm {
    JsonText,
    /// A text that is no name of a person, however it is written.
    JsonLabel,
    JsonNumber,
    /// The name of a member, which may be a value itself.
    JsonKey,
    /// Percent-encoded.
    Form,
    /// The name of a field of a form.
    FormKey,
    /// A part of a text, with other parts around it.
    Part,
    /// A text that says what others are: the headings of a table, a header of a multipart.
    Structure,
}

impl<'t> Leaf<'t> {
    fn new(
        at: Range<usize>,
        value: Cow<'t, str>,
        personal: Option<Personal>,
        form: LeafForm,
    ) -> Self {
        Self {
            at,
            value,
            personal,
            form,
        }
    }

    pub fn write(&self, value: &str) -> String {
        match self.form {
            LeafForm::JsonText | LeafForm::JsonLabel | LeafForm::JsonKey => {
                serde_json::Value::from(value).to_string()
            }
            LeafForm::JsonNumber => value.replace(['x', 'X'], "e"),
            LeafForm::Part | LeafForm::Structure => value.to_owned(),
            LeafForm::Form | LeafForm::FormKey => {
                form_urlencoded::byte_serialize(value.as_bytes()).collect()
            }
        }
    }

    /// Returns whether the value is one of its own, without structure around it that a plugin reads.
    pub fn is_whole(&self) -> bool {
        !matches!(self.form, LeafForm::Part | LeafForm::Structure)
    }

    /// Returns whether the value is a part of a text that has more than structure.
    pub fn is_part(&self) -> bool {
        self.form == LeafForm::Part
    }

    /// Returns whether it is the name of a value.
    pub fn is_key(&self) -> bool {
        matches!(self.form, LeafForm::JsonKey | LeafForm::FormKey)
    }
}

/// Returns whether a text is JSON, or JSON after JSON, such as one value a line.
pub fn is_json(text: &str) -> bool {
    let text = text.trim_start_matches('\u{feff}').trim_start();
    let mut values = serde_json::Deserializer::from_str(text).into_iter::<IgnoredAny>();
    text.starts_with(['{', '[']) && values.all(|value| value.is_ok())
}

/// Returns whether a text begins as JSON that has a text or a member.
fn begins_as_json(text: &str) -> bool {
    let text = text.trim_start_matches('\u{feff}').trim_start();
    let inner = text.trim_start_matches(|one: char| one.is_whitespace() || "[{".contains(one));
    inner.len() < text.len() && inner.starts_with(['"', '\''])
}

/// Returns the values of a body, in their order. `is_form`: the source says that it is a form.
pub fn leaves(text: &str, is_form: bool) -> Vec<Leaf<'_>> {
    if is_json(text) {
        json_values(text)
    } else if begins_as_json(text) {
        damaged_json(text)
    } else if is_form && text.contains('=') {
        fields(text)
    } else {
        table(text).unwrap_or_else(|| Markup::default().read(text))
    }
}

/// Reads JSON that is cut off or has a sign too many or too few: everything between two keys is of a person.
fn damaged_json(text: &str) -> Vec<Leaf<'_>> {
    let mut leaves = Vec::new();
    let mut value = (0, Personal::Text);
    let mut at = 0;
    while let Some(start) = text[at..].find(['"', '\'']).map(|found| at + found) {
        at = start + 1;
        let longest = &text[at..text.floor_char_boundary(at + LABEL_CHARACTERS)];
        let Some(length) = longest.find(&text[start..at]) else {
            continue;
        };
        let end = at + length + 1;
        if text[end..].trim_start().starts_with(':') {
            let key = &text[at..end - 1];
            push_part(&mut leaves, value.0, &text[value.0..start], Some(value.1));
            let of_key = is_written_as_name(key).then_some(Personal::Name);
            let name = Cow::Borrowed(key);
            leaves.push(Leaf::new(start..end, name, of_key, LeafForm::JsonKey));
            value = (end, Personal::from_name(key).unwrap_or(Personal::Text));
            at = end;
        }
    }
    push_part(&mut leaves, value.0, &text[value.0..], Some(value.1));
    leaves
}

/// Reads a table in lines, such as CSV. `None`: no first line names columns of a person.
fn table(text: &str) -> Option<Vec<Leaf<'_>>> {
    let (first, rows) = text.split_once('\n')?;
    let signs = [';', '\t', '|', ','].into_iter();
    let sign = signs.max_by_key(|sign| first.matches(*sign).count())?;
    let is_heading = |name: &str| {
        name.chars().count() <= LABEL_CHARACTERS && !name.contains(['@', ':', '=', '<'])
    };
    let names: Vec<&str> = first.split(sign).collect();
    let columns: Vec<_> = names.iter().map(|name| Personal::from_name(name)).collect();
    let told = columns.iter().flatten().count();
    if !rows.lines().next()?.contains(sign) || told == 0 || !names.iter().copied().all(is_heading) {
        return None;
    }
    let heading = Cow::Borrowed(first);
    let mut leaves = vec![Leaf::new(
        0..first.len(),
        heading,
        None,
        LeafForm::Structure,
    )];
    let of_column = |column: usize, cell: &str| {
        let of_name = columns.get(column).copied().flatten();
        of_name.or_else(|| guess(names.get(column)?, cell))
    };
    let begin = first.len() + 1;
    let (mut from, mut column, mut is_quoted, mut begins) = (0, 0, false, None);
    for (at, one) in rows.char_indices() {
        if !is_quoted && (one == sign || one == '\n') {
            let cell = &rows[from..at];
            push_part(&mut leaves, begin + from, cell, of_column(column, cell));
            column = if one == '\n' { 0 } else { column + 1 };
            (from, begins) = (at + 1, None);
        } else if !one.is_whitespace() {
            // Only in a cell that begins with a quote do quotes enclose signs.
            is_quoted ^= one == '"' && *begins.get_or_insert(one) == '"';
        }
    }
    // After a quote without its end nothing says in which column a text is.
    let cell = &rows[from..];
    let last = of_column(column, cell).or(is_quoted.then_some(Personal::Text));
    push_part(&mut leaves, begin + from, cell, last);
    Some(leaves)
}

fn push_part<'t>(
    leaves: &mut Vec<Leaf<'t>>,
    at: usize,
    value: &'t str,
    personal: Option<Personal>,
) {
    if !value.trim().is_empty() {
        let range = at..at + value.len();
        leaves.push(Leaf::new(
            range,
            Cow::Borrowed(value),
            personal,
            LeafForm::Part,
        ));
    }
}

fn fields(text: &str) -> Vec<Leaf<'_>> {
    let mut at = 0;
    let mut leaves = Vec::new();
    for field in text.split('&') {
        let from = at;
        at += field.len() + 1;
        let field = field.trim_end();
        let Some((name, value)) = form_urlencoded::parse(field.as_bytes()).next() else {
            continue;
        };
        let written = field.split_once('=').map_or(field, |(name, _)| name);
        let (personal, end) = (of_field(&name), from + written.len());
        let written_name = name.into_owned();
        let name = Cow::Owned(written_name.clone());
        leaves.push(Leaf::new(from..end, name, None, LeafForm::FormKey));
        if field.len() > written.len() {
            let personal = personal.or_else(|| guess(&written_name, &value));
            let value = Cow::Owned(value.into_owned());
            let at = end + 1..from + field.len();
            leaves.push(Leaf::new(at, value, personal, LeafForm::Form));
        }
    }
    leaves
}

/// Returns what the name of a form field says: `fields[name][value]` has a name, and
/// `fields[name][title]` what the field is called.
fn of_field(name: &str) -> Option<Personal> {
    let (outer, last) = name.rsplit_once('[').unwrap_or_default();
    let describes = outer.contains('[') && DESCRIBING.have(last.trim_end_matches(']'));
    Personal::from_name(name).filter(|_| !describes)
}

/// Names of parts of a field that say what the field is.
static DESCRIBING: Words = Words::new("id label title");
/// Names that do not say what their value is: the enclosing name does, or a value beside it.
static GENERIC: Words =
    Words::new("first full last middle number numero raw rawvalue text texto valor value values");
/// Names of answers, beside which the name or the type of the field is a value itself:
/// `{"name": "full_name", "values": ["Ana"]}`.
static ANSWERS: Words =
    Words::new("*answer *answers answertext resposta *value *values texto valor");

/// Returns whether a key is one of structure, although it may also be the name of a person.
pub fn is_usual_key(key: &str) -> bool {
    let key = key.to_lowercase();
    GENERIC.have(&key) || ANSWERS.have(&key) || is_label(&key)
}

/// Characters of the longest text that is taken for the name of another one.
const LABEL_CHARACTERS: usize = 40;

/// A member of an object: the letters of its key, its first leaf, and its key among the keys.
type Members = Vec<(String, usize, usize)>;

fn json_values(text: &str) -> Vec<Leaf<'_>> {
    let mut leaves = Vec::new();
    let mut keys = Vec::new();
    // What the name of each open object and list says, and its members.
    let mut open: Vec<(Option<Personal>, Members)> = Vec::new();
    let mut personal = None;
    let mut form = LeafForm::JsonText;
    let mut at = text.find(['{', '[']).unwrap_or_default();
    while let Some(first) = text.as_bytes().get(at) {
        let rest = &text[at..];
        let from = at;
        at += 1;
        match first {
            b'{' | b'[' => open.push((personal, Vec::new())),
            b'}' | b']' => {
                let (around, members) = open.pop().unwrap_or_default();
                personal = around;
                tell(&mut leaves, &mut keys, &members);
            }
            b'"' => {
                let mut escaped = false;
                let end = rest[1..].find(|one| {
                    let ends = one == '"' && !escaped;
                    escaped = one == '\\' && !escaped;
                    ends
                });
                at = end.map_or(text.len(), |end| from + end + 2);
                let value: String = json::parse(&text[from..at]).unwrap_or_default();
                if !text[at..].trim_start().starts_with(':') {
                    leaves.push(Leaf::new(from..at, Cow::Owned(value), personal, form));
                } else if let Some((around, members)) = open.last_mut() {
                    let letters = value.chars().filter(|one| one.is_alphanumeric());
                    let key: String = letters.flat_map(char::to_lowercase).collect();
                    personal = if GENERIC.have(&key) {
                        *around
                    } else {
                        Personal::from_name(&value)
                    };
                    form = if is_of_nobody(&value) {
                        LeafForm::JsonLabel
                    } else {
                        LeafForm::JsonText
                    };
                    members.push((key, leaves.len(), keys.len()));
                    keys.push(Leaf::new(
                        from..at,
                        Cow::Owned(value),
                        None,
                        LeafForm::JsonKey,
                    ));
                }
            }
            b'-' | b'0'..=b'9' => {
                let end = rest.find(|one: char| one.is_whitespace() || ",]}".contains(one));
                at = end.map_or(text.len(), |end| from + end);
                let number = Cow::Borrowed(&text[from..at]);
                leaves.push(Leaf::new(from..at, number, personal, LeafForm::JsonNumber));
            }
            _ => {}
        }
    }
    let is_guessed =
        |leaf: &&mut Leaf<'_>| leaf.form == LeafForm::JsonText && leaf.personal.is_none();
    for leaf in leaves.iter_mut().filter(is_guessed) {
        leaf.personal = guess("", &leaf.value);
    }
    leaves.extend(keys);
    leaves.sort_by_key(|leaf| leaf.at.start);
    leaves
}

/// Returns whether a text is written as people write the name of a person: `Ana Prado`, `Prado, Ana`,
/// `Dra. Ana`.
fn is_written_as_name(text: &str) -> bool {
    let words = text
        .trim()
        .split([' ', ','])
        .filter(|word| !word.is_empty());
    let words: Vec<&str> = words.take(NAME_WORDS + 1).collect();
    let is_one = |word: &&str| {
        let word = word.trim_end_matches('.');
        let is_capital = word.chars().next().is_some_and(char::is_uppercase);
        let is_letter = |one: char| one.is_alphabetic() || "-'’".contains(one);
        is_capital && word.chars().all(is_letter) && !is_label(&word.to_lowercase())
    };
    let named = words.iter().filter(|word| !JOINING.have(word));
    (2..=NAME_WORDS).contains(&words.len())
        && named.clone().count() > 1
        && named.copied().all(|word| is_one(&word))
}

/// Takes a value for the name of a person if it is written as one, unless the name of its field says otherwise.
fn guess(name: &str, value: &str) -> Option<Personal> {
    (is_written_as_name(value) && !is_of_nobody(name)).then_some(Personal::Name)
}

/// Words of the longest name.
const NAME_WORDS: usize = 5;

/// Returns whether a name is written as only the name of a person is: after a title, or the last name first.
fn is_surely_name(text: &str) -> bool {
    let title = text.split(['.', ' ']).next().unwrap_or_default();
    is_written_as_name(text) && (text.contains(',') || TITLES.have(&title.to_lowercase()))
}

/// Tells the answers of an object by the values beside them, which are then no values of a person.
fn tell(leaves: &mut [Leaf<'_>], keys: &mut [Leaf<'_>], members: &[(String, usize, usize)]) {
    let ends = members
        .iter()
        .skip(1)
        .map(|(_, first, _)| *first)
        .chain([leaves.len()]);
    let ranges = members
        .iter()
        .zip(ends)
        .map(|((_, first, _), end)| *first..end);
    // A name above a phone or an address is the person's.
    for ((.., key), range) in members.iter().zip(ranges.clone()) {
        let is_contact = |leaf: &Leaf<'_>| {
            let is_told = matches!(leaf.personal, Some(Personal::Phone | Personal::Other));
            is_told || leaf.value.contains('@') || is_number_of_person(&leaf.value)
        };
        let name = &keys[*key].value;
        if is_surely_name(name)
            || (is_written_as_name(name) && leaves[range].iter().any(is_contact))
        {
            keys[*key].personal = Some(Personal::Name);
        }
    }
    let members = members
        .iter()
        .zip(ranges)
        .map(|((key, ..), range)| (key, range));
    let (answers, others): (Vec<_>, Vec<_>) = members.partition(|(key, _)| ANSWERS.have(key));
    let mut told = None;
    for (key, range) in others.into_iter().filter(|_| !answers.is_empty()) {
        let [leaf] = &mut leaves[range] else {
            continue;
        };
        let is_text = matches!(leaf.form, LeafForm::JsonText | LeafForm::JsonLabel);
        let is_label = is_text && (leaf.personal.is_none() || key == "name");
        if is_label && leaf.value.chars().count() <= LABEL_CHARACTERS {
            let says = Personal::from_name(&leaf.value);
            if says.is_some() || !leaf.value.contains(' ') {
                leaf.personal = None;
            }
            if leaf.personal.is_none() {
                leaf.form = LeafForm::JsonLabel;
            }
            told = told.or(says);
        }
    }
    if told.is_some() {
        for leaf in answers.into_iter().flat_map(|(_, range)| range) {
            leaves[leaf].personal = told;
        }
    }
}

fn is_of_label(word: &str) -> bool {
    is_label(word) || JOINING.have(word)
}

/// Elements that show a text, in mails and pages: its words may be labels.
static HTML: Words = Words::new(
    "a b blockquote body br div em font footer h1 h2 h3 h4 h5 h6 head header html i img li main meta p section small span strong style \
    table tbody td tfoot th thead title tr u ul",
);

/// Characters of the shortest line of Base64 that has others after it.
pub const ENCODED_LINE: usize = 60;

/// Returns whether a line has only what Base64 is written with.
pub fn is_encoded(line: &str) -> bool {
    let line = line.trim_end();
    let is_sign = |byte: u8| byte.is_ascii_alphanumeric() || b"+/=".contains(&byte);
    !line.is_empty() && line.bytes().all(is_sign)
}

/// Reads XML, HTML, multipart and plain text: a value is named by its element or attribute, or by the words
/// before it, as in `Name: Ana` and in the cells of a table.
#[derive(Default)]
struct Markup<'t> {
    /// What the element that was opened last has.
    element: Option<Personal>,
    /// Whether it may have a person, although its name does not say so.
    is_open: bool,
    /// What the last cell says of the next one.
    label: Option<Personal>,
    /// What the lines before say of those that follow.
    lines: Option<Personal>,
    leaves: Vec<Leaf<'t>>,
}

impl<'t> Markup<'t> {
    fn read(mut self, text: &'t str) -> Vec<Leaf<'t>> {
        let mut at = 0;
        let mut is_open = false;
        let mut pieces = text.split_inclusive(['<', '>', '\n']).peekable();
        while let Some(first) = pieces.next() {
            let mut end = at + first.len();
            // Base64 in lines is one text.
            if first.len() >= ENCODED_LINE && is_encoded(first) {
                while let Some(next) = pieces.next_if(|next| is_encoded(next)) {
                    end += next.len();
                }
            }
            let piece = &text[at..end];
            let inner = piece.trim_end_matches(['<', '>', '\n', '\r']);
            let begins = inner.starts_with(|one: char| one.is_alphabetic() || one == '/');
            // The address in `Ana <ana@mail.example>` is no tag.
            let is_address = inner.contains('@') && !inner.contains('=');
            if is_open && piece.ends_with('>') && begins && !is_address {
                self.tag(inner, at);
            } else if is_open && (inner.starts_with('?') || inner.starts_with("!DOCTYPE")) {
                self.push_structure(at, inner);
            } else {
                let data = inner.strip_prefix("![CDATA[").unwrap_or(inner);
                self.content(data, at + inner.len() - data.len(), piece.ends_with('<'));
            }
            is_open = piece.ends_with('<');
            at += piece.len();
        }
        self.leaves
    }

    fn push(&mut self, at: usize, value: &'t str, personal: Option<Personal>) {
        push_part(&mut self.leaves, at, value, personal);
    }

    fn push_structure(&mut self, at: usize, text: &'t str) {
        let range = at..at + text.len();
        let text = Cow::Borrowed(text);
        self.leaves
            .push(Leaf::new(range, text, None, LeafForm::Structure));
    }

    fn tag(&mut self, tag: &'t str, at: usize) {
        let name = tag.split(char::is_whitespace).next().unwrap_or_default();
        let local = name.rsplit(':').next().unwrap_or_default();
        let has_content = !tag.starts_with('/') && !tag.ends_with('/');
        self.element = Personal::from_name(local).filter(|_| has_content);
        let is_shown = HTML.have(&local.to_lowercase());
        self.is_open = has_content && !is_shown && !is_of_nobody(local);
        // Attributes: a name, and a value in quotes.
        let mut from = name.len();
        while let Some(equals) = tag[from..].find(['=']).map(|found| from + found) {
            let quote = tag[equals + 1..]
                .chars()
                .next()
                .filter(|one| "\"'".contains(*one));
            let length = quote.and_then(|quote| tag[equals + 2..].find(quote));
            let Some(value) = length.map(|length| &tag[equals + 2..][..length]) else {
                break;
            };
            let key = tag[from..equals].split_whitespace().next_back();
            if key.is_some_and(|key| key.starts_with("xmlns")) {
                self.push_structure(at + equals + 2, value);
                from = equals + 3 + value.len();
                continue;
            }
            let told = Personal::from_name(value);
            let personal = match key.unwrap_or_default() {
                "name" | "id" | "field" | "label" | "key" if told.is_some() => {
                    self.element = told;
                    None
                }
                "value" => self.element,
                key => Personal::from_name(key).or_else(|| guess(key, value).filter(|_| !is_shown)),
            };
            self.push(at + equals + 2, value, personal);
            from = equals + 3 + value.len();
        }
        self.push_structure(at + from, &tag[from..]);
    }

    /// `is_cell`: a tag follows.
    fn content(&mut self, text: &'t str, at: usize, is_cell: bool) {
        if let Some(told) = self.element.or(self.label) {
            self.push(at, text, Some(told));
            if is_cell && !text.trim().is_empty() {
                self.label = None;
            }
            return;
        }
        let split = text.split_once([':', '=']);
        let split = split.filter(|(name, _)| name.chars().count() <= LABEL_CHARACTERS);
        let told = split.and_then(|(name, _)| Personal::from_name(name));
        if let Some(name) = text.split("; name=\"").nth(1) {
            self.lines = of_field(name.split('"').next().unwrap_or_default());
            self.push_structure(at, text);
        } else if let (Some((name, value)), Some(_)) = (split, told) {
            let mut words = name.split(|one: char| !one.is_alphanumeric());
            if words.all(|word| word.is_empty() || is_of_label(&word.to_lowercase())) {
                self.push_structure(at, name);
            } else {
                self.push(at, name, None);
            }
            self.push(at + text.len() - value.len(), value, told);
            self.lines = told.filter(|told| *told == Personal::Text);
        } else if text.starts_with("Content-") || text.starts_with("--") {
            self.lines = self.lines.filter(|_| !text.starts_with("--"));
            self.push_structure(at, text);
        } else {
            self.lines = self.lines.filter(|_| split.is_none());
            let guessed = (self.is_open && is_cell).then(|| guess("", text));
            self.push(at, text, self.lines.or(guessed.flatten()));
        }
        if is_cell {
            let whole = text.trim().trim_end_matches(':');
            let is_short = whole.chars().count() <= LABEL_CHARACTERS;
            self.label = Personal::from_name(whole).filter(|_| is_short);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, is_form: bool, expect: &str) {
        let personal = leaves(text, is_form).into_iter();
        let personal = personal.filter(|leaf| leaf.personal.is_some());
        let values: Vec<_> = personal.map(|leaf| leaf.value.trim().to_owned()).collect();
        assert_eq!(values.join("|"), expect, "{text}");
    }

    #[test]
    fn the_values_of_json_are_told_by_their_names_and_by_what_is_around_and_beside_them() {
        for (text, expect) in [
            (
                r#"{"na\u006de": ["Ana \ud83d", 1.50, true], "c": {"d": "\""}}"#,
                "Ana \u{fffd}|1.50",
            ),
            (
                r#"[{"name": "full_name", "values": ["A"]}, {"value": "7", "question": "Seu telefone"}]"#,
                "A|7",
            ),
            (
                r#"{"column_id": "NAME", "column_name": "Nome", "string_value": "A", "phone": "1"}"#,
                "A|1",
            ),
            (r#"{"column_name": "What age?", "string_value": "7"}"#, ""),
            (r#"{"name": "Ana Prado", "value": 5}"#, "Ana Prado"),
            (r#"{"message": "O telefone?", "value": 5}"#, "O telefone?"),
            (
                r#"{"q3_nome": {"first": "A", "last": "B"}, "prenom": {"value": "C"}}"#,
                "A|B|C",
            ),
            (
                r#"{"phone": {"area_code": "11", "number": "98"}, "deal": {"number": 7}}"#,
                "98",
            ),
            (
                r#"[{"tipo": "celular", "valor": "11"}, {"type": "text", "value": "x"}]"#,
                "11",
            ),
            (
                r#"{"name": "field_3", "type": "email", "value": "a@b.c"}"#,
                "a@b.c",
            ),
        ] {
            check(text, false, expect);
        }
    }

    #[test]
    fn the_values_of_forms_and_texts_are_told_by_their_names() {
        let form = "fields[name][id]=name&fields[name][title]=Nome&fields[name][value]=Ana+L%C3%BAcia&form[name]=Contato";
        check(form, true, "Ana Lúcia");
        check("name[first]=Ana&contact[id]=u7&x&name=\n", true, "Ana|u7|");
        for (text, expect) in [
            (
                "<l:Lead phone='1'><Name>Ana</Name><note><![CDATA[hi]]></note></l:Lead>",
                "1|Ana",
            ),
            (
                "<comments><![CDATA[a <6> b]]></comments><email/>x",
                "a|6|b]]",
            ),
            (
                "<field name='nome'>Ana</field><input name='email' value='a'>",
                "Ana|a",
            ),
            (
                "<tr><td>Nome</td><td>Ana</td></tr><p>E-mail: a@b.c</p>",
                "Ana|a@b.c",
            ),
            (
                "Nome: Ana\r\nhello\nMensagem: i <3 it\nbye <a@b.c>\nRef: 7\nx",
                "Ana|i|3 it|bye|a@b.c",
            ),
            (
                "--b\r\nContent-Disposition: form-data; name=\"nome\"\r\n\r\nAna\r\n--b--",
                "Ana",
            ),
        ] {
            check(text, false, expect);
        }
    }

    #[test]
    fn a_damaged_or_a_deep_body_is_read_without_a_panic() {
        leaves(&("[".repeat(100_000) + "1" + &"]".repeat(100_000)), false);
        for text in [
            "<",
            "<a",
            "<a b=>",
            "<a b='>",
            "<![CDATA[",
            "{",
            "=&&",
            "é<é",
            "[\"",
            "<é>é",
            "<a é='é'é>",
        ] {
            leaves(text, false);
            leaves(text, true);
        }
    }
}
