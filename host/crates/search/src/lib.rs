//! Search for products by name: an index in memory, without I/O and without a clock. The
//! ranking depends only on the names and the term, not on the order in which names were
//! added.
//!
//! Names and terms are folded to words. Each letter of a word of the term is worth two
//! points. A word of the term matches in a name: the same word or the same number with
//! leading zeros (all of its points); a longer word that begins with it (one point less);
//! the word that it forms with its neighbour in the term, or two words of the name that
//! form it together, of three letters each or a number (one point less each); a word with
//! typos (two points less for each: a letter added, missing or wrong, or two that are
//! swapped). A number and the unit behind it may be apart: `300m2` matches `300 m2`. A name's
//! score is its share of the term's points.
//!
//! Stop words, such as `de`, count for nothing, unless the term has no others. A name is found if it has
//! half of the points of the words that tell names apart. A word that no name matches does not, if the
//! term has another word of four letters or more that one does. Names are ordered by score, then fewer words, then the folded name, then the id.
//!
//! Typos that a word may have: none below four letters or with a digit in it, one up to
//! seven letters, two from eight. A word without a digit, and the last word of the term, also
//! match as a prefix.

mod builder;
mod fold;
mod index;
mod names;
#[cfg(test)]
mod oracle;
mod posting_lists;
mod rank;
mod segment;
mod term;
#[cfg(test)]
mod tests;
mod varint;

pub use builder::{IndexBuilder, TooLarge};
pub use fold::fold;
pub use index::Index;
pub use rank::{Hit, SearchResults};
pub use term::{Term, TermError};
