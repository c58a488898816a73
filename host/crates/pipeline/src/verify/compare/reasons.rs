//! The part of a reason that may be stored: the reason why a version makes nothing of a delivery or send.

use super::masks::{masked_word, shortened};
use crate::verify::outcome::Reason;

/// The beginning of the name of each exported function.
const CONTRACT: &str = "leadhost:";

const UNITS: [&str; 6] = ["ms", "s", "B", "KiB", "MiB", "GiB"];

/// Returns what may be stored of a reason: the words of the service, without digits and quoted
/// words, which may be of the delivery. Limits of the service and the contract in a frame of a crash keep
/// their digits: `more than 50 ms`, `leadhost:converter/converter@1.0.0#convert`. The plugin's own reasons
/// may name a person in any words.
pub(super) fn stored_reason(reason: &Reason) -> String {
    let Reason::Service(words) = reason else {
        return "a reason of the plugin, which is not kept: `leadhost plugin test WHAT --on` shows it"
            .to_owned();
    };
    let mut is_quoted = false;
    let all: Vec<&str> = words.split_whitespace().collect();
    let is_limit = |place: usize| {
        let unit = all.get(place + 1).copied().unwrap_or_default();
        let unit = unit.trim_end_matches(['.', ',', ';', ':', ')']);
        let is_short = all[place].len() <= 6;
        let is_number = |one: char| one.is_ascii_digit() || one == '.';
        let follows = place > 0 && all[place - 1] == "than";
        follows && is_short && all[place].chars().all(is_number) && UNITS.contains(&unit)
    };
    let words = all.iter().enumerate().map(|(place, word)| {
        let marks = quotes(word);
        let is_value = is_quoted || marks > 0;
        is_quoted ^= marks % 2 == 1;
        match is_value {
            true => masked_word(word),
            false if is_limit(place) || word.starts_with(CONTRACT) => (*word).to_owned(),
            false => word.replace(|one: char| one.is_ascii_digit(), "#"),
        }
    });
    shortened(&words.collect::<Vec<_>>().join(" "))
}

/// Returns the number of quotes in a word. An apostrophe between letters is none: `provider's`.
fn quotes(word: &str) -> usize {
    let all: Vec<char> = word.chars().collect();
    let is_letter = |place: Option<usize>| {
        let one = place.and_then(|place| all.get(place));
        one.is_some_and(|one| one.is_alphabetic())
    };
    let is_quote = |place: usize| match all[place] {
        '"' => true,
        '\'' => !(is_letter(place.checked_sub(1)) && is_letter(Some(place + 1))),
        _ => false,
    };
    (0..all.len()).filter(|place| is_quote(*place)).count()
}

#[cfg(test)]
mod tests {
    use super::super::{ComparedOutcomes, ComparedSubject, GainedValues};
    use super::*;
    use crate::replay_answers::{CompletionError, ReplayAnswerError};
    use crate::verify::outcome::VersionOutcome;
    use leadhost_domain::difference::Subject;
    use leadhost_domain::id::{ConnectionId, DeliveryId};
    use leadhost_domain::time::Micros;
    use leadhost_plugin::CallError;

    #[test]
    fn a_stored_comparison_keeps_the_words_of_the_service_and_no_reason_of_a_plugin() {
        let check = |outcome: VersionOutcome, expect: &str| {
            let connection = ConnectionId::generate();
            let subject = Subject::Delivery(DeliveryId::new(Micros(0)));
            let compared = ComparedSubject::new(subject, &connection);
            let converted = VersionOutcome::Converted(Vec::new());
            let stored = ComparedOutcomes::compare(&compared, &converted, &outcome)
                .into_stored(&mut GainedValues::default());
            let example = &stored.differences.newly_failing.examples[0];
            assert_eq!(example.after.as_deref(), Some(expect));
        };
        let trapped = |message: &str| {
            let message = message.to_owned();
            let log = Vec::new();
            VersionOutcome::Failed(Reason::from(&CallError::Trapped { message, log }))
        };
        check(
            trapped("wasm trap: wasm `unreachable` instruction executed in lib.rs:12"),
            "the plugin call failed: wasm trap: wasm `unreachable` instruction executed in lib.rs:##",
        );
        check(
            trapped(
                "wasm trap: unreachable, in form::read < leadhost:converter/converter@1.0.0#convert",
            ),
            "the plugin call failed: wasm trap: unreachable, in form::read < leadhost:converter/converter@1.0.0#convert",
        );
        check(
            trapped("unknown city \"são paulo\" here"),
            "the plugin call failed: unknown city \"*** p****\" here",
        );
        check(
            trapped("the provider's answer names 'rita d'avila silva' here"),
            "the plugin call failed: the provider's answer names '**** d'***** s****' here",
        );
        let late = CallError::OutOfTime {
            budget: std::time::Duration::from_millis(5),
            place: String::new(),
            inline: false,
            log: Vec::new(),
        };
        let in_item = ReplayAnswerError::Completion {
            item: 3,
            source: CompletionError::Call(late),
        };
        check(
            VersionOutcome::Failed(Reason::from(&in_item)),
            "item # cannot be completed: the plugin needed more than 5 ms of processor time",
        );
        let not_kept =
            "a reason of the plugin, which is not kept: `leadhost plugin test WHAT --on` shows it";
        let own = |words: &str| Reason::Plugin(words.to_owned());
        check(
            VersionOutcome::Refused(own("no phone in rita silva")),
            not_kept,
        );
        // It begins as a message of the service does.
        check(
            VersionOutcome::Refused(own("the plugin call failed: rita silva")),
            not_kept,
        );
        let what = "rita silva has no phone".to_owned();
        let log = Vec::new();
        let broken = CallError::Refused { what, log };
        check(VersionOutcome::Failed(Reason::from(&broken)), not_kept);
        let of_converter = ReplayAnswerError::Completion {
            item: 0,
            source: CompletionError::Failed("rita silva".to_owned()),
        };
        check(
            VersionOutcome::Failed(Reason::from(&of_converter)),
            not_kept,
        );
    }
}
