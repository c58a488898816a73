//! The arguments of a task: flags, flags with a value, plain words, and
//! everything after `--`. An unexpected word is an error, so that a typing
//! mistake is never silently ignored.

use crate::failure::Failure;

pub struct Args {
    words: Vec<String>,
    after_dashes: Vec<String>,
}

impl Args {
    pub fn new(mut words: Vec<String>) -> Self {
        let after_dashes = match words.iter().position(|word| word == "--") {
            Some(at) => {
                let rest = words.split_off(at + 1);
                words.pop();
                rest
            }
            None => Vec::new(),
        };
        Self {
            words,
            after_dashes,
        }
    }

    pub fn asks_for_help(&self) -> bool {
        self.words
            .iter()
            .any(|word| word == "--help" || word == "-h")
    }

    /// Removes `--name`. Returns whether it was there.
    pub fn flag(&mut self, name: &str) -> bool {
        let before = self.words.len();
        self.words.retain(|word| word != name);
        self.words.len() != before
    }

    /// The profile of the service: `release`, unless `--debug` is there.
    pub fn profile(&mut self) -> &'static str {
        if self.flag("--debug") {
            "dev"
        } else {
            "release"
        }
    }

    /// Removes the first `--name value` or `--name=value`, and returns the
    /// value.
    pub fn value(&mut self, name: &str) -> Result<Option<String>, Failure> {
        let joined = format!("{name}=");
        for at in 0..self.words.len() {
            if let Some(value) = self.words[at].strip_prefix(&joined) {
                let value = value.to_owned();
                self.words.remove(at);
                return Ok(Some(value));
            }
            if self.words[at] == name {
                if at + 1 == self.words.len() {
                    return Err(Failure::usage(format!("{name} needs a value")));
                }
                self.words.remove(at);
                return Ok(Some(self.words.remove(at)));
            }
        }
        Ok(None)
    }

    /// Like [`Self::value`], for a whole number.
    pub fn number(&mut self, name: &str) -> Result<Option<u64>, Failure> {
        let value = self.value(name)?.map(|text| text.parse()).transpose();
        value.map_err(|_| Failure::usage(format!("{name} needs a whole number")))
    }

    /// Removes and returns the first word, if it is not a flag: the task's
    /// subcommand.
    pub fn first_word(&mut self) -> Option<String> {
        let first = self.words.first()?;
        (!first.starts_with('-')).then(|| self.words.remove(0))
    }

    pub fn after_dashes(&mut self) -> Vec<String> {
        std::mem::take(&mut self.after_dashes)
    }

    /// Returns the plain words. Refuses remaining flags.
    pub fn words(self) -> Result<Vec<String>, Failure> {
        if let Some(unknown) = self.words.iter().find(|word| word.starts_with('-')) {
            return Err(Failure::usage(format!("unknown flag `{unknown}`"))
                .hint("--help lists the flags of this task"));
        }
        if let Some(first) = self.after_dashes.first() {
            return Err(Failure::usage(format!(
                "this task passes no arguments on: remove `-- {first}`"
            )));
        }
        Ok(self.words)
    }

    pub fn nothing_more(self) -> Result<(), Failure> {
        match self.words()?.first() {
            Some(word) => Err(Failure::usage(format!("unexpected `{word}`"))
                .hint("--help shows how this task is called")),
            None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn args(line: &str) -> Args {
        Args::new(line.split_whitespace().map(str::to_owned).collect())
    }

    #[test]
    fn flags_values_and_words_are_distinguished() {
        let mut args = args("--listen 127.0.0.1:1 one --quick --name=x two -- --listen y");
        assert_eq!(
            args.value("--listen").expect("a value").as_deref(),
            Some("127.0.0.1:1")
        );
        assert_eq!(args.value("--name").expect("a value").as_deref(), Some("x"));
        assert!(args.flag("--quick"));
        assert_eq!(args.after_dashes(), ["--listen", "y"]);
        assert_eq!(args.words().expect("two words"), ["one", "two"]);
    }

    #[test]
    fn a_mistyped_flag_is_refused() {
        assert!(args("--gusts").nothing_more().is_err());
    }

    #[test]
    fn a_flag_without_its_value_is_refused() {
        assert!(args("--listen").value("--listen").is_err());
    }
}
