//! Statements, each written once for both databases.
//!
//! Parameters are named (`:id`). A line that ends in `-- sqlite` applies to SQLite only, and one
//! that ends in `-- postgres` to PostgreSQL only, for example where rows are locked. A statement
//! that runs for many rows begins with their columns, `each (id uuid, at time)`, and reads the rows
//! from the table `each`. A PostgreSQL cast (`:id::uuid`), needed where PostgreSQL cannot infer the
//! type, is dropped for SQLite.
//!
//! An `ordered join` looks the rows of its table up for each row before it on SQLite, and a `fenced join` (or
//! `fenced left join`) on PostgreSQL too, which would otherwise read a young table as a whole. The conditions of
//! a fenced join are the lines below it that are further to the right.

use std::borrow::Cow;
use std::sync::OnceLock;

use super::value::{Arg, SqlType};

/// A statement for both databases. Kept in a `static`, so that its text is translated only once.
pub struct Sql {
    text: Source,
    sqlite: OnceLock<Text>,
    postgres: OnceLock<Text>,
}

enum Source {
    Written(&'static str),
    Made(fn() -> String),
    Given(String),
}

/// Statements that change different rows and do not depend on each other. PostgreSQL runs them as
/// one statement. Kept in a `static`, like a single statement.
pub struct Together {
    statements: Vec<&'static Sql>,
    /// Indexed by the set of selected statements, one bit per statement.
    postgres: Box<[OnceLock<Text>]>,
}

/// The text that a database receives, with numbered parameters.
pub struct Text {
    pub sql: String,
    /// The names of the parameters, in the order of their numbers.
    pub names: Vec<String>,
    /// The columns of `each` for each statement in the text. A list per column is passed as a
    /// parameter, in this order.
    pub each: Vec<Vec<(String, SqlType)>>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Dialect {
    Sqlite,
    Postgres,
}

/// Returns the rows of one statement in the form that [`Tx::run_together`](super::Tx::run_together) takes.
pub fn listed<'r, 'a, const N: usize>(rows: &'r [[Arg<'a>; N]]) -> Vec<&'r [Arg<'a>]> {
    rows.iter().map(|row| row.as_slice()).collect()
}

pub const fn sql(text: &'static str) -> Sql {
    Sql::new(Source::Written(text))
}

/// Returns a statement whose text is made on first use, for example from the description of a
/// table.
pub const fn made(text: fn() -> String) -> Sql {
    Sql::new(Source::Made(text))
}

