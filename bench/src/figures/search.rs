//! Names that are similar to a term, among a million: the service's index in memory,
//! compared with PostgreSQL's trigrams on the same names and terms.
//!
//! The names are made up and look like names of homes in Portuguese; every tenth has a unique
//! word. Terms are names with one typo, complete or some of their words. The index is called as
//! a function, on one thread. The database is queried over a connection, and only for the first
//! ten, while the index also counts all matches.

use std::hint::black_box;
use std::time::{Duration, Instant};

use leadhost_domain::id::ProductId;
use leadhost_search::{Index, IndexBuilder, Term, fold};
use sqlx::Row as _;
use sqlx::postgres::PgRow;

use crate::load::processor_time;
use crate::postgres::{Database, Server};
use crate::process::memory;
use crate::report::{Report, Table, count, none, time};
use crate::sample::Sample;
use crate::{Arguments, Failure, rows};

const NAMES: usize = 1_000_000;
/// One name in so many has a unique word.
const UNIQUE: usize = 10;
/// Terms of each kind for the index, and the number of those for the database.
const TERMS: usize = 1_000;
const TERMS_OF_DATABASE: usize = 20;
const PAGE: usize = 10;

const MOST_P50: Duration = Duration::from_millis(5);
const MOST_P99: Duration = Duration::from_millis(25);
const LEAST_TIMES: f64 = 50.0;
const MOST_BYTES: usize = 80_000_000;
const LEAST_FOUND: f64 = 0.95;

pub fn measure(arguments: &Arguments) -> Result<Report, Failure> {
    let mut report = Report::new("search", "Products found by their names");
    let chance = &mut Chance(42);
    eprintln!("  making {NAMES} names");
    let names = names(chance);
    let built = build(&names)?;
    let whole = |words: Vec<String>, _: &mut Chance| words;
    let kinds = [
        Kind::new("a whole name", &names, chance, whole),
        Kind::new("two to four words of one", &names, chance, part),
        Kind::new(WITH_OWN_WORD, &names, chance, whole),
    ];
    let mut own: Vec<_> = kinds
        .iter()
        .map(|kind| in_memory(&built.index, kind))
        .collect();
    own.push(hard(&built.index));
    let server = Server::start(arguments)?;
    let database = server.database()?;
    let (seconds, bytes) = seed(&database, &names)?;
    let theirs = in_database(&database, &kinds[..2])?;
    database.drop()?;
    server.version(&mut report)?;
    write_report(&mut report, &built, &own, &theirs, (seconds, bytes));
    Ok(report)
}

// ---- names and terms

/// Pseudorandom numbers, the same in every run.
struct Chance(u64);

impl Chance {
    fn below(&mut self, bound: usize) -> usize {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        ((self.0 >> 33) % bound as u64) as usize
    }

    fn pick<'a>(&mut self, all: &[&'a str]) -> &'a str {
        all[self.below(all.len())]
    }

    /// A made-up word of two to four syllables.
    fn word(&mut self) -> String {
        #[rustfmt::skip]
        const BEGIN: [&str; 24] = [
            "b", "c", "d", "f", "g", "j", "l", "m", "n", "p", "r", "s", "t", "v", "z", "br", "cr", "gr", "pr",
            "tr", "ch", "lh", "nh", "gu",
        ];
        #[rustfmt::skip]
        const END: [&str; 14] = [
            "a", "e", "i", "o", "u", "ã", "é", "í", "ó", "ar", "er", "or", "al", "im",
        ];
        let syllables = 2 + self.below(3);
        let syllable = |chance: &mut Self| [chance.pick(&BEGIN), chance.pick(&END)].concat();
        (0..syllables).map(|_| syllable(self)).collect()
    }
}

