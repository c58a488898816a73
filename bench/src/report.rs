//! The result of a figure: tables, aims with their verdicts, and the circumstances.
//! Printed, and written as Markdown for people and as JSON for programs. The
//! circumstances name the machine's make, never the machine itself.

use std::fmt::Write as _;
use std::path::Path;
use std::process::Command;

use serde_json::{Value, json};

use crate::Failure;

#[derive(Debug)]
pub struct Report {
    name: &'static str,
    title: String,
    aims: Vec<Aim>,
    tables: Vec<Table>,
    notes: Vec<String>,
    versions: Vec<(String, String)>,
    data: Value,
}

#[derive(Debug)]
struct Aim {
    what: String,
    came: String,
    met: bool,
}

#[derive(Debug)]
pub struct Table {
    caption: String,
    columns: Vec<String>,
    rows: Vec<Vec<String>>,
}

impl Table {
    /// Returns a table without rows, with these columns.
    pub fn new(caption: &str, columns: &[&str]) -> Self {
        Self {
            caption: caption.to_owned(),
            columns: columns.iter().map(|&column| column.to_owned()).collect(),
            rows: Vec::new(),
        }
    }

    /// Adds a row, with a cell for each column.
    pub fn row(&mut self, cells: impl IntoIterator<Item = String>) {
        self.rows.push(cells.into_iter().collect());
    }

    fn markdown(&self) -> String {
        let width = |at: usize| {
            let cells = self.rows.iter().filter_map(|row| row.get(at));
            cells
                .chain([&self.columns[at]])
                .map(|cell| cell.chars().count())
                .max()
                .unwrap_or_default()
        };
        let widths: Vec<usize> = (0..self.columns.len()).map(width).collect();
        let line = |cells: &[String]| {
            let cells: Vec<String> = cells
                .iter()
                .zip(&widths)
                .map(|(cell, width)| format!("{cell:<width$}"))
                .collect();
            format!("| {} |\n", cells.join(" | "))
        };
        let rule: Vec<String> = widths.iter().map(|width| "-".repeat(*width)).collect();
        let mut text = format!("{}\n\n", self.caption);
        text.push_str(&line(&self.columns));
        text.push_str(&line(&rule));
        for row in &self.rows {
            text.push_str(&line(row));
        }
        text
    }
}

impl Report {
    /// Returns an empty report. `name` is the name of its files.
    pub fn new(name: &'static str, title: &str) -> Self {
        Self {
            name,
            title: title.to_owned(),
            aims: Vec::new(),
            tables: Vec::new(),
            notes: Vec::new(),
            versions: Vec::new(),
            data: json!({}),
        }
    }

    /// Adds an aim with its result (`came`) and whether that meets it.
    pub fn aim(&mut self, what: &str, came: String, met: bool) {
        self.aims.push(Aim {
            what: what.to_owned(),
            came,
            met,
        });
    }

    /// Adds a table below the earlier ones.
    pub fn table(&mut self, table: Table) {
        self.tables.push(table);
    }

    /// Adds a line below the tables.
    pub fn note(&mut self, note: impl Into<String>) {
        self.notes.push(note.into());
    }

    /// Adds the version of a program or a package to the circumstances.
    pub fn version(&mut self, of: &str, version: impl Into<String>) {
        self.versions.push((of.to_owned(), version.into()));
    }

    /// The measured values, for programs.
    pub fn data(&mut self, key: &str, value: Value) {
        self.data[key] = value;
    }

    /// Prints the report, and writes both files.
    pub fn publish(mut self, folder: &Path) -> Result<(), Failure> {
        let (date, machine) = (date()?, machine());
        self.versions.insert(
            0,
            (
                "leadhost".to_owned(),
                format!("{} ({})", env!("CARGO_PKG_VERSION"), commit()),
            ),
        );
        self.versions.insert(1, ("rustc".to_owned(), rustc()));
        let markdown = self.markdown(&date, &machine);
        println!("{markdown}");
        std::fs::create_dir_all(folder)?;
        std::fs::write(folder.join(format!("{}.md", self.name)), &markdown)?;
        let aims: Vec<Value> = self
            .aims
            .iter()
            .map(|aim| json!({"aim": aim.what, "came": aim.came, "met": aim.met}))
            .collect();
        let versions: serde_json::Map<String, Value> = self
            .versions
            .iter()
            .map(|(of, version)| (of.clone(), json!(version)))
            .collect();
        let all = json!({
            "figure": self.name,
            "date": date,
            "machine": machine,
            "versions": versions,
            "aims": aims,
            "data": self.data,
        });
        let mut text = serde_json::to_string_pretty(&all)?;
        text.push('\n');
        std::fs::write(folder.join(format!("{}.json", self.name)), text)?;
        Ok(())
    }

