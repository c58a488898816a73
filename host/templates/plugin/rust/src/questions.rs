//! Lists of questions and answers, and objects of them by a key, as form builders send them:
//! each question is read as the name of a field, and its answer as the field's value.

use std::collections::HashMap;

use leadhost_sdk::serde_json::Value;
use leadhost_sdk::{is_absent, text_of};

use crate::looks::{
    fold, is_email_name, is_name_question, is_others, is_phone_name, looks_like_email,
    looks_like_phone,
};
use crate::names;

/// A longer list is no form: the host takes as many attributes of a lead.
const MAX_QUESTIONS: usize = 200;
/// Objects and lists around one answer.
const MAX_WRAPPED: usize = 5;

/// A question and its answer.
type Pair<'a> = (String, &'a Value);

/// Returns the answers by their questions, in order of these, of a list or an object with this
/// folded name, or `None` if it is something else: a question with its answer is all that each
/// of its elements has, and its own name is a usual one, or one of the answers is a phone or an
/// e-mail address. The key of an object's member is its question, if it has none itself.
pub fn read<'a>(name: &str, list: &'a Value, beside: &'a Value) -> Option<Vec<Pair<'a>>> {
    let is_form = names::QUESTION_LISTS.contains(&name);
    let items: Vec<(Option<&str>, &'a Value)> = match list {
        Value::Array(items) if items.len() <= MAX_QUESTIONS => {
            items.iter().map(|item| (None, item)).collect()
        }
        Value::Object(fields) if fields.len() <= MAX_QUESTIONS => {
            let fields = fields.iter();
            fields
                .map(|(key, item)| (Some(key.as_str()), item))
                .collect()
        }
        _ => return None,
    };
    if is_usual_contact(name) || is_others(name) && !is_form {
        return None;
    }
    let titles = titles(beside);
    let mut out: Vec<Pair<'a>> = Vec::new();
    for (key, item) in items.into_iter().filter(|(_, item)| !is_absent(item)) {
        if let Some((question, answer)) = pair(item, key, &titles)? {
            let name = free(&question, |name| out.iter().any(|(known, _)| known == name));
            out.push((name, answer));
        }
    }
    out.sort_by(|(a, _), (b, _)| a.cmp(b));
    let has_contact = || out.iter().any(|(name, answer)| is_contact(name, answer));
    (!out.is_empty() && (is_form || has_contact())).then_some(out)
}

/// Returns a name, with a number if another question has it already: `Phone 2`.
pub fn free(name: &str, is_taken: impl Fn(&str) -> bool) -> String {
    let numbered = (2..).map(|number| format!("{name} {number}"));
    let mut names = std::iter::once(name.to_owned()).chain(numbered);
    names.find(|name| !is_taken(name)).unwrap_or_default()
}

/// Whether a question asks for a phone or an e-mail address, and the answer is one.
pub fn is_contact(question: &str, answer: &Value) -> bool {
    let (is_phone, is_email) = asks_for(&fold(question));
    text_of(answer).is_some_and(|text| {
        is_phone && looks_like_phone(&text) || is_email && looks_like_email(&text)
    })
}

/// Whether a folded question asks for a phone, and for an e-mail address.
pub fn asks_for(name: &str) -> (bool, bool) {
    (
        names::PHONES.contains(&name) || is_phone_name(name),
        names::EMAILS.contains(&name) || is_email_name(name),
    )
}

/// Whether a value is a question with its answer.
pub fn is_question(item: &Value) -> bool {
    matches!(pair(item, None, &HashMap::new()), Some(Some(_)))
}

fn is_usual_contact(name: &str) -> bool {
    names::PHONES.contains(&name) || names::EMAILS.contains(&name)
}

/// Whether a name is a usual one of what a question asks for.
fn is_usual(name: &str) -> bool {
    let lists = [
        names::FULL_NAMES,
        names::FIRST_NAMES,
        names::LAST_NAMES,
        names::NAMES,
        names::MESSAGES,
    ];
    lists.iter().any(|list| list.contains(&name)) || is_name_question(name)
}

/// The fields of a question by their folded names.
type Question<'a> = HashMap<String, &'a Value>;