/// Defines the statements of a file, and `SQL`, which lists them for tests that examine every statement.
macro_rules! statements {
    ($($(#[$about:meta])* $vis:vis static $name:ident: $of:ty = $text:expr;)+) => {
        $($(#[$about])* $vis static $name: $of = $text;)+
        pub const SQL: &[&$crate::sql::Sql] = &[$(&$name),+];
    };
}

pub(crate) use statements;

impl Sql {
    /// Returns a statement with this text, for statements whose number is only known at run time.
    pub fn from_text(text: String) -> Self {
        Self::new(Source::Given(text))
    }

    const fn new(text: Source) -> Self {
        Self {
            text,
            sqlite: OnceLock::new(),
            postgres: OnceLock::new(),
        }
    }

    fn source(&self) -> Cow<'_, str> {
        match &self.text {
            Source::Written(text) => Cow::Borrowed(text),
            Source::Made(text) => Cow::Owned(text()),
            Source::Given(text) => Cow::Borrowed(text),
        }
    }

    /// Returns the text for this database. SQLite runs it once per row, PostgreSQL once for all
    /// rows.
    pub fn text(&self, dialect: Dialect) -> &Text {
        let slot = match dialect {
            Dialect::Sqlite => &self.sqlite,
            Dialect::Postgres => &self.postgres,
        };
        slot.get_or_init(|| {
            let text = for_dialect(&self.source(), dialect);
            let mut each = Vec::new();
            let text = match (columns_of_each(&text), dialect) {
                (None, _) => text,
                (Some((_, rest)), _) if rest.trim().is_empty() => String::new(),
                (Some((columns, rest)), Dialect::Sqlite) => with_a_row(rest, &columns),
                (Some((columns, rest)), Dialect::Postgres) => {
                    each.push(owned(&columns));
                    with_all_rows(rest, &columns, "")
                }
            };
            match dialect {
                Dialect::Sqlite => Text::new(&text, '?', each),
                Dialect::Postgres => Text::new(&text, '$', each),
            }
        })
    }
}

impl Together {
    /// Joins statements. Each reads its rows from `each` and returns none. Keep their number small:
    /// there is a text for every subset of them.
    pub fn new(statements: Vec<&'static Sql>) -> Self {
        let selections = 1_usize << statements.len();
        Self {
            statements,
            postgres: (0..selections).map(|_| OnceLock::new()).collect(),
        }
    }

    pub fn statements(&self) -> &[&'static Sql] {
        &self.statements
    }

    /// Returns one statement made of those that are `in_it`. It returns how many rows each of them
    /// changed. Statements without rows are left out, because the server would still have to
    /// prepare them.
    pub fn text(&self, in_it: impl Fn(usize) -> bool) -> &Text {
        let selected = || (0..self.statements.len()).filter(|at| in_it(*at));
        let selection: usize = selected().map(|at| 1 << at).sum();
        self.postgres[selection].get_or_init(|| {
            let mut each = Vec::new();
            let (mut parts, mut counts) = (Vec::new(), Vec::new());
            for place in selected() {
                let text = for_dialect(&self.statements[place].source(), Dialect::Postgres);
                let (columns, rest) = columns_of_each(&text)
                    .unwrap_or_else(|| panic!("the statement does not read `each`: {text}"));
                each.push(owned(&columns));
                let text = with_all_rows(rest, &columns, &format!("of_{place}_"));
                parts.push(format!("part_{place} as (\n{text}\nreturning 1\n)"));
                counts.push(format!("(select count(*) from part_{place})"));
            }
            let text = format!("with {}\nselect {}", parts.join(", "), counts.join(", "));
            Text::new(&text, '$', each)
        })
    }
}

fn owned(columns: &[(&str, SqlType)]) -> Vec<(String, SqlType)> {
    let owned = columns
        .iter()
        .map(|(name, kind)| ((*name).to_owned(), *kind));
    owned.collect()
}

const FOR_SQLITE: &str = "-- sqlite";
const FOR_POSTGRES: &str = "-- postgres";

/// Removes the lines of the other database, and spells the joins for this one.
pub fn for_dialect(text: &str, dialect: Dialect) -> String {
    let (own, other) = match dialect {
        Dialect::Sqlite => (FOR_SQLITE, FOR_POSTGRES),
        Dialect::Postgres => (FOR_POSTGRES, FOR_SQLITE),
    };
    let lines = text.lines().filter(|line| !line.ends_with(other));
    let lines = lines.map(|line| line.strip_suffix(own).unwrap_or(line).trim_end());
    let mut lines = lines.peekable();
    let mut spelled: Vec<String> = Vec::new();
    while let Some(line) = lines.next() {
        let mut conditions = Vec::new();
        if dialect == Dialect::Postgres && fenced(line).is_some() {
            while let Some(next) = lines.next_if(|next| depth(next) > depth(line)) {
                conditions.push(next.trim_start());
            }
        }
        spelled.push(with_joins(line, dialect, &conditions));
    }
    spelled.join("\n").trim().to_owned()
}

fn depth(line: &str) -> usize {
    line.len() - line.trim_start().len()
}

/// Returns the kind, the table and the alias of a fenced join.
fn fenced(line: &str) -> Option<(&str, &str, &str)> {
    let (kind, joined) = line
        .trim_start()
        .strip_prefix("fenced ")?
        .split_once("join ")?;
    let (table, alias) = joined.split_once(" as ")?;
    Some((kind, table, alias))
}

fn with_joins(line: &str, dialect: Dialect, conditions: &[&str]) -> String {
    let Some((kind, table, alias)) = fenced(line) else {
        let join = match dialect {
            Dialect::Sqlite => "cross join",
            Dialect::Postgres => "join",
        };
        return line.replace("ordered join", join);
    };
    let (kind, end) = match kind {
        "left " => ("left", " on true"),
        _ => ("cross", ""),
    };
    match dialect {
        Dialect::Sqlite => format!("{kind} join {table} as {alias}"),
        Dialect::Postgres => {
            let conditions = conditions.join("\n");
            let conditions = conditions.strip_prefix("on ").unwrap_or(&conditions);
            format!(
                "{kind} join lateral (\nselect {alias}.*\nfrom {table} as {alias}\n\
                 where {conditions}\noffset 0\n) as {alias}{end}"
            )
        }
    }
}

/// Returns the columns of `each` and the text after them, or `None` if the text has no `each`.
fn columns_of_each(text: &str) -> Option<(Vec<(&str, SqlType)>, &str)> {
    let (columns, rest) = text.trim_start().strip_prefix("each (")?.split_once(')')?;
    let columns = columns.split(',').map(|column| {
        let (name, kind) = column.trim().split_once(' ').unwrap_or((column, ""));
        let kind = SqlType::from_text(kind)
            .unwrap_or_else(|| panic!("column `{column}` has an unknown kind: {text}"));
        (name, kind)
    });
    Some((columns.collect(), rest))
}

/// Defines `each` as one row whose columns are parameters.
fn with_a_row(text: &str, columns: &[(&str, SqlType)]) -> String {
    let names: Vec<_> = columns.iter().map(|(name, _)| *name).collect();
    let values: Vec<_> = names.iter().map(|name| format!(":{name}")).collect();
    let each = format!(
        "each ({}) as (values ({}))",
        names.join(", "),
        values.join(", ")
    );
    with(text, &each)
}

/// Defines `each` as all rows. Each column is a parameter that holds a list, named after the column
/// with this prefix.
fn with_all_rows(text: &str, columns: &[(&str, SqlType)], prefix: &str) -> String {
    let names: Vec<_> = columns.iter().map(|(name, _)| *name).collect();
    let lists: Vec<_> = columns
        .iter()
        .map(|(name, kind)| format!(":{prefix}{name}::{}[]", kind.in_a_list()))
        .collect();
    let read: Vec<_> = columns
        .iter()
        .map(|(name, kind)| match kind {
            SqlType::Json => format!("{name}::json as {name}"),
            _ => (*name).to_owned(),
        })
        .collect();
    let each = format!(
        "each as (select {} from unnest({}) as listed ({}))",
        read.join(", "),
        lists.join(", "),
        names.join(", "),
    );
    with(text, &each)
}

fn with(text: &str, each: &str) -> String {
    let text = text.trim_start();
    if let Some(rest) = text.strip_prefix("with recursive ") {
        format!("with recursive {each}, {rest}")
    } else if let Some(rest) = text.strip_prefix("with ") {
        format!("with {each}, {rest}")
    } else {
        format!("with {each}\n{text}")
    }
}

impl Text {
    /// Numbers the parameters. A repeated name keeps its number.
    fn new(text: &str, mark: char, each: Vec<Vec<(String, SqlType)>>) -> Self {
        let mut sql = String::with_capacity(text.len());
        let mut names: Vec<String> = Vec::new();
        let mut rest = text;
        // Quoted text and casts (`::`) contain no parameters.
        while let Some(at) = rest.find([':', '\'']) {
            let (before, from) = rest.split_at(at);
            sql.push_str(before);
            if let Some(after) = from.strip_prefix('\'') {
                let end = after.find('\'').map_or(after.len(), |end| end + 1);
                sql.push('\'');
                sql.push_str(&after[..end]);
                rest = &after[end..];
                continue;
            }
            let is_of_a_name = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_';
            if let Some(after) = from.strip_prefix("::") {
                let end = after.find(|c| !is_of_a_name(c)).unwrap_or(after.len());
                if mark == '$' {
                    sql.push_str("::");
                    sql.push_str(&after[..end]);
                }
                rest = &after[end..];
                continue;
            }
            let after = &from[1..];
            let end = after.find(|c| !is_of_a_name(c)).unwrap_or(after.len());
            let name = &after[..end];
            let known = names.iter().position(|known| known == name);
            let number = known.unwrap_or_else(|| {
                names.push(name.to_owned());
                names.len() - 1
            });
            sql.push(mark);
            sql.push_str(&(number + 1).to_string());
            rest = &after[end..];
        }
        sql.push_str(rest);
        Self { sql, names, each }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_repeated_parameter_keeps_its_number() {
        let statement = sql("select :a::uuid, ':b', :b_1 from t where x = :a");
        let text = statement.text(Dialect::Postgres);
        assert_eq!(text.sql, "select $1::uuid, ':b', $2 from t where x = $1");
        assert_eq!(text.names, ["a", "b_1"]);
        assert_eq!(
            statement.text(Dialect::Sqlite).sql,
            "select ?1, ':b', ?2 from t where x = ?1"
        );
    }

    #[test]
    fn a_line_may_apply_to_one_database_only() {
        let statement = sql("select max(a) -- sqlite\nselect greatest(a) -- postgres\nfrom t");
        assert_eq!(statement.text(Dialect::Sqlite).sql, "select max(a)\nfrom t");
        assert_eq!(
            statement.text(Dialect::Postgres).sql,
            "select greatest(a)\nfrom t"
        );
    }

    #[test]
    fn joins_are_spelled_for_each_database() {
        let statement = sql("
select p.id, q.name
from each_of as e
ordered join parts as p
  on p.id = e.id
fenced left join names as q
  on q.id = p.id
  and q.kind = 1 -- postgres
where true");
        let sqlite = "select p.id, q.name\nfrom each_of as e\ncross join parts as p\n  on p.id = e.id\n\
             left join names as q\n  on q.id = p.id\nwhere true";
        assert_eq!(statement.text(Dialect::Sqlite).sql, sqlite);
        let postgres = "select p.id, q.name\nfrom each_of as e\njoin parts as p\n  on p.id = e.id\n\
             left join lateral (\nselect q.*\nfrom names as q\nwhere q.id = p.id\nand q.kind = 1\n\
             offset 0\n) as q on true\nwhere true";
        assert_eq!(statement.text(Dialect::Postgres).sql, postgres);
    }

    #[test]
    fn rows_become_a_table_before_the_statement() {
        let statement = sql("each (id uuid, props json)
update t set props = each.props from each where t.id = each.id");
        assert_eq!(
            statement.text(Dialect::Sqlite).sql,
            "with each (id, props) as (values (?1, ?2))\n\
             update t set props = each.props from each where t.id = each.id"
        );
        assert_eq!(
            statement.text(Dialect::Postgres).sql,
            "with each as (select id, props::json as props \
             from unnest($1::uuid[], $2::text[]) as listed (id, props))\n\
             update t set props = each.props from each where t.id = each.id"
        );
        let statement = sql("each (id uuid)\nwith a as (select 1) select * from a, each");
        assert!(
            statement
                .text(Dialect::Sqlite)
                .sql
                .starts_with("with each (id) as (values (?1)), a as (select 1)")
        );
    }
}
