//! A search term: its words and what each of them matches.

use std::sync::{LazyLock, OnceLock};

use fst::{IntoStreamer as _, Streamer as _};
use levenshtein_automata::{DFA, Distance, LevenshteinAutomatonBuilder};

use super::fold;
use super::segment::Words;
use leadhost_domain::limits;

/// Points of a letter: two, so that a prefix match can cost half as much as a typo.
const LETTER: u32 = 2;

/// Letters below which a word may have no typos.
const SHORT: usize = 4;

/// Words of Portuguese, Spanish and English that are in names of every kind, folded. They weigh nothing
/// beside other words.
pub(super) const STOP_WORDS: [&str; 40] = [
    "a", "al", "and", "ao", "aos", "as", "at", "com", "con", "da", "das", "de", "del", "do", "dos",
    "e", "el", "em", "en", "for", "in", "la", "las", "los", "na", "nas", "no", "nos", "o", "of",
    "os", "para", "por", "the", "um", "uma", "un", "una", "with", "y",
];

/// Letters from which a word may have two typos.
const LONG: usize = 8;

/// Bytes up to which a word may have two typos, and one. An automaton that recognises typos
/// takes memory with the square of a word's letters if each letter has bytes of its own, as
/// in Chinese: for two hundred letters it would take hundreds of megabytes.
const TWO_TYPOS_BYTES: usize = 32;
const ONE_TYPO_BYTES: usize = 64;

/// A text that is no search term.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TermError {
    #[error("the term has no letter and no digit")]
    Empty,
    #[error(
        "the term is longer than {} characters",
        limits::SEARCH_TERM_CHARACTERS
    )]
    TooLong,
}

pub struct Term {
    text: String,
    words: Vec<Word>,
    points: u32,
}

/// A distinct word of a term.
pub(super) struct Word {
    text: String,
    /// Points of an exact match.
    points: u32,
    times: u32,
    /// Whether it also matches as a prefix, as `apart` does. A number with other words after it
    /// does not: `2` rooms are not `27`.
    begins: bool,
    /// The word joined with the one before, and with the one after.
    joined: Vec<String>,
    typos: u8,
    /// The automaton that recognises typos, built at the first search: a term that only
    /// waits holds none.
    automaton: OnceLock<DFA>,
}

/// Words of the index, by number, that match a word of the term, and the points of each.
pub(super) struct WordMatch {
    pub words: std::ops::Range<u32>,
    /// Only names that also contain this word match.
    pub beside: Option<u32>,
    pub points: u32,
}

impl Term {
    /// Parses a term.
    pub fn read(text: &str) -> Result<Self, TermError> {
        let folded = fold::fold(text);
        let too_long = |text: &str| {
            let most = limits::SEARCH_TERM_CHARACTERS;
            // A text never has fewer bytes than characters.
            text.len() > most && text.chars().nth(most).is_some()
        };
        // A single character may fold to many.
        if too_long(text) || too_long(&folded) {
            return Err(TermError::TooLong);
        }
        let mut words: Vec<Word> = Vec::new();
        let all: Vec<_> = fold::words(&folded).collect();
        let used = &all[..all.len().min(limits::SEARCH_TERM_WORDS)];
        for (at, text) in used.iter().enumerate() {
            let mut word = Word::new(text, at + 1 == all.len());
            word.joined = joined(used, at);
            match words.iter_mut().find(|known| known.is_like(&word)) {
                Some(known) => known.times += 1,
                None => words.push(word),
            }
        }
        if words.is_empty() {
            return Err(TermError::Empty);
        }
        let is_stop = |word: &Word| STOP_WORDS.contains(&&*word.text);
        if !words.iter().all(is_stop) {
            words.retain(|word| !is_stop(word));
        }
        Ok(Self {
            points: words.iter().map(|word| word.points * word.times).sum(),
            text: folded,
            words,
        })
    }

    pub fn text(&self) -> &str {
        &self.text
    }

    pub(super) fn words(&self) -> &[Word] {
        &self.words
    }