/// Some words are in many names and most are in few, as in any language.
fn names(chance: &mut Chance) -> Vec<String> {
    #[rustfmt::skip]
    const KINDS: [&str; 12] = [
        "Apartamento", "Casa", "Cobertura", "Sobrado", "Terreno", "Kitnet", "Loja", "Galpão", "Chácara", "Flat",
        "Studio", "Sala comercial",
    ];
    #[rustfmt::skip]
    const PLACES: [&str; 10] = [
        "Jardim", "Vila", "Parque", "Residencial", "Edifício", "Condomínio", "Bairro", "Alto", "Recanto",
        "Morada",
    ];
    let known: Vec<String> = (0..50_000).map(|_| chance.word()).collect();
    let name = |number: usize, chance: &mut Chance| {
        let word = |chance: &mut Chance| {
            // The first ones are frequent.
            let at = chance.below(known.len()).min(chance.below(known.len()));
            known[at.min(chance.below(known.len()))].clone()
        };
        let mut name = chance.pick(&KINDS).to_owned();
        if chance.below(2) == 0 {
            name += &format!(" {} quartos", 1 + chance.below(5));
        }
        name += &format!(" {} {}", chance.pick(&PLACES), word(chance));
        if chance.below(3) > 0 {
            name += &format!(
                " {} {}",
                chance.pick(&["de", "do", "da", "e", "em"]),
                word(chance)
            );
        }
        if number.is_multiple_of(UNIQUE) {
            name += &format!(" {}{}", chance.word(), letters(number));
        } else if chance.below(2) == 0 {
            name += &format!(" {}", word(chance));
        }
        name
    };
    (0..NAMES).map(|number| name(number, chance)).collect()
}

fn letters(mut number: usize) -> String {
    let mut letters = String::new();
    for _ in 0..5 {
        letters.push(char::from(
            b'a' + u8::try_from(number % 26).expect("a letter"),
        ));
        number /= 26;
    }
    letters
}

fn part(words: Vec<String>, chance: &mut Chance) -> Vec<String> {
    let count = (2 + chance.below(3)).min(words.len());
    let from = chance.below(words.len() - count + 1);
    words[from..from + count].to_vec()
}

const WITH_OWN_WORD: &str = "a whole name with a word of its own";

struct Kind {
    name: &'static str,
    terms: Vec<(usize, String)>,
}

impl Kind {
    fn new(
        name: &'static str,
        names: &[String],
        chance: &mut Chance,
        choose: impl Fn(Vec<String>, &mut Chance) -> Vec<String>,
    ) -> Self {
        let is_unique = name == WITH_OWN_WORD;
        let mut terms = Vec::new();
        while terms.len() < TERMS {
            let mut number = chance.below(names.len());
            if is_unique {
                number -= number % UNIQUE;
            }
            let words = names[number].split(' ').map(str::to_owned).collect();
            let mut words = choose(words, chance);
            if misspell(&mut words, chance) {
                terms.push((number, words.join(" ")));
            }
        }
        Self { name, terms }
    }
}

fn misspell(words: &mut [String], chance: &mut Chance) -> bool {
    let may: Vec<_> = (0..words.len())
        .filter(|at| words[*at].chars().count() >= 4)
        .collect();
    if may.is_empty() {
        return false;
    }
    let word = &mut words[may[chance.below(may.len())]];
    let mut letters: Vec<char> = word.chars().collect();
    let at = chance.below(letters.len() - 1);
    let wrong = char::from(b'a' + u8::try_from(chance.below(26)).expect("a letter"));
    match chance.below(4) {
        0 => drop(letters.remove(at)),
        1 => letters.insert(at, wrong),
        2 => letters[at] = wrong,
        _ => letters.swap(at, at + 1),
    }
    *word = letters.into_iter().collect();
    true
}

