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

/// Declares an enum of words: `as_str` and `Display` give the word, `FromStr` reads it, and
/// serde writes and reads it as a text.
#[macro_export]
macro_rules! words {
    (
        $(#[$about:meta])*
        $name:ident: $what:literal {
            $($(#[$about_one:meta])* $one:ident = $word:literal $(| $alias:literal)*,)+
        }
    ) => {
        $(#[$about])*
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
            $($(#[$about_one])* #[serde(rename = $word $(, alias = $alias)*)] $one,)+
        }

        impl $name {
            /// All of them, in the order of their declaration.
            pub const ALL: &'static [Self] = &[$(Self::$one),+];

            pub const fn as_str(self) -> &'static str {
                match self {
                    $(Self::$one => $word),+
                }
            }
        }

        impl utoipa::PartialSchema for $name {
            fn schema() -> utoipa::openapi::RefOr<utoipa::openapi::schema::Schema> {
                let words = Self::ALL.iter().map(|one| one.as_str());
                utoipa::openapi::schema::ObjectBuilder::new()
                    .schema_type(utoipa::openapi::schema::Type::String)
                    .enum_values(Some(words))
                    .into()
            }
        }

        impl utoipa::ToSchema for $name {}

        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str(self.as_str())
            }
        }

        impl std::str::FromStr for $name {
            type Err = $crate::word::UnknownWord;

            fn from_str(word: &str) -> Result<Self, Self::Err> {
                match word {
                    $($word $(| $alias)* => Ok(Self::$one),)+
                    _ => {
                        let known = Self::ALL.iter().map(|one| one.as_str());
                        Err(Self::Err::new($what, word, known))
                    }
                }
            }
        }
    };
}

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
