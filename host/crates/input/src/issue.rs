//! What is wrong with a value.

use serde_json::{Number, Value};

use crate::pattern::Pattern;
use crate::schema::{Length, Types};

/// One thing that is wrong, and where.
#[derive(Debug)]
pub struct Issue<'a> {
    pub path: Vec<PathStep<'a>>,
    /// The value that is wrong.
    pub found: &'a Value,
    pub kind: IssueKind<'a>,
}

/// A step of a path from the root of a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PathStep<'a> {
    Field(&'a str),
    Index(usize),
}

/// What a schema demands and the value does not do.
#[derive(Debug)]
pub enum IssueKind<'a> {
    Type(Types),
    /// It equals none of these.
    Options(&'a [Value]),
    /// The bound, and whether it is excluded.
    TooSmall(&'a Number, bool),
    TooLarge(&'a Number, bool),
    TooFew(Length, usize),
    TooMany(Length, usize),
    Pattern(&'a Pattern),
    Missing(&'a str),
    /// A field needs another beside it.
    Needed {
        by: &'a str,
        name: &'a str,
    },
    Unknown {
        names: Vec<&'a str>,
        known: Vec<&'a str>,
    },
    /// The name of a field.
    Name(&'a str),
    /// It has a refused form: these fields at once, if that is what refuses it.
    Refused(&'a [String]),
    /// It fits none of several forms; the issues of each.
    NoForm(Vec<Vec<Issue<'a>>>),
    SeveralForms,
    Never,
    /// The check would take too many steps, or goes too deep.
    TooMuchWork,
}
