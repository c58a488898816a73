//! The migrations of both databases, in order: the first ones have a file for each database, the others
//! one for both. In such a file `{time}` stands for the type of a column (a word of [`SqlType`], or
//! `{jsonb}`), and a line may end in `-- sqlite` or `-- postgres`, as in a statement. New ones are added;
//! existing ones are never edited.

use std::sync::LazyLock;

use crate::sql::{Dialect, SqlType, for_dialect};

include!(concat!(env!("OUT_DIR"), "/migrations.rs"));

pub static SQLITE: LazyLock<Vec<String>> =
    LazyLock::new(|| of(&OF_SQLITE, &OF_BOTH, Dialect::Sqlite));
pub static POSTGRES: LazyLock<Vec<String>> =
    LazyLock::new(|| of(&OF_POSTGRES, &OF_BOTH, Dialect::Postgres));

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
}