/// Returns a question with its answer, `Some(None)` if it has no answer, `None` if it is
/// neither.
fn pair<'a>(
    item: &'a Value,
    key: Option<&str>,
    titles: &HashMap<String, String>,
) -> Option<Option<Pair<'a>>> {
    let fields = item.as_object()?.iter().rev();
    let fields: Question<'a> = fields.map(|(key, value)| (fold(key), value)).collect();
    // Some answers are under the name of their type.
    let kind = fields.get("type").and_then(|kind| text_of(kind));
    let kind = kind.map(|kind| fold(&kind)).unwrap_or_default();
    let own = Some(kind.as_str()).filter(|kind| !names::QUESTION_NAMES.contains(kind));
    // A person is no question.
    let mut keys = fields.keys().map(String::as_str);
    if keys.any(|name| is_usual_contact(name) && own != Some(name)) {
        return None;
    }
    let answers = names::ANSWERS.iter().copied().chain(own);
    let answers: Vec<_> = answers.filter(|name| fields.contains_key(*name)).collect();
    let at = answers.iter().find(|name| !is_absent(fields[**name]));
    let answer = at.map(|at| unwrapped(fields[*at]));
    let Some((at, answer)) = at.zip(answer).filter(|(_, answer)| !is_absent(answer)) else {
        return (!answers.is_empty()).then_some(None);
    };
    let question = question(&fields, key, at, answer, titles)?;
    (!is_record(&question, answer)).then_some(Some((question, answer)))
}

/// Returns the name that says most: one that asks for a contact and has it, or has it by its
/// type, then one that asks for a name or a message, then the most readable one.
fn question(
    fields: &Question<'_>,
    key: Option<&str>,
    at: &str,
    answer: &Value,
    titles: &HashMap<String, String>,
) -> Option<String> {
    let own = names::QUESTION_NAMES.iter().filter(|name| **name != at);
    // A key takes the place of the question's id, after all names that say more.
    let key = key.filter(|key| !key.is_empty());
    let own = own.filter_map(|name| match key {
        Some(key) if *name == "questionid" => Some(key.to_owned()),
        _ => name_in(fields.get(*name)?),
    });
    let title = id_in(fields).and_then(|id| titles.get(&id).cloned());
    let asked: Vec<String> = title.into_iter().chain(own).collect();
    let is_other = asked.iter().any(|name| is_others(&fold(name)));
    let kinds = names::KINDS.iter().filter(|_| !is_other);
    let kinds = kinds.filter_map(|name| text_of(fields.get(*name)?));
    let all: Vec<String> = asked.iter().cloned().chain(kinds).collect();
    let contact = all.iter().find(|name| is_contact(name, answer));
    let usual = || asked.iter().find(|name| is_usual(&fold(name)));
    contact.or_else(usual).or(all.first()).cloned()
}

/// Returns the text of a question, or of an object that describes it.
fn name_in(value: &Value) -> Option<String> {
    let inside = ["title", "label", "name", "ref", "id"].iter();
    let mut inside = inside.filter_map(|key| text_of(value.get(key)?));
    text_of(value).or_else(|| inside.next())
}

fn id_in(fields: &Question<'_>) -> Option<String> {
    let inside = fields.get("field").and_then(|field| field.get("id"));
    let own = ["questionid", "id"]
        .iter()
        .filter_map(|name| fields.get(*name).copied());
    inside.into_iter().chain(own).find_map(text_of)
}

/// Returns the titles of questions, by their ids, that a source sends beside the answers.
fn titles(beside: &Value) -> HashMap<String, String> {
    let definition = beside.get("definition").filter(|value| value.is_object());
    let listed = match definition {
        Some(definition) => definition.get("fields"),
        None => beside.get("questions"),
    };
    let listed = listed.and_then(Value::as_array).into_iter().flatten();
    let titles = listed.take(MAX_QUESTIONS).filter_map(|one| {
        let title = text_of(one.get("title")?)?;
        Some((text_of(one.get("id")?)?, title))
    });
    let titles: Vec<_> = titles.collect();
    titles.into_iter().rev().collect()
}

/// Returns what is in objects and lists that have nothing else, or the label of a choice.
fn unwrapped(value: &Value) -> &Value {
    let mut out = value;
    for _ in 0..MAX_WRAPPED {
        let labels = ["label", "labels", "other"].iter();
        let label = labels.filter_map(|key| out.as_object()?.get(*key)).next();
        let only = match out {
            Value::Object(fields) if fields.len() == 1 => fields.values().next(),
            Value::Array(items) if items.len() == 1 => items.first(),
            _ => None,
        };
        match label.or(only) {
            Some(inner) => out = inner,
            None => break,
        }
    }
    out
}

/// Whether an answer has a person or more answers in it, so that the list is one of leads.
fn is_record(question: &str, answer: &Value) -> bool {
    if asks_for(&fold(question)) != (false, false) {
        return false;
    }
    match answer {
        Value::Array(items) => items.iter().any(Value::is_object),
        Value::Object(fields) => fields.keys().any(|key| is_usual_contact(&fold(key))),
        _ => false,
    }
}
