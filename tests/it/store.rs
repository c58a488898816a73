//! What every store promises, a test a clause. A clause is a function of a
//! [`world::World`]; the list below runs each of them on each store, and a
//! clause that is not listed is dead code, which the lints refuse.

mod accept;
mod world;

use std::sync::Arc;

use leadhost::clock::ManualClock;
use leadhost::store::sqlite;

/// Runs every clause on the stores that are named: a module a store, and the
/// function that makes a world on it.
macro_rules! clauses {
    ($($store:ident = $open:path),+ ; $list:tt) => {
        $( clauses!(@store $store, $open, $list); )+
    };
    (@store $store:ident, $open:path, { $( $area:ident : $( $clause:ident ),+ ; )+ }) => {
        mod $store {
            $( mod $area { $(
                #[tokio::test]
                async fn $clause() {
                    crate::store::$area::$clause(&$open().await).await;
                }
            )+ } )+
        }
    };
}

clauses! {
    on_sqlite = crate::store::on_sqlite_file;
    {
        accept:
            a_lead_becomes_a_contact_and_a_deal,
            an_empty_body_and_odd_characters_come_back_as_they_were;
    }
}

/// A world on a new SQLite file, with a clock that stands.
async fn on_sqlite_file() -> world::World {
    let folder = tempfile::tempdir().expect("a folder");
    let clock = ManualClock::at(world::START);
    let store = sqlite::open(&folder.path().join("leadhost.db"), Arc::clone(&clock) as _)
        .await
        .expect("a new store opens");
    world::World::of(store, clock, Box::new(folder)).await
}
