//! The result of a figure: tables, aims with their verdicts, and the circumstances.
//! Printed, and written as Markdown for people and as JSON for programs. The
//! circumstances name the machine's make, never the machine itself.

use std::collections::BTreeMap;
use std::fmt;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use serde_json::{Map, Value, json};

use crate::Failure;

pub struct Report {
    name: &'static str,
    title: &'static str,
    aims: Vec<(String, String, bool)>,
    tables: Vec<Table>,
    notes: Vec<String>,
    versions: Vec<(String, String)>,
}

pub struct Table {
    caption: String,
    columns: Vec<String>,
    rows: Vec<Vec<Cell>>,
}

/// A cell of a table: readable for people, and a number in the basic unit for programs.
#[derive(Clone, Debug)]
pub enum Cell {
    Text(String),
    Count(f64),
    Time(f64),
    Times(f64),
}

impl<T: Into<String>> From<T> for Cell {
    fn from(text: T) -> Self {
        Self::Text(text.into())
    }
}

impl fmt::Display for Cell {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = match self {
            Self::Text(text) => text.clone(),
            Self::Count(figure) => grouped(*figure),
            Self::Times(times) => format!("{times:.2}"),
            Self::Time(seconds) => match seconds * 1e6 {
                micros @ ..100.0 => format!("{micros:.1} µs"),
                micros @ ..1_000.0 => format!("{micros:.0} µs"),
                micros @ ..100_000.0 => format!("{:.2} ms", micros / 1e3),
                _ => format!("{seconds:.2} s"),
            },
        };
        f.pad(&text)
    }
}

impl Cell {
    fn value(&self) -> Value {
        match self {
            Self::Text(text) => json!(text),
            Self::Count(figure) | Self::Time(figure) | Self::Times(figure) => json!(figure),
        }
    }
}

/// A number with its thousands apart.
pub fn count(figure: f64) -> Cell {
    Cell::Count(figure)
}

pub fn time(duration: Duration) -> Cell {
    seconds(duration.as_secs_f64())
}

pub fn seconds(seconds: f64) -> Cell {
    Cell::Time(seconds)
}

pub fn times(times: f64) -> Cell {
    Cell::Times(times)
}

/// The cell of what has no value.
pub fn none() -> Cell {
    "–".into()
}