    /// Returns the points of a name that has the whole term.
    pub(super) fn points(&self) -> u32 {
        self.points
    }

    /// Returns the points that a name needs to be found. Of each word it is known whether a name matches
    /// it.
    pub(super) fn least(&self, known: &[bool]) -> u32 {
        let is_long = |word: &Word| word.text.chars().nth(SHORT - 1).is_some();
        let words = || self.words.iter().zip(known);
        let may_ignore = words().any(|(word, known)| *known && is_long(word));
        let counted = words().filter(|(_, known)| !may_ignore || **known);
        counted
            .map(|(word, _)| word.most())
            .sum::<u32>()
            .div_ceil(2)
    }
}

impl Word {
    fn new(text: &str, is_last: bool) -> Self {
        let letters = text.chars().count();
        let has_digit = text.chars().any(char::is_numeric);
        let typos = match letters {
            _ if has_digit || text.len() > ONE_TYPO_BYTES => 0,
            0..SHORT => 0,
            LONG.. if text.len() <= TWO_TYPOS_BYTES => 2,
            SHORT.. => 1,
        };
        Self {
            text: text.to_owned(),
            points: LETTER * u32::try_from(letters).expect("words are short"),
            times: 1,
            begins: is_last || !has_digit,
            joined: Vec::new(),
            typos,
            automaton: OnceLock::new(),
        }
    }

    fn automaton(&self) -> Option<&DFA> {
        let builder = match self.typos {
            0 => return None,
            1 => &ONE_TYPO,
            _ => &TWO_TYPOS,
        };
        let automaton = || builder.build_dfa(&self.text);
        Some(self.automaton.get_or_init(automaton))
    }

    fn is_like(&self, other: &Self) -> bool {
        self.text == other.text && self.begins == other.begins && self.joined == other.joined
    }

    /// Returns the most points that a match can have.
    pub(super) fn most(&self) -> u32 {
        self.points * self.times
    }

    /// Returns the matching words of the index, best first.
    pub(super) fn matches(&self, words: &Words) -> Vec<WordMatch> {
        let mut matches = Vec::new();
        let mut push = |words: std::ops::Range<u32>, beside: Option<u32>, less: u32| {
            if !words.is_empty() {
                let points = (self.points - less) * self.times;
                matches.push(WordMatch {
                    words,
                    beside,
                    points,
                });
            }
        };
        if let Some(word) = words.number(&self.text) {
            push(word..word + 1, None, 0);
        }
        for equal in equal_numbers(&self.text) {
            if let Some(word) = words.number(&equal) {
                push(word..word + 1, None, 0);
            }
        }
        if self.begins {
            push(words.beginning_with(&self.text), None, 1);
        }
        for joined in &self.joined {
            if let Some(word) = words.number(joined) {
                push(word..word + 1, None, 1);
            }
        }
        for (first, second) in halves(&self.text) {
            if let (Some(first), Some(second)) = (words.number(first), words.number(second)) {
                push(first..first + 1, Some(second), 1);
            }
        }
        if let Some(typos) = self.automaton() {
            let mut stream = words.map().search_with_state(typos).into_stream();
            while let Some((_, number, state)) = stream.next() {
                let number = u32::try_from(number).expect("word numbers have 32 bits");
                if let Distance::Exact(typos @ 1..) = typos.distance(state) {
                    push(number..number + 1, None, LETTER * u32::from(typos));
                }
            }
        }
        matches.sort_by_key(|found| std::cmp::Reverse(found.points));
        matches
    }
}

/// Returns the word joined with each neighbour: `vista mar` also matches `vistamar`.
fn joined(all: &[&str], at: usize) -> Vec<String> {
    let before = at.checked_sub(1).map(|before| all[before..=at].concat());
    let after = all.get(at..=at + 1).map(<[_]>::concat);
    let mut joined: Vec<_> = before.into_iter().chain(after).collect();
    joined.dedup();
    joined
}

/// Least letters in each half of a word: shorter words are in every other name.
const HALF: usize = 3;

