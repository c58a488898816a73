//! The migrations of both databases, in order: the first ones have a file for each database, the others
//! one for both. In such a file `{time}` stands for the type of a column (a word of [`SqlType`], or
//! `{jsonb}`), and a line may end in `-- sqlite` or `-- postgres`, as in a statement. New ones are added;
//! existing ones are never edited.

use std::sync::LazyLock;

use crate::prelude::*;
use crate::sql::{Dialect, for_dialect};

include!(concat!(env!("OUT_DIR"), "/migrations.rs"));

pub static SQLITE: LazyLock<Migrations> = LazyLock::new(|| Migrations {
    texts: of(&OF_SQLITE, &OF_BOTH, Dialect::Sqlite),
    otherwise: "or start with another data folder",
});
pub static POSTGRES: LazyLock<Migrations> = LazyLock::new(|| Migrations {
    texts: of(&OF_POSTGRES, &OF_BOTH, Dialect::Postgres),
    otherwise: "then set store.url to another database, or have its owner run `drop schema leadhost cascade` and start again",
});

/// The schema version of a database with the first migration. Versions from before the first
/// release counted from 1 and had other tables.
const FIRST: i64 = 100;

pub struct Migrations {
    pub texts: Vec<String>,
    /// What to do with a database from before the first release whose contents are not needed.
    otherwise: &'static str,
}

impl Migrations {
    /// Returns the newest schema version.
    pub fn newest(&self) -> i64 {
        FIRST - 1 + i64::try_from(self.texts.len()).unwrap_or(i64::MAX - FIRST)
    }

    /// Returns those that a database with this schema version lacks, each with the version that it leads
    /// to.
    pub fn missing(&self, found: i64) -> Result<impl Iterator<Item = (i64, &str)>, StoreError> {
        self.refuse_other(found)?;
        let all = (FIRST..).zip(self.texts.iter().map(String::as_str));
        Ok(all.filter(move |(version, _)| *version > found))
    }

    /// Refuses a database that this program cannot serve, and says what to do.
    pub fn refuse_other(&self, found: i64) -> Result<(), StoreError> {
        if found > self.newest() {
            return Err(StoreError::Open(format!(
                "the database has schema version {found}, but this program supports versions up to {}: start the newer version that wrote it",
                self.newest()
            )));
        }
        self.refuse_old(found)
    }

    /// Refuses a database from before the first release.
    pub fn refuse_old(&self, found: i64) -> Result<(), StoreError> {
        if found == 0 || found >= FIRST {
            return Ok(());
        }
        Err(StoreError::Open(format!(
            "the database was written by a version from before the first release, which this version cannot read (schema version {found}): export what you need with that version, {}",
            self.otherwise
        )))
    }
}

fn of(own: &[&str], both: &[&str], dialect: Dialect) -> Vec<String> {
    let own = own.iter().map(|text| (*text).to_owned());
    let both = both.iter().map(|text| rendered(text, dialect));
    own.chain(both).collect()
}

fn rendered(text: &str, dialect: Dialect) -> String {
    let jsonb = match dialect {
        Dialect::Sqlite => SqlType::Json.in_a_table(dialect),
        Dialect::Postgres => "jsonb",
    };
    let text = for_dialect(text, dialect).replace("{jsonb}", jsonb);
    SqlType::ALL.into_iter().fold(text, |text, kind| {
        let word = format!("{{{}}}", kind.as_str());
        text.replace(&word, kind.in_a_table(dialect))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_migration_for_both_is_rendered_for_each() {
        let text = "alter table t add column a {time};\n\
                    create index i on t (a); -- postgres\n\
                    alter table t add column b {jsonb} not null default '[]';\n";
        let of = |dialect| of(&["begin"], &[text], dialect);
        let sqlite = "alter table t add column a integer;\n\
                      alter table t add column b text not null default '[]';";
        let postgres = "alter table t add column a timestamptz;\n\
                        create index i on t (a);\n\
                        alter table t add column b jsonb not null default '[]';";
        assert_eq!(of(Dialect::Sqlite), ["begin", sqlite]);
        assert_eq!(of(Dialect::Postgres), ["begin", postgres]);
    }

    #[test]
    fn a_database_of_another_version_is_refused_and_says_why() {
        for (migrations, start_again) in [
            (&SQLITE, "another data folder"),
            (&POSTGRES, "another database"),
        ] {
            let newest = migrations.newest();
            let missing = |found| migrations.missing(found).map(Iterator::count);
            let all = migrations.texts.len();
            let counts = [0, 100, newest].map(|found| missing(found).ok());
            assert_eq!(counts, [Some(all), Some(all - 1), Some(0)]);
            for (found, says) in [
                (newest + 1, "start the newer version"),
                (i32::MAX.into(), "start the newer version"),
                (1, "before the first release"),
                (14, "(schema version 14)"),
                (99, start_again),
                (-1, "before the first release"),
            ] {
                let refused = missing(found).expect_err("it is refused").to_string();
                assert!(refused.contains(says), "{found}: {refused}");
            }
        }
    }
}