fn id(number: usize) -> ProductId {
    // In no particular order, like real products.
    let mixed = (number as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let text = format!("{mixed:016x}{number:016x}");
    text.parse().expect("thirty-two digits")
}

// ---- the index

struct Built {
    index: Index,
    gathered: Duration,
    built: Duration,
    /// The increase of the process's memory, in MiB.
    resident: f64,
}

fn build(names: &[String]) -> Result<Built, Failure> {
    let before = memory("self")?.now;
    let begin = processor_time();
    let mut builder = IndexBuilder::default();
    for (number, name) in names.iter().enumerate() {
        builder.set(id(number), Some(name));
    }
    let gathered = processor_time() - begin;
    let begin = processor_time();
    let index = builder.build();
    let built = processor_time() - begin;
    let resident = memory("self")?.now - before;
    eprintln!("  the index takes {} bytes", index.bytes());
    Ok(Built {
        index,
        gathered,
        built,
        resident,
    })
}

/// The searches of one kind of term in one way.
struct Searches {
    way: &'static str,
    kind: &'static str,
    wall: Sample,
    /// Only of the index.
    processor: Option<Sample>,
    /// The share of names among the first ten of their searches.
    found: Option<f64>,
}

fn in_memory(index: &Index, kind: &Kind) -> Searches {
    let mut wall = Vec::new();
    let mut on_processor = Vec::new();
    let mut found = 0;
    // The first ones only warm up.
    for (at, (number, term)) in kind.terms.iter().take(50).chain(&kind.terms).enumerate() {
        let (begin, begun) = (Instant::now(), processor_time());
        let hits = black_box(search(index, term));
        if at >= 50 {
            on_processor.push(processor_time() - begun);
            wall.push(begin.elapsed());
            found += usize::from(hits.contains(&id(*number)));
        }
    }
    Searches {
        way: "index",
        kind: kind.name,
        wall: Sample::from_durations(wall),
        processor: Some(Sample::from_durations(on_processor)),
        found: Some(found as f64 / kind.terms.len() as f64),
    }
}

fn search(index: &Index, term: &str) -> Vec<ProductId> {
    let term = Term::read(term).expect("names have letters");
    let found = index.search(&term, None, 0, PAGE);
    found.page.iter().map(|hit| hit.id).collect()
}

/// The most expensive terms: words that most names have, and single letters.
fn hard(index: &Index) -> Searches {
    let terms = [
        "apartamento 2 quartos jardim de",
        "a e i o u c d s",
        "casa casa casa",
        "a",
        "p r s t v b m l",
        "apartamento casa sobrado terreno jardim vila parque residencial",
    ];
    let terms = terms.iter().cycle().take(300);
    let kind = Kind {
        name: "words of most names, and single letters",
        terms: terms.map(|term| (0, (*term).to_owned())).collect(),
    };
    Searches {
        found: None,
        ..in_memory(index, &kind)
    }
}

// ---- the database

fn seed(database: &Database<'_>, names: &[String]) -> Result<(f64, i64), Failure> {
    eprintln!("  writing the names to PostgreSQL");
    database.say(&[
        "create extension pg_trgm",
        "create table names (number bigint, name text)",
    ])?;
    for (part, chunk) in names.chunks(20_000).enumerate() {
        // Folded as in the index: only letters, digits and blanks.
        let folded: Vec<_> = chunk
            .iter()
            .map(|name| format!("'{}'", fold(name)))
            .collect();
        database.say(&[&format!(
            "insert into names select {} + at - 1, name from unnest(array[{}]) with ordinality as n (name, at)",
            part * 20_000,
            folded.join(",")
        )])?;
    }
    let begin = Instant::now();
    database.say(&[
        "set maintenance_work_mem = '512MB'",
        "create index names_like on names using gin (name gin_trgm_ops)",
        "vacuum analyze names",
        "grant select on names to public",
    ])?;
    let seconds = begin.elapsed().as_secs_f64();
    let size = "select pg_relation_size('public.names_like')".to_owned();
    let bytes = rows::number(&database.url(), size)?;
    Ok((seconds, bytes))
}

const WAYS: [(&str, &str); 2] = [
    (
        "pg_trgm, word_similarity",
        "select number from public.names where $1 <% name order by word_similarity($1, name) desc, number limit 10",
    ),
    (
        "pg_trgm, similarity",
        "select number from public.names where name % $1 order by similarity(name, $1) desc, number limit 10",
    ),
];

fn in_database(database: &Database<'_>, kinds: &[Kind]) -> Result<Vec<Searches>, Failure> {
    let url = database.url();
    rows::block_on(async {
        let mut connection = rows::open_postgres(&url, "public").await?;
        let mut all = Vec::new();
        for (way, query) in WAYS {
            for kind in kinds {
                eprintln!("  {way}: {}", kind.name);
                let mut wall = Vec::new();
                let mut found = 0;
                let warm = kind.terms.iter().take(1);
                let terms = kind.terms.iter().take(TERMS_OF_DATABASE);
                for (at, (number, term)) in warm.chain(terms).enumerate() {
                    let term = fold(term);
                    let begin = Instant::now();
                    let rows = sqlx::query(query)
                        .bind(&term)
                        .fetch_all(&mut connection)
                        .await?;
                    if at >= 1 {
                        wall.push(begin.elapsed());
                        let number = i64::try_from(*number)?;
                        let is_it =
                            |row: &PgRow| row.try_get(0).is_ok_and(|found: i64| found == number);
                        found += usize::from(rows.iter().any(is_it));
                    }
                }
                all.push(Searches {
                    way,
                    kind: kind.name,
                    wall: Sample::from_durations(wall),
                    processor: None,
                    found: Some(found as f64 / TERMS_OF_DATABASE as f64),
                });
            }
        }
        Ok(all)
    })
}

// ---- the report

fn write_report(
    report: &mut Report,
    built: &Built,
    own: &[Searches],
    theirs: &[Searches],
    (seconds, bytes): (f64, i64),
) {
    let bytes_of_index = built.index.bytes();
    let slowest = |own: &[Searches], of: fn(&Sample) -> Duration| {
        let all = own.iter().filter_map(|own| own.processor.as_ref().map(of));
        all.max().unwrap_or_default()
    };
    let (p50, p99) = (slowest(&own[..3], Sample::p50), slowest(own, Sample::p99));
    report.aim(
        "p50 of each kind of term at most 5 ms",
        time(p50),
        p50 <= MOST_P50,
    );
    report.aim(
        "p99 at most 25 ms, also for the most expensive terms",
        time(p99),
        p99 <= MOST_P99,
    );
    let times = theirs.iter().filter_map(|theirs| {
        let own = own.iter().find(|own| own.kind == theirs.kind)?;
        Some(theirs.wall.p50().as_secs_f64() / own.wall.p50().as_secs_f64())
    });
    let times = times.fold(f64::INFINITY, f64::min);
    report.aim(
        "p50 at least 50 times faster than pg_trgm, both by the wall clock",
        format!("{times:.0} times at least"),
        times >= LEAST_TIMES,
    );
    report.aim(
        "the index of a million names takes at most 80 MB",
        format!("{:.1} MB", bytes_of_index as f64 / 1e6),
        bytes_of_index <= MOST_BYTES,
    );
    let found = own[2].found.unwrap_or_default();
    report.aim(
        "a name with a word of its own is among the first ten in 95 of 100 searches with a typo",
        format!("{:.1} %", found * 100.0),
        found >= LEAST_FOUND,
    );
    let mut table = Table::new(
        format!(
            "{} names. Terms with one typo, {TERMS} of each kind for the index and {TERMS_OF_DATABASE} for the database; the first ten:",
            count(NAMES as f64)
        ),
        "way | term | p50 | p99 | p50, processor | p99, processor | its name in the first ten",
    );
    for of in own.iter().chain(theirs) {
        let [p50, p99, _] = of.wall.cells();
        let processor = of.processor.as_ref().map(Sample::cells);
        let [own_p50, own_p99, _] = processor.unwrap_or_else(|| [none(), none(), none()]);
        let found = of
            .found
            .map(|found| format!("{:.0} %", found * 100.0).into());
        let (way, kind, found) = (of.way.into(), of.kind.into(), found.unwrap_or_else(none));
        table.row([way, kind, p50, p99, own_p50, own_p99, found]);
    }
    report.table(table);
    report.note(format!(
        "The index: {:.1} MB by its own account, the process {:.1} MB more than before it was built; {} for folding and gathering, {} for building, on one processor.",
        bytes_of_index as f64 / 1e6,
        built.resident * 1.048_576,
        time(built.gathered),
        time(built.built),
    ));
    report.note(format!(
        "PostgreSQL's index: {:.1} MB, built in {seconds:.1} s.",
        bytes as f64 / 1e6
    ));
    report.note("The time aims refer to the processor time of one thread, which other work of the machine does not increase; the wall clock is beside it.");
    report.note("A name without a word of its own shares its words with many others, so that the first ten cannot hold all of them: compare the columns, they are no measure of quality.");
}