/// Returns the ways to split a word in two: `vistamar` also matches `vista mar`, and `300m2`
/// matches `300 m2`.
pub(super) fn halves(word: &str) -> impl Iterator<Item = (&str, &str)> {
    let splits = word.char_indices().skip(1);
    splits
        .map(|(at, _)| word.split_at(at))
        .filter(|(first, second)| {
            let is_unit = !second.starts_with(|letter: char| letter.is_ascii_digit());
            is_half(first) && (is_half(second) || (is_number(first) && is_unit))
        })
}

fn is_half(text: &str) -> bool {
    text.chars().nth(HALF - 1).is_some() || is_number(text)
}

fn is_number(text: &str) -> bool {
    text.bytes().all(|byte| byte.is_ascii_digit())
}

/// Most digits of a number: longer ones are codes.
const DIGITS: usize = 8;

/// Returns the same number with other leading zeros: `007` for `7`.
pub(super) fn equal_numbers(word: &str) -> impl Iterator<Item = String> {
    let number = match word.trim_start_matches('0') {
        _ if !is_number(word) || word.len() > DIGITS => None,
        "" => Some("0"),
        number => Some(number),
    };
    let digits = number.map_or(0, |number| DIGITS - number.len() + 1);
    let equal = (0..digits).map(move |zeros| "0".repeat(zeros) + number.unwrap_or_default());
    equal.filter(move |equal| equal != word)
}

// Two swapped letters are one typo. Building these takes milliseconds.
static ONE_TYPO: LazyLock<LevenshteinAutomatonBuilder> =
    LazyLock::new(|| LevenshteinAutomatonBuilder::new(1, true));
static TWO_TYPOS: LazyLock<LevenshteinAutomatonBuilder> =
    LazyLock::new(|| LevenshteinAutomatonBuilder::new(2, true));

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_term_is_folded_and_bounded() {
        let text = |text: &str| Term::read(text).map(|term| term.text().to_owned());
        assert_eq!(text(" Casa  ÀS margens"), Ok("casa as margens".to_owned()));
        assert_eq!(text(""), Err(TermError::Empty));
        assert_eq!(text("\u{301} - 🏠"), Err(TermError::Empty));
        assert!(text(&"é".repeat(200)).is_ok());
        assert_eq!(text(&"é".repeat(201)), Err(TermError::TooLong));
        assert_eq!(text(&"ﷺ".repeat(100)), Err(TermError::TooLong));
    }

    #[test]
    fn the_typo_automaton_is_small_in_any_script() {
        // Some letters of each script, without a byte in common if possible.
        for (first, apart) in [(0x61, 1), (0x430, 1), (0x4e00, 371), (0x2_0000, 611)] {
            let letter =
                |number: u32| char::from_u32(first + number % 26 * apart).expect("a letter");
            for letters in [7, 8, 10, 16, 21, 32, 64, 200] {
                let text: String = (0..letters).map(letter).collect();
                let term = Term::read(&text).expect("a term");
                let states = term.words()[0].automaton().map_or(0, DFA::num_states);
                // A state takes a kilobyte.
                assert!(
                    states < 4_000,
                    "{letters} letters as {}: {states}",
                    letter(0)
                );
            }
        }
        let typos = |letters: usize| Word::new(&"a".repeat(letters), true).typos;
        let all = [3, 4, 7, 8, 32, 33, 64].map(typos);
        assert_eq!(all, [0, 1, 1, 2, 2, 1, 1]);
        assert_eq!(Word::new(&"é".repeat(17), true).typos, 1);
        assert_eq!(Word::new(&"é".repeat(33), true).typos, 0);
    }

    #[test]
    fn only_the_first_words_count_and_repeated_words_count_repeatedly() {
        let term = Term::read(&"ab ".repeat(60)).expect("a term");
        assert_eq!(term.words().len(), 1);
        let each = LETTER * 2;
        assert_eq!(
            term.points(),
            each * u32::try_from(limits::SEARCH_TERM_WORDS).expect("few")
        );
    }
}