fn grouped(figure: f64) -> String {
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

impl Table {
    /// The columns are written as the heading shows them: `store | p50 | p99`.
    pub fn new(caption: impl Into<String>, columns: &str) -> Self {
        Self {
            caption: caption.into(),
            columns: columns.split(" | ").map(str::to_owned).collect(),
            rows: Vec::new(),
        }
    }

    pub fn row(&mut self, cells: impl IntoIterator<Item = Cell>) {
        self.rows.push(cells.into_iter().collect());
    }

    fn markdown(&self) -> String {
        let mut lines = vec![self.columns.clone()];
        let texts = |row: &Vec<Cell>| row.iter().map(Cell::to_string).collect();
        lines.extend(self.rows.iter().map(texts));
        let width = |at: usize| {
            let cells = lines.iter().filter_map(|line| line.get(at));
            let widths = cells.map(|cell| cell.chars().count());
            widths.max().unwrap_or_default()
        };
        let widths: Vec<usize> = (0..self.columns.len()).map(width).collect();
        lines.insert(1, widths.iter().map(|width| "-".repeat(*width)).collect());
        let mut text = format!("{}\n\n", self.caption);
        for line in &lines {
            let cells = line.iter().zip(&widths);
            let cells: Vec<_> = cells
                .map(|(cell, width)| format!("{cell:<width$}"))
                .collect();
            text += &format!("| {} |\n", cells.join(" | "));
        }
        text
    }

    fn data(&self) -> Value {
        let rows = self.rows.iter().map(|row| -> Map<String, Value> {
            let cells = self.columns.iter().zip(row);
            cells
                .map(|(column, cell)| (column.clone(), cell.value()))
                .collect()
        });
        json!({"caption": self.caption, "rows": rows.collect::<Vec<_>>()})
    }
}

impl Report {
    /// An empty report. `name` is the name of its files.
    pub fn new(name: &'static str, title: &'static str) -> Self {
        Self {
            name,
            title,
            aims: Vec::new(),
            tables: Vec::new(),
            notes: Vec::new(),
            versions: Vec::new(),
        }
    }

    /// Adds an aim with its result (`came`) and whether that meets it.
    pub fn aim(&mut self, what: impl fmt::Display, came: impl fmt::Display, met: bool) {
        self.aims.push((what.to_string(), came.to_string(), met));
    }

    pub fn table(&mut self, table: Table) {
        self.tables.push(table);
    }

    pub fn note(&mut self, note: impl Into<String>) {
        self.notes.push(note.into());
    }

    pub fn version(&mut self, of: &str, version: impl Into<String>) {
        self.versions.push((of.to_owned(), version.into()));
    }

    /// Prints the report, and writes both files.
    pub fn publish(mut self, folder: &Path) -> Result<(), Failure> {
        let (date, machine) = (date()?, machine());
        let commit = output("git", &["rev-parse", "--short", "HEAD"]);
        let own = format!("{} ({commit})", env!("CARGO_PKG_VERSION"));
        let rustc = output("rustc", &["--version"]);
        let rustc = rustc.split(' ').nth(1).unwrap_or(&rustc).to_owned();
        self.versions.insert(0, ("leadhost".to_owned(), own));
        self.versions.insert(1, ("rustc".to_owned(), rustc));
        let markdown = self.markdown(&date, &machine);
        println!("{markdown}");
        std::fs::create_dir_all(folder)?;
        std::fs::write(folder.join(format!("{}.md", self.name)), &markdown)?;
        let aims = self.aims.iter();
        let aims = aims.map(|(aim, came, met)| json!({"aim": aim, "came": came, "met": met}));
        let all = json!({
            "figure": self.name,
            "date": date,
            "machine": machine,
            "versions": self.versions.iter().cloned().collect::<BTreeMap<_, _>>(),
            "aims": aims.collect::<Vec<_>>(),
            "tables": self.tables.iter().map(Table::data).collect::<Vec<_>>(),
            "notes": self.notes,
        });
        let text = format!("{}\n", serde_json::to_string_pretty(&all)?);
        std::fs::write(folder.join(format!("{}.json", self.name)), text)?;
        Ok(())
    }

    fn markdown(&self, date: &str, machine: &str) -> String {
        let mut text = format!("# {}\n\n", self.title);
        for (aim, came, met) in &self.aims {
            let verdict = if *met { "met" } else { "**missed**" };
            text += &format!("- Aim: {aim}. Result: {came}: {verdict}.\n");
        }
        for table in &self.tables {
            text += &format!("\n{}", table.markdown());
        }
        if !self.notes.is_empty() {
            text.push('\n');
        }
        for note in &self.notes {
            text += &format!("- {note}\n");
        }
        let versions = self.versions.iter();
        let versions: Vec<_> = versions
            .map(|(of, version)| format!("{of} {version}"))
            .collect();
        text + &format!("\n{date} UTC. {machine}. {}.\n", versions.join(", "))
    }
}

fn machine() -> String {
    let read = |path: &str| std::fs::read_to_string(path).unwrap_or_default();
    let field = |path: &str, name: &str| {
        let text = read(path);
        let mut lines = text.lines();
        let (_, value) = lines.find_map(|line| line.strip_prefix(name)?.split_once(':'))?;
        Some(value.trim().to_owned())
    };
    let processor = field("/proc/cpuinfo", "model name");
    let processor = processor.unwrap_or_else(|| "an unknown processor".to_owned());
    let memory = field("/proc/meminfo", "MemTotal").unwrap_or_default();
    let memory: u64 = first_word(&memory, ' ').parse().unwrap_or_default();
    let kernel = read("/proc/sys/kernel/osrelease");
    // The text after the numbers names a build.
    let kernel = first_word(kernel.trim(), '-');
    let cores = std::thread::available_parallelism().map_or(1, |cores| cores.get());
    let load = read("/proc/loadavg");
    format!(
        "{cores} cores of {processor}, {} GiB, Linux {kernel}, load average {} at the end",
        memory.div_ceil(1 << 20),
        first_word(&load, ' ')
    )
}

fn first_word(text: &str, end: char) -> &str {
    text.split(end).next().unwrap_or_default()
}

fn date() -> Result<String, Failure> {
    use leadhost_domain::clock::Clock as _;
    let now = leadhost_domain::clock::SystemClock.now().text();
    Ok(now
        .get(..16)
        .ok_or("the clock shows no date")?
        .replace('T', " "))
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
