//! `cargo xtask bench languages`: for the converter that `leadhost plugin new` writes in each language,
//! the time until it has answered its first lead, the time from an edit until it is served, its size,
//! and the time and memory of a call. The table is in docs/integrators.md, between markers.

use std::path::Path;
use std::time::{Duration, Instant};

use serde_json::Value;

use super::edit::{self, Edit};
use super::{Former, Made, folder, projects};
use crate::failure::{Context, Failure};
use crate::install::Install;
use crate::{files, process, repository, run};

const CALLS: usize = 21;

const LEAD: &str = "golden/lead/body.json";

const PAGE: &str = "docs/integrators.md";
const BEGIN: &str = "<!-- cargo xtask bench languages -->\n";
const END: &str = "<!-- end -->\n";

struct Row {
    title: &'static str,
    until_answered: Duration,
    edit: Edit,
    component_bytes: u64,
    /// The median of the processor times.
    call: Duration,
    /// The most of the calls.
    memory_bytes: u64,
}

/// Measures every language whose toolchain is there or may be installed, and writes the table.
pub fn run(install: Install) -> Result<(), Failure> {
    let program = run::build_program("release")?;
    let mut rows = Vec::new();
    for project in projects("converter") {
        // Before the clock starts: a toolchain is installed once.
        let toolchain = (project.language.ensure)(install)?;
        let start = Instant::now();
        let made = Made::new(&project, &program, &toolchain, Former::Removed)?;
        made.build()?;
        answer(&made)?;
        let until_answered = start.elapsed();
        rows.push(measured(&made, until_answered)?);
    }
    let table = table(&rows);
    println!("{table}");
    let path = repository::root().join(PAGE);
    let page = files::text(&path)?;
    files::write_if_changed(&path, placed(&page, &table)?.as_bytes())?;
    Ok(())
}

fn measured(made: &Made<'_>, until_answered: Duration) -> Result<Row, Failure> {
    let component = component(made)?;
    let used = (0..CALLS).map(|_| answer(made));
    let used = used.collect::<Result<Vec<_>, _>>()?;
    let mut calls: Vec<Duration> = used.iter().map(|(call, _)| *call).collect();
    calls.sort();
    let memory = used.iter().map(|(_, memory)| *memory).max();
    Ok(Row {
        title: made.project.language.title,
        until_answered,
        // Last: the calls above are of the project as `new` wrote it.
        edit: edit::measure(made)?,
        component_bytes: u64::try_from(component.len()).unwrap_or(u64::MAX),
        call: calls[CALLS / 2],
        memory_bytes: memory.unwrap_or_default(),
    })
}

/// Returns the component without golden cases, which are the same in every language.
fn component(made: &Made<'_>) -> Result<Vec<u8>, Failure> {
    /// How the binary format of components begins.
    const MAGIC: &[u8] = b"\0asm\x0d\0\x01\0";
    const BUILT: &str = "build/plugin.wasm";
    let read = |path: &Path| files::bytes(path);
    let built = read(&made.folder.join(BUILT))?;
    if built.starts_with(MAGIC) {
        return Ok(built);
    }
    let packed = folder().join(format!(".{}.wasm", made.project.language.name));
    let path = packed.to_string_lossy();
    process::output(&mut made.leadhost(&["plugin", "publish", BUILT, "-o", &path]))?;
    read(&packed)
}

/// Converts the lead of the project. Returns the processor time, which others on the machine change
/// little, and the memory of the call.
fn answer(made: &Made<'_>) -> Result<(Duration, u64), Failure> {
    let said = process::output(&mut made.leadhost(&["plugin", "run", ".", LEAD, "--json"]))?;
    let said: Value = serde_json::from_str(&said).context("reading the output of `plugin run`")?;
    let lead = &said["answer"]["ok"]["items"][0]["outcome"]["lead"];
    let used = |name: &str| said["used"][name].as_u64();
    match (
        lead.is_object(),
        used("processorMicroseconds"),
        used("memoryBytes"),
    ) {
        (true, Some(microseconds), Some(memory)) => {
            Ok((Duration::from_micros(microseconds), memory))
        }
        _ => Err(Failure::new(format!(
            "the converter in {} answered no lead: {said}",
            made.project.language.title
        ))),
    }
}

fn table(rows: &[Row]) -> String {
    let mut text = "\
| | `new` to the first answered lead | Build after an edit | Served after the build | Component | Processor time of a call | Memory of a call |
|---|---|---|---|---|---|---|
"
    .to_owned();
    for row in rows {
        text += &format!(
            "| {} | {:.1} s | {:.1} s | {:.1} s | {} | {:.1} ms | {:.1} MiB |\n",
            row.title,
            row.until_answered.as_secs_f64(),
            row.edit.build.as_secs_f64(),
            row.edit.serve.as_secs_f64(),
            size(row.component_bytes),
            row.call.as_secs_f64() * 1_000.0,
            mebibytes(row.memory_bytes),
        );
    }
    text
}

fn size(bytes: u64) -> String {
    match mebibytes(bytes) {
        large if large >= 1.0 => format!("{large:.1} MiB"),
        _ => format!("{} KiB", bytes.div_ceil(1024)),
    }
}

fn mebibytes(bytes: u64) -> f64 {
    bytes as f64 / (1024.0 * 1024.0)
}

fn placed(page: &str, table: &str) -> Result<String, Failure> {
    let (before, _, after) = files::between(page, BEGIN, END)?;
    Ok(format!("{before}{BEGIN}{table}{END}{after}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_page_has_a_place_for_the_table() {
        let page = files::text(repository::root().join(PAGE)).expect("the page is there");
        let with = placed(&page, "| a |\n").expect("it has the markers");
        assert!(with.contains("-->\n| a |\n<!-- end -->\n"));
        assert_eq!(placed(&with, "| a |\n").expect("it still has them"), with);
        assert!(placed("no markers", "").is_err());
    }

    #[test]
    fn a_row_has_readable_units() {
        let row = Row {
            title: "Go",
            until_answered: Duration::from_millis(1_240),
            edit: Edit {
                build: Duration::from_millis(900),
                serve: Duration::from_millis(40),
            },
            component_bytes: 60_000,
            call: Duration::from_micros(250),
            memory_bytes: 1 << 20,
        };
        let text = table(&[row]);
        assert!(
            text.ends_with("| Go | 1.2 s | 0.9 s | 0.0 s | 59 KiB | 0.2 ms | 1.0 MiB |\n"),
            "{text}"
        );
        assert_eq!(size(19_000_000), "18.1 MiB");
    }
}
