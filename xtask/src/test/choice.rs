//! Which integration tests belong to the small size of the suite, and which start first.

const ON_POSTGRES: &str = "::on_postgres::";

/// What PostgreSQL does differently: several hosts, policies, the status of a commit, leases, rates, migrations.
/// The small size has these areas on both stores; the other tests on PostgreSQL repeat through HTTP what `store`
/// proves of it.
#[rustfmt::skip]
const DIFFERENT_ON_POSTGRES: [&str; 13] = [
    "admission::rates::", "analytics::job::", "channels::routes::", "faults::schema::", "fence::", "fleet::",
    "ingest::dedupe::", "messaging::idempotency::", "moving::", "notifications::repeats::",
    "products::import::", "store::", "tenants::",
];

/// Tests of guests that the registries of npm and Python are needed for.
const WITH_INTERPRETERS: [&str; 3] = ["javascript", "python", "an_interpreter"];

/// Tests that take long, so that none is left alone at the end.
#[rustfmt::skip]
const LONG: [&str; 14] = [
    "analytics::oracle::", "bad_days::", "cli::", "crash::", "faults::", "fence::",
    "messaging_faults::", "moving::", "plugins::connected::", "plugins::dev::", "plugins::hostile::",
    "plugins::rollout_sends::", "plugins::schemas::", "power_cut::",
];

#[derive(Default)]
pub struct Choice {
    pub long: Vec<String>,
    pub other: Vec<String>,
    /// Those of PostgreSQL that the small size leaves to the full one.
    pub left_on_postgres: usize,
    /// Those of guests in JavaScript and Python.
    pub left_with_interpreters: usize,
}

pub fn choose(names: Vec<String>, is_full: bool) -> Choice {
    let mut choice = Choice::default();
    for name in names {
        if !is_full && is_left_on_postgres(&name) {
            choice.left_on_postgres += 1;
        } else if !is_full && WITH_INTERPRETERS.iter().any(|word| name.contains(word)) {
            choice.left_with_interpreters += 1;
        } else if LONG.iter().any(|start| name.starts_with(start)) {
            choice.long.push(name);
        } else {
            choice.other.push(name);
        }
    }
    choice
}

fn is_left_on_postgres(name: &str) -> bool {
    let is_different = DIFFERENT_ON_POSTGRES
        .iter()
        .any(|area| name.starts_with(area));
    name.contains(ON_POSTGRES) && !is_different
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_small_size_has_postgresql_where_it_differs_and_the_full_one_everywhere() {
        let names = [
            "gateway::find::on_sqlite::a",
            "gateway::find::on_postgres::a",
            "fleet::keys::on_postgres::a",
            "languages::the_python_example_answers",
        ];
        let choose = |is_full| choose(names.map(str::to_owned).to_vec(), is_full);
        let small = choose(false);
        assert_eq!(small.other, [names[0], names[2]]);
        assert_eq!(
            (small.left_on_postgres, small.left_with_interpreters),
            (1, 1)
        );
        assert_eq!(choose(true).other, names);
        let long = super::choose(vec!["crash::on_sqlite::a".to_owned()], false);
        assert_eq!((long.long.len(), long.other.len()), (1, 0));
    }
}
