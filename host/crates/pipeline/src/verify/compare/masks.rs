//! The texts of examples: masked, so that they show a difference and name no person, and cut if they
//! are long.

use leadhost_domain::limits;

pub(super) fn shortened(text: &str) -> String {
    let most = limits::VERIFY_EXAMPLE_WORDS * limits::VERIFY_EXAMPLE_CHARACTERS;
    text.chars().take(most).collect()
}

/// Masks a value: of each word the first character is kept, and the last two of a number.
pub(super) fn masked(value: &str) -> String {
    let words = value.split_whitespace().take(limits::VERIFY_EXAMPLE_WORDS);
    let words: Vec<String> = words.map(masked_word).collect();
    words.join(" ")
}

pub(super) fn masked_word(word: &str) -> String {
    let characters: Vec<char> = word
        .chars()
        .take(limits::VERIFY_EXAMPLE_CHARACTERS)
        .collect();
    let is_number = characters.iter().any(char::is_ascii_digit)
        && !characters.iter().any(|one| one.is_alphabetic());
    let shown = |place: usize, one: char| {
        if !one.is_alphanumeric() {
            return true;
        }
        if is_number {
            characters.len() > 4 && place + 2 >= characters.len()
        } else {
            place == 0
        }
    };
    let masked = characters.iter().enumerate();
    masked
        .map(|(place, one)| if shown(place, *one) { *one } else { '*' })
        .collect()
}
