//! A reference implementation of the search rules without an index: it compares every word
//! of every name. Tests compare the index with it.

use super::fold::{fold, words};
use super::term::STOP_WORDS;
use leadhost_domain::id::ProductId;
use leadhost_domain::limits;

/// Returns the found names as `(id, score)`, in order.
pub(super) fn search(products: &[(ProductId, String)], term: &str) -> Vec<(ProductId, u32)> {
    let folded = fold(term);
    let all: Vec<_> = words(&folded).collect();
    let used = &all[..all.len().min(limits::SEARCH_TERM_WORDS)];
    let only_stops = used.iter().all(|word| STOP_WORDS.contains(word));
    let is_content = |at: &usize| only_stops || !STOP_WORDS.contains(&used[*at]);
    let content: Vec<usize> = (0..used.len()).filter(is_content).collect();
    let whole: usize = content.iter().map(|at| letters(used[*at]).len()).sum();
    // Points are half letters.
    let points: Vec<Vec<usize>> = products
        .iter()
        .map(|(_, name)| {
            let folded = fold(name);
            let name: Vec<_> = words(&folded).collect();
            (0..used.len())
                .map(|at| {
                    let is_last = at + 1 == all.len();
                    let worth = |word: &&str| alike(used[at], word, is_last);
                    let alone = name.iter().map(worth).max().unwrap_or(0);
                    alone.max(together(used, at, &name))
                })
                .collect()
        })
        .collect();
    let is_known = |at: usize| points.iter().any(|points| points[at] > 0);
    let is_long = |at: usize| letters(used[at]).len() >= 4;
    let known: Vec<_> = content.iter().copied().filter(|at| is_known(*at)).collect();
    let telling = if known.iter().any(|at| is_long(*at)) {
        &known
    } else {
        &content
    };
    let least: usize = telling.iter().map(|at| letters(used[*at]).len()).sum();
    let mut found = Vec::new();
    for ((id, name), points) in products.iter().zip(&points) {
        let folded = fold(name);
        let name: Vec<_> = words(&folded).collect();
        let points: usize = content.iter().map(|at| points[*at]).sum();
        if points >= least && !name.is_empty() {
            let score = (points as f64 / (2 * whole) as f64 * 10_000.0).round();
            let words = name.len();
            found.push((score as u32, words, name.join(" "), *id));
        }
    }
    found.sort_by(|a, b| (b.0.cmp(&a.0)).then_with(|| (a.1, &a.2, a.3).cmp(&(b.1, &b.2, b.3))));
    found
        .into_iter()
        .map(|(score, _, _, id)| (id, score))
        .collect()
}

/// Returns the points for a word of the term that, with a neighbour, forms one word of the
/// name, or that two words of the name form together.
fn together(used: &[&str], at: usize, name: &[&str]) -> usize {
    let worth = 2 * letters(used[at]).len() - 1;
    let has = |word: &str| name.contains(&word);
    let before = at > 0 && has(&[used[at - 1], used[at]].concat());
    let after = at + 1 < used.len() && has(&[used[at], used[at + 1]].concat());
    let is_number = |text: &str| text.bytes().all(|b| b.is_ascii_digit());
    let is_half = |half: &str| letters(half).len() >= 3 || is_number(half);
    let is_unit = |text: &str| !is_number(&text[..1]);
    let word = letters(used[at]);
    let in_two = (1..word.len()).any(|middle| {
        let half = |letters: &[char]| letters.iter().collect::<String>();
        let (first, second) = (half(&word[..middle]), half(&word[middle..]));
        let may = is_half(&second) || (is_number(&first) && is_unit(&second));
        is_half(&first) && may && has(&first) && has(&second)
    });
    if before || after || in_two { worth } else { 0 }
}

fn number(word: &str) -> Option<u64> {
    let is_number = word.len() <= 8 && word.bytes().all(|byte| byte.is_ascii_digit());
    word.parse().ok().filter(|_| is_number)
}

fn letters(word: &str) -> Vec<char> {
    word.chars().collect()
}

/// Returns the points of a word of a name for a word of the term, in half letters.
fn alike(wanted: &str, word: &str, is_last: bool) -> usize {
    if number(wanted).is_some() && number(wanted) == number(word) {
        return 2 * wanted.len();
    }
    let bytes = wanted.len();
    let (wanted, word) = (letters(wanted), letters(word));
    let whole = 2 * wanted.len();
    if wanted == word {
        return whole;
    }
    let mut worth = 0;
    let has_digit = wanted.iter().any(|letter| letter.is_numeric());
    if word.starts_with(&wanted) && (is_last || !has_digit) {
        worth = whole - 1;
    }
    let typos = match wanted.len() {
        _ if has_digit || bytes > 64 => 0,
        0..=3 => 0,
        4..=7 => 1,
        _ if bytes > 32 => 1,
        _ => 2,
    };
    let distance = distance(&wanted, &word);
    if distance <= typos {
        worth = worth.max(whole - 2 * distance);
    }
    worth
}

/// Counts letters added, missing or wrong, and neighbours that are swapped.
fn distance(a: &[char], b: &[char]) -> usize {
    let mut rows = vec![vec![0; b.len() + 1]; a.len() + 1];
    for i in 0..=a.len() {
        for j in 0..=b.len() {
            rows[i][j] = if i == 0 || j == 0 {
                i + j
            } else {
                let wrong = usize::from(a[i - 1] != b[j - 1]);
                let mut least = (rows[i - 1][j] + 1)
                    .min(rows[i][j - 1] + 1)
                    .min(rows[i - 1][j - 1] + wrong);
                if i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] {
                    least = least.min(rows[i - 2][j - 2] + 1);
                }
                least
            };
        }
    }
    rows[a.len()][b.len()]
}

#[test]
fn swapped_letters_are_one_typo() {
    let check = |a: &str, b: &str, expect| {
        assert_eq!(distance(&letters(a), &letters(b)), expect, "{a} {b}");
    };
    check("casa", "csaa", 1);
    check("casa", "casas", 1);
    check("ca", "abc", 3);
    check("", "abc", 3);
}
