//! The form in which names and terms are compared: without accents, in lower case, words of
//! letters and digits separated by one blank. `São`, `SAO` and the same text in decomposed
//! letters are one word.

use unicode_normalization::char::{decompose_compatible, is_combining_mark};

use leadhost_domain::limits;

/// Returns the folded text, which is empty if the text has neither a letter nor a digit.
pub fn fold(text: &str) -> String {
    let mut folded = String::with_capacity(text.len());
    for character in text.chars() {
        if character.is_ascii() {
            push(&mut folded, character.to_ascii_lowercase());
        } else {
            decompose_compatible(character, |part| {
                if !is_combining_mark(part) {
                    for lower in part.to_lowercase().filter(|c| !is_combining_mark(*c)) {
                        // A final sigma counts as a regular one.
                        push(&mut folded, if lower == 'ς' { 'σ' } else { lower });
                    }
                }
            });
        }
    }
    if folded.ends_with(' ') {
        folded.pop();
    }
    folded
}

fn push(folded: &mut String, character: char) {
    if character.is_alphanumeric() {
        folded.push(character);
    } else if !folded.is_empty() && !folded.ends_with(' ') {
        folded.push(' ');
    }
}

/// Returns the words of a folded text that are indexed: the first ones, each cut to the
/// greatest length of a word.
pub(super) fn words(folded: &str) -> impl Iterator<Item = &str> {
    let words = folded.split(' ').filter(|word| !word.is_empty());
    words.take(limits::SEARCH_NAME_WORDS).map(cut)
}

fn cut(word: &str) -> &str {
    let end = word.char_indices().nth(limits::SEARCH_WORD_CHARACTERS);
    end.map_or(word, |(end, _)| &word[..end])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equivalent_spellings_fold_to_the_same_text() {
        let check = |text: &str, expect: &str| assert_eq!(fold(text), expect, "{text}");
        for text in [
            "São Paulo",
            "SAO  PAULO!",
            "sa\u{303}o-paulo",
            " são/paulo ",
        ] {
            check(text, "sao paulo");
        }
        check("Ap. 304-B, 2º andar", "ap 304 b 2o andar");
        check("İstanbul ﬁm Ⅻ", "istanbul fim xii");
        check("ΟΔΟΣ οδός", "οδοσ οδοσ");
        check("דירה 3 חדרים", "דירה 3 חדרים");
        check("🏠🌴", "");
        check("\u{301}\u{303}", "");
        check("", "");
    }

    #[test]
    fn folding_again_changes_nothing() {
        for text in ["Ação nº 5", "ﷺ ㍿ ½", "ẞ ß ŉ", "ｃａｓａ"] {
            let folded = fold(text);
            assert_eq!(fold(&folded), folded);
        }
    }

    #[test]
    fn the_words_of_a_long_name_are_bounded() {
        let many = "a ".repeat(5_000);
        assert_eq!(words(&many).count(), limits::SEARCH_NAME_WORDS);
        let long = "é".repeat(10_000);
        let first = words(&long).next().expect("a word");
        assert_eq!(first.chars().count(), limits::SEARCH_WORD_CHARACTERS);
    }
}
