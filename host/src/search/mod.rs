//! The search of products by their names: an index in memory, without IO and
//! without a clock. It promises one ranking, whoever asks and whatever order
//! the names came in.
//!
//! Names and terms are folded to words. A word of the term is worth its letters,
//! two points each. It finds its like in a name (all its points), longer words
//! that begin with it (one point less), the same number with zeros before it (all its
//! points), the word that it makes with the one beside it in the term, and two words of
//! the name that are it when they are put together, of three letters each or a number
//! (one point less each), and words with a typo (two points less
//! for each: a letter too many, too few, wrong, or two that changed places). A
//! name's score is its points of the term's; those with half or more are found.
//! Order: score, then fewer words, then the folded name, then the id.
//!
//! Which typos a word may have: none below four letters or with a digit in it,
//! one up to seven letters, two from eight. Below four letters and without a
//! digit, or as the last of the term, it also stands for what begins with it.

mod fold;
mod gathering;
mod index;
mod lists;
mod names;
#[cfg(test)]
mod oracle;
mod rank;
mod segment;
mod term;
#[cfg(test)]
mod tests;
mod varint;

pub use fold::fold;
pub use gathering::{Gathering, TooLarge};
pub use index::Index;
pub use rank::{Found, Hit};
pub use term::{Term, TermError};
