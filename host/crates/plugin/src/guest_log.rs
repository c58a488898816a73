//! The lines of a guest's log that say something to the author of the plugin: not what the runtime of its
//! language says about itself.

/// The end of a panic's message in Rust. A plugin has no environment.
const ADVICE: &str = "note: run with `RUST_BACKTRACE=1`";

/// Where the engines of JavaScript and Python are written, which is where they panic after an exception that
/// they have shown. They repeat it, escaped on one line.
const ENGINES: [&str; 2] = [" panicked at crates/runtime/", " panicked at runtime/src/"];

/// The folders in which the engine of Python has the modules.
const FOLDERS: [&str; 2] = ["File \"/0/", "File \"/1/"];

pub fn readable(lines: Vec<String>) -> Vec<String> {
    let is_said = |line: &String| !line.trim().is_empty() && !line.trim().starts_with(ADVICE);
    let mut lines: Vec<String> = lines.into_iter().filter(is_said).collect();
    let engine = lines.iter().rposition(|line| is_panic_of_engine(line));
    if let Some(engine) = engine.filter(|at| *at > 0) {
        lines.truncate(engine);
    }
    for line in &mut lines {
        for folder in FOLDERS {
            if line.contains(folder) {
                *line = line.replacen(folder, "File \"", 1);
            }
        }
    }
    lines
}

/// Whether a line begins a panic of Rust: its message is in the next one.
pub fn is_panic_of_rust(line: &str) -> bool {
    let line = line.trim();
    line.starts_with("thread '") && line.contains(" panicked at ") && line.ends_with(':')
}

fn is_panic_of_engine(line: &str) -> bool {
    is_panic_of_rust(line) && ENGINES.iter().any(|engine| line.contains(engine))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(log: &[&str], expect: &[&str]) {
        let log = log.iter().map(|line| (*line).to_owned()).collect();
        assert_eq!(readable(log), expect);
    }

    #[test]
    fn what_an_engine_says_about_itself_is_left_out() {
        let advice =
            "note: run with `RUST_BACKTRACE=1` environment variable to display a backtrace";
        check(
            &[
                "TypeError: cannot read property 'a' of undefined",
                "    at read (src/converter.js:36)",
                "",
                "thread '<unnamed>' (1) panicked at crates/runtime/src/interpreter.rs:51:31:",
                "Exception { message: Some(\"cannot read\"), stack: Some(\"at\") })",
                advice,
            ],
            &[
                "TypeError: cannot read property 'a' of undefined",
                "    at read (src/converter.js:36)",
            ],
        );
        check(
            &[
                "  File \"/0/converter.py\", line 18, in convert",
                "AttributeError: no name",
                "thread '<unnamed>' (1) panicked at runtime/src/lib.rs:1293:29:",
                "Python function threw an unexpected exception",
            ],
            &[
                "  File \"converter.py\", line 18, in convert",
                "AttributeError: no name",
            ],
        );
        let of_rust = [
            "thread '<unnamed>' (1) panicked at src/lib.rs:3:5:",
            "no phone",
        ];
        check(&[of_rust[0], of_rust[1], advice], &of_rust);
        // Nothing else tells why.
        let alone = [
            "thread '<unnamed>' (1) panicked at crates/runtime/src/a.rs:1:1:",
            "why",
        ];
        check(&alone, &alone);
    }
}