    fn markdown(&self, date: &str, machine: &str) -> String {
        let mut text = format!("# {}\n\n", self.title);
        for aim in &self.aims {
            let verdict = if aim.met { "met" } else { "**missed**" };
            writeln!(
                text,
                "- Aim: {}. Result: {}: {verdict}.",
                aim.what, aim.came
            )
            .expect("writing to a String does not fail");
        }
        for table in &self.tables {
            text.push('\n');
            text.push_str(&table.markdown());
        }
        if !self.notes.is_empty() {
            text.push('\n');
            for note in &self.notes {
                writeln!(text, "- {note}").expect("writing to a String does not fail");
            }
        }
        let versions: Vec<String> = self
            .versions
            .iter()
            .map(|(of, version)| format!("{of} {version}"))
            .collect();
        writeln!(text, "\n{date} UTC. {machine}. {}.", versions.join(", "))
            .expect("writing to a String does not fail");
        text
    }
}

/// Formats a rate with three significant digits.
pub fn count(figure: f64) -> String {
    let digits = format!("{figure:.0}");
    let mut grouped = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at) % 3 == 0 {
            grouped.push(' ');
        }
        grouped.push(digit);
    }
    grouped
}

/// Formats a duration in a suitable unit.
pub fn time(duration: std::time::Duration) -> String {
    let micros = duration.as_secs_f64() * 1e6;
    match micros {
        ..100.0 => format!("{micros:.1} µs"),
        ..1_000.0 => format!("{micros:.0} µs"),
        ..100_000.0 => format!("{:.2} ms", micros / 1e3),
        _ => format!("{:.2} s", micros / 1e6),
    }
}

fn machine() -> String {
    let read = |path: &str| std::fs::read_to_string(path).unwrap_or_default();
    let processor = read("/proc/cpuinfo");
    let processor = processor
        .lines()
        .find_map(|line| line.strip_prefix("model name")?.split_once(':'))
        .map_or("an unknown processor", |(_, name)| name.trim());
    let memory = read("/proc/meminfo");
    let memory = memory
        .lines()
        .find_map(|line| line.strip_prefix("MemTotal:"))
        .and_then(|line| line.trim().split(' ').next()?.parse::<u64>().ok())
        .unwrap_or_default();
    let kernel = read("/proc/sys/kernel/osrelease");
    // The text after the numbers names a build.
    let kernel = kernel
        .trim()
        .split('-')
        .next()
        .unwrap_or_default()
        .to_owned();
    let cores = std::thread::available_parallelism().map_or(1, |cores| cores.get());
    let load = read("/proc/loadavg");
    let load = load.split(' ').next().unwrap_or_default();
    format!(
        "{cores} cores of {processor}, {} GiB, Linux {kernel}, load average {load} at the end",
        memory.div_ceil(1 << 20)
    )
}

fn date() -> Result<String, Failure> {
    use leadhost_domain::clock::Clock as _;
    let now = leadhost_domain::clock::SystemClock.now().text();
    Ok(now
        .get(..16)
        .ok_or("the clock shows no date")?
        .replace('T', " "))
}

/// Returns only the version.
fn rustc() -> String {
    let said = output("rustc", &["--version"]);
    said.split(' ').nth(1).unwrap_or(&said).to_owned()
}

fn commit() -> String {
    output("git", &["rev-parse", "--short", "HEAD"])
}

/// Returns the first line of a program's output; `unknown` if there is none.
pub fn output(program: &str, arguments: &[&str]) -> String {
    Command::new(program)
        .args(arguments)
        .output()
        .ok()
        .and_then(|output| String::from_utf8(output.stdout).ok())
        .and_then(|text| text.lines().next().map(str::to_owned))
        .filter(|line| !line.is_empty())
        .unwrap_or_else(|| "unknown".to_owned())
}
