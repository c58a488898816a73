//! The languages that a plugin can be written in with a template of this program.

use clap::ValueEnum;

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
    C,
    Zig,
}

impl Language {
    /// Returns the word of the command line, which is also the name of its folder of templates.
    pub fn word(self) -> &'static str {
        match self {
            Self::Rust => "rust",
            Self::Typescript => "typescript",
            Self::Python => "python",
            Self::Go => "go",
            Self::C => "c",
            Self::Zig => "zig",
        }
    }

    pub fn title(self) -> &'static str {
        match self {
            Self::Rust => "Rust",
            Self::Typescript => "TypeScript",
            Self::Python => "Python",
            Self::Go => "Go",
            Self::C => "C",
            Self::Zig => "Zig",
        }
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
