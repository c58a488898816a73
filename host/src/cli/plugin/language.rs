//! The languages that a plugin can be written in with a template of this program.

use std::ffi::OsStr;

use clap::builder::{EnumValueParser, PossibleValue, TypedValueParser};
use clap::error::{ContextKind, ContextValue};
use clap::{Arg, Command, ValueEnum};

/// A language with a template.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Language {
    #[value(alias = "rs")]
    Rust,
    /// Also takes JavaScript.
    #[value(aliases = ["ts", "javascript", "js"])]
    Typescript,
    #[value(alias = "py")]
    Python,
    #[value(alias = "golang")]
    Go,
}

impl Language {
    /// Returns the word of the command line, which is also the name of its folder of templates.
    pub fn word(self) -> &'static str {
        match self {
            Self::Rust => "rust",
            Self::Typescript => "typescript",
            Self::Python => "python",
            Self::Go => "go",
        }
    }

    pub fn title(self) -> &'static str {
        match self {
            Self::Rust => "Rust",
            Self::Typescript => "TypeScript",
            Self::Python => "Python",
            Self::Go => "Go",
        }
    }
}

/// The languages that have an example in place of a template: the word, the title, and the folder.
const EXAMPLES: [(&str, &str, &str); 2] = [
    ("c", "C", "examples/converter-c"),
    ("zig", "Zig", "examples/converter-zig"),
];

/// Reads a word of the command line; one of the examples is refused with a sentence that names it.
#[derive(Clone)]
pub struct LanguageParser;

impl TypedValueParser for LanguageParser {
    type Value = Language;

    fn parse_ref(
        &self,
        command: &Command,
        argument: Option<&Arg>,
        word: &OsStr,
    ) -> Result<Language, clap::Error> {
        let parsed = EnumValueParser::<Language>::new().parse_ref(command, argument, word);
        parsed.map_err(|mut error| {
            let example = EXAMPLES.iter().find(|(named, ..)| word == *named);
            if let Some((_, title, folder)) = example {
                let hint = format!(
                    "there is no template in {title}: {folder} of the repository of Leadhost is a converter in {title} to copy"
                );
                let hint = ContextValue::StyledStrs(vec![hint.into()]);
                error.insert(ContextKind::Suggested, hint);
            }
            error
        })
    }

    fn possible_values(&self) -> Option<Box<dyn Iterator<Item = PossibleValue> + '_>> {
        let languages = Language::value_variants().iter();
        Some(Box::new(languages.filter_map(ValueEnum::to_possible_value)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_command_line_knows_every_language_by_its_word() {
        for language in Language::value_variants() {
            assert_eq!(Language::from_str(language.word(), false), Ok(*language));
        }
    }
}
