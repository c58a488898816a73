//! The greeting of a source: the template message to a new lead, in the commit that creates
//! its deal. Only new leads get one, and no tests.
//!
//! A greeting never costs a lead: a greeting that cannot be composed is left out, and a
//! note on the delivery gives the reason. White space is folded as in a partner's parameters,
//! and what is too long is cut off. Texts of a lead are not searched for placeholders.

use super::connections::{ConnectionError, accepting};
use super::templates;
use crate::prelude::*;
use leadhost_domain::connection::Greeting;
use leadhost_domain::deal;
use leadhost_domain::lead::Action;
use leadhost_domain::text;
use leadhost_domain::trouble::TroubleKind;
use leadhost_store::{Greeted, NewGreeting};

/// The words that a greeting's parameters may contain in braces.
pub const WORDS: [&str; 5] = ["name", "firstName", "listing", "message", "source"];

/// Adds the greetings of their sources to new leads. A greeting that is left out is
/// explained in the notes.
pub async fn add<'r>(
    pipeline: &Pipeline,
    results: impl Iterator<Item = &'r mut ItemResult>,
    notes: &mut Vec<String>,
) -> Result<(), ConnectionError> {
    for result in results {
        let ItemResult::Lead(lead) = result else {
            continue;
        };
        if lead.action != Action::Create || lead.deal_props.contains_key(deal::TEST) {
            continue;
        }
        let Some(live) = pipeline.connections.get(&lead.connection).await? else {
            continue;
        };
        let Some(greeting) = &live.connection.settings.greeting else {
            continue;
        };
        match compose(pipeline, &live, greeting, lead).await? {
            Ok(composed) => {
                let (kind, connection) = (TroubleKind::Greeting, &lead.connection);
                // Without a phone the store leaves the greeting out, so it proves nothing.
                if !lead.phones.is_empty() {
                    pipeline.troubles.works(kind, connection);
                }
                lead.greeting = Some(Box::new(composed));
            }
            Err(why) => {
                let (now, what) = (
                    pipeline.clock.now(),
                    format!("{}: {why}", greeting.template),
                );
                let (kind, connection) = (TroubleKind::Greeting, &lead.connection);
                pipeline.troubles.failed(kind, connection, &what, now);
                let note = format!("no greeting `{}`: {why}", greeting.template);
                if !notes.contains(&note) {
                    notes.push(note);
                }
            }
        }
    }
    Ok(())
}

/// Adds the spans of the greetings that a commit has stored to the current trace: the jobs that send
/// them are their children. `committing` is when the commit began.
pub fn trace_stored(greeted: &[Greeted], committing: Instant) {
    for Greeted {
        message,
        adapter,
        instance,
    } in greeted
    {
        accepting(*message, adapter, instance).begin_at(committing);
    }
}

async fn compose(
    pipeline: &Pipeline,
    live: &Live,
    greeting: &Greeting,
    lead: &NewLead,
) -> Result<Result<NewGreeting, String>, ConnectionError> {
    let by = &greeting.instance;
    let workspace = live.connection.workspace;
    let all = pipeline.connections.in_workspace(workspace).await?;
    let channel = all
        .iter()
        .find(|one| one.connection.kind == ConnectionKind::Channel && one.connection.name == *by);
    let Some((live, channel)) = channel.and_then(|live| Some((live, live.channel()?))) else {
        return Ok(Err(format!("instance `{by}` no longer has an adapter")));
    };
    let texts: Result<Vec<_>, _> = greeting
        .parameters
        .iter()
        .map(|text| fill(text, |word| said(lead, word)))
        .map(|filled| filled.map(|text| bounded(&text, limits::PARAMETER_CHARACTERS)))
        .collect();
    let texts = match texts {
        Ok(texts) => texts,
        Err(word) => return Ok(Err(format!("the lead has no {word} to fill in"))),
    };
    let language = greeting.language.as_deref();
    let composed =
        templates::compose_texts(pipeline, live, &greeting.template, language, texts).await?;
    Ok(composed
        .map_err(|error| error.to_string())
        .map(|composed| NewGreeting {
            channel,
            message: composed.into_message(&live.connection.settings, pipeline.clock.now()),
            transfer: greeting.transfer,
            template: greeting.template.clone(),
            adapter: live.connection.plugin.clone(),
            instance: by.clone(),
        }))
}

/// Returns the text with its white space folded, cut to a number of characters.
fn bounded(text: &str, most: usize) -> String {
    text::folded(text).chars().take(most).collect()
}

/// Returns the lead's value for a word, in one line; `None` if it has none.
fn said(lead: &NewLead, word: &str) -> Option<String> {
    let prop = |name: &str| lead.deal_props.get(name)?.as_str();
    let text = match word {
        "name" => lead.name.as_deref(),
        "firstName" => lead.name.as_deref().and_then(|name| name.split(' ').next()),
        "listing" => lead.products.first().map(String::as_str),
        "message" => prop("message"),
        _ => prop("source"),
    }?;
    let line = bounded(text, limits::GREETING_WORD_CHARACTERS);
    (!line.is_empty()).then_some(line)
}

/// Fills the words of the text. Fails with the first word for which there is no value.
fn fill(text: &str, value: impl Fn(&str) -> Option<String>) -> Result<String, &str> {
    let mut filled = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, after)) = rest.split_once('{') {
        filled.push_str(before);
        match after.split_once('}') {
            Some((word, after)) if WORDS.contains(&word) => {
                filled.push_str(&value(word).ok_or(word)?);
                rest = after;
            }
            _ => {
                filled.push('{');
                rest = after;
            }
        }
    }
    filled.push_str(rest);
    Ok(filled)
}

pub fn unknown_word(text: &str) -> Option<&str> {
    braced(text).find(|word| !WORDS.contains(word))
}

/// Returns what stands in braces and could be a word: `{name}`, not `{ }`.
fn braced(text: &str) -> impl Iterator<Item = &str> {
    text.split('{').skip(1).filter_map(|rest| {
        let (word, _) = rest.split_once('}')?;
        let is_word = !word.is_empty() && word.bytes().all(|byte| byte.is_ascii_alphanumeric());
        is_word.then_some(word)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_known_words_in_braces_are_accepted() {
        let check = |text: &str, expect: Option<&str>| {
            assert_eq!(unknown_word(text), expect, "{text}");
        };
        check("Hello {name}, of {source}", None);
        check("Hello {nmae}", Some("nmae"));
        check("{ } {{1}} {", Some("1"));
        check("a { b } c", None);
    }

    #[test]
    fn the_texts_of_a_lead_are_not_searched_for_words() {
        let value = |word: &str| match word {
            "name" => Some("{source} Ana".to_owned()),
            "source" => Some("site".to_owned()),
            _ => None,
        };
        let check = |text: &str, expect: Result<&str, &str>| {
            assert_eq!(
                fill(text, value).as_deref(),
                expect.as_ref().copied(),
                "{text}"
            );
        };
        check("Olá {name}, do {source}.", Ok("Olá {source} Ana, do site."));
        check("{ {name", Ok("{ {name"));
        check("{{name}}", Ok("{{source} Ana}"));
        check("sobre {listing}", Err("listing"));
    }
}
