//! Words of the contract that decide something: each set is an enum, parsed once where it
//! arrives, so that a `match` on it is complete and an unknown word goes no further.

/// A word that is not in its set. The text names the word, and those that are known.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{what} {word:?}: not known to this host, expected one of {known}")]
pub struct UnknownWord {
    what: &'static str,
    word: String,
    known: String,
}

/// Characters of an unknown word that its refusal repeats.
const SHOWN: usize = 100;

impl UnknownWord {
    /// `known`: the words of the set, in their order.
    pub fn new<'a>(
        what: &'static str,
        word: &str,
        known: impl IntoIterator<Item = &'a str>,
    ) -> Self {
        let known: Vec<&str> = known.into_iter().collect();
        Self {
            what,
            word: word[..word.floor_char_boundary(SHOWN)].to_owned(),
            known: known.join(", "),
        }
    }
}

/// The schema of a set of words.
pub type Schema = utoipa::openapi::RefOr<utoipa::openapi::schema::Schema>;

/// Returns the schema of these words, described by the lines of a doc comment.
pub fn schema(about: &[&str], words: &[&'static str]) -> Schema {
    let about: Vec<&str> = about.iter().map(|line| line.trim()).collect();
    utoipa::openapi::schema::ObjectBuilder::new()
        .schema_type(utoipa::openapi::schema::Type::String)
        .enum_values(Some(words.iter().copied()))
        .description((!about.is_empty()).then(|| about.join("\n")))
        .into()
}

/// Declares an enum of words: `as_str` and `Display` give the word, `from_text` and `FromStr` read it, and
/// serde writes and reads it as a text. Its doc comment is the description in schemas.
#[macro_export]
macro_rules! words {
    (
        $(#[doc = $about:literal])*
        $name:ident: $what:literal {
            $($(#[doc = $about_one:literal])* $one:ident = $word:literal $(| $alias:literal)*,)+
        }
    ) => {
        $(#[doc = $about])*
        #[derive(
            Clone,
            Copy,
            Debug,
            PartialEq,
            Eq,
            PartialOrd,
            Ord,
            Hash,
            serde::Serialize,
            serde::Deserialize,
        )]
        pub enum $name {
            $($(#[doc = $about_one])* #[serde(rename = $word $(, alias = $alias)*)] $one,)+
        }

        impl $name {
            /// All of them, in the order of their declaration.
            pub const ALL: [Self; [$($word),+].len()] = [$(Self::$one),+];

            pub const fn as_str(self) -> &'static str {
                match self {
                    $(Self::$one => $word),+
                }
            }

            pub fn from_text(word: &str) -> Option<Self> {
                match word {
                    $($word $(| $alias)* => Some(Self::$one),)+
                    _ => None,
                }
            }
        }

        impl $crate::word::utoipa::PartialSchema for $name {
            fn schema() -> $crate::word::Schema {
                $crate::word::schema(&[$($about),*], &Self::ALL.map(Self::as_str))
            }
        }

        impl $crate::word::utoipa::ToSchema for $name {}

        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str(self.as_str())
            }
        }

        impl std::str::FromStr for $name {
            type Err = $crate::word::UnknownWord;

            fn from_str(word: &str) -> Result<Self, Self::Err> {
                Self::from_text(word)
                    .ok_or_else(|| Self::Err::new($what, word, Self::ALL.map(Self::as_str)))
            }
        }
    };
}

#[doc(hidden)]
pub use utoipa;
pub use words;

#[cfg(test)]
mod tests {
    words! {
        Fruit: "the fruit" {
            Apple = "apple" | "",
            Pear = "pear",
        }
    }

    #[test]
    fn a_word_is_read_and_written_and_an_unknown_one_is_named_with_the_known_ones() {
        assert_eq!("pear".parse(), Ok(Fruit::Pear));
        assert_eq!("".parse(), Ok(Fruit::Apple));
        assert_eq!(Fruit::Apple.to_string(), "apple");
        let written = serde_json::to_string(&Fruit::Apple).expect("a word is JSON");
        assert_eq!(written, r#""apple""#);
        let read: Fruit = serde_json::from_str(r#""""#).expect("the alias is known");
        assert_eq!(read, Fruit::Apple);
        let error = "Pear".parse::<Fruit>().expect_err("unknown").to_string();
        let expect = r#"the fruit "Pear": not known to this host, expected one of apple, pear"#;
        assert_eq!(error, expect);
    }
}
