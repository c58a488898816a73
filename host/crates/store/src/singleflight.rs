//! Single-flight reads: identical questions to the store at the same moment share one
//! query. Cached values expire for all callers at the same time, and without this a
//! thousand callers would take every connection to the database.
//!
//! The first caller asks; the others take its answer or its error. A question that began
//! too long ago is not joined.

use std::hash::Hash;
use std::sync::PoisonError;
use std::time::Instant;

use crate::prelude::*;
use tokio::sync::watch;

/// A question older than this is asked again instead of joined. Caches keep an answer for
/// as long.
const YOUNG: Duration = Duration::from_secs(1);

pub struct SingleFlight<K, V>(Mutex<HashMap<K, UnderWay<V>>>);

struct UnderWay<V> {
    since: Instant,
    result: watch::Receiver<SharedResult<V>>,
}

/// None: not answered yet.
type SharedResult<V> = Option<Result<V, StoreError>>;

/// The answer to one caller.
#[derive(Debug)]
pub struct SingleFlightAnswer<V> {
    pub value: V,
    /// Set for one of the callers: it may cache the value for others.
    pub may_be_cached: bool,
}

impl<K, V> Default for SingleFlight<K, V> {
    fn default() -> Self {
        Self(Mutex::default())
    }
}

impl<K: Hash + Eq + Clone, V: Clone> SingleFlight<K, V> {
    /// Asks the question, or joins it if it is already under way.
    pub async fn ask(
        &self,
        key: &K,
        question: impl Future<Output = Result<V, StoreError>>,
    ) -> Result<SingleFlightAnswer<V>, StoreError> {
        loop {
            let mut result = match self.turn(key) {
                FlightRole::Leader(leader) => return leader.finish(question.await),
                FlightRole::Follower(result) => result,
            };
            // This fails if the asking caller has given up.
            let _ = result.changed().await;
            match &*result.borrow() {
                Some(Ok(value)) => {
                    return Ok(SingleFlightAnswer {
                        value: value.clone(),
                        may_be_cached: false,
                    });
                }
                Some(Err(error)) => return Err(error.again()),
                None => {}
            }
        }
    }

    /// Discards the questions under way, so that the next caller asks again.
    pub fn forget(&self) {
        self.under_way().clear();
    }

    fn turn(&self, key: &K) -> FlightRole<'_, K, V> {
        let mut all = self.under_way();
        if let Some(asked) = all.get(key)
            && asked.since.elapsed() < YOUNG
        {
            return FlightRole::Follower(asked.result.clone());
        }
        let (sender, result) = watch::channel(None);
        let since = Instant::now();
        all.insert(key.clone(), UnderWay { since, result });
        FlightRole::Leader(LeaderGuard {
            flights: self,
            key: key.clone(),
            sender,
        })
    }
}

impl<K, V> SingleFlight<K, V> {
    fn under_way(&self) -> std::sync::MutexGuard<'_, HashMap<K, UnderWay<V>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

enum FlightRole<'a, K: Hash + Eq, V> {
    Leader(LeaderGuard<'a, K, V>),
    Follower(watch::Receiver<SharedResult<V>>),
}

/// A question under way. Dropping it ends the question.
struct LeaderGuard<'a, K: Hash + Eq, V> {
    flights: &'a SingleFlight<K, V>,
    key: K,
    sender: watch::Sender<SharedResult<V>>,
}

impl<K: Hash + Eq, V: Clone> LeaderGuard<'_, K, V> {
    fn finish(self, result: Result<V, StoreError>) -> Result<SingleFlightAnswer<V>, StoreError> {
        let copy = match &result {
            Ok(value) => Ok(value.clone()),
            Err(error) => Err(error.again()),
        };
        self.sender.send_replace(Some(copy));
        result.map(|value| SingleFlightAnswer {
            value,
            may_be_cached: self.is_among(&self.flights.under_way()),
        })
    }
}

impl<K: Hash + Eq, V> LeaderGuard<'_, K, V> {
    fn is_among(&self, all: &HashMap<K, UnderWay<V>>) -> bool {
        all.get(&self.key)
            .is_some_and(|asked| asked.result.same_channel(&self.sender.subscribe()))
    }
}

impl<K: Hash + Eq, V> Drop for LeaderGuard<'_, K, V> {
    fn drop(&mut self) {
        let mut all = self.flights.under_way();
        if self.is_among(&all) {
            all.remove(&self.key);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::future::{pending, ready};

    use tokio::sync::oneshot;

    use super::*;

    #[tokio::test]
    async fn the_first_caller_asks_and_the_others_share_its_answer() {
        let flights = SingleFlight::default();
        let (answer, answered) = oneshot::channel();
        let first = flights.ask(&1, async { Ok(answered.await.expect("an answer")) });
        let second = flights.ask(&1, async { unreachable!("it is asked once") });
        let other = flights.ask(&2, ready(Ok("other")));
        let (first, second, other, _) =
            tokio::join!(first, second, other, async { answer.send("one") });
        let (first, second) = (first.expect("well"), second.expect("well"));
        assert_eq!((first.value, second.value), ("one", "one"));
        assert!(first.may_be_cached && !second.may_be_cached);
        assert_eq!(other.expect("well").value, "other");
        let again = flights.ask(&1, ready(Ok("two"))).await;
        assert_eq!(again.expect("well").value, "two");
    }

    #[tokio::test]
    async fn a_failure_is_shared_and_not_kept() {
        let flights = SingleFlight::<_, ()>::default();
        let (fail, failed) = oneshot::channel();
        let first = flights.ask(&1, async { Err(failed.await.expect("an answer")) });
        let second = flights.ask(&1, pending());
        let (first, second, _) = tokio::join!(first, second, async { fail.send(StoreError::Busy) });
        assert!(matches!(first, Err(StoreError::Busy)));
        assert!(matches!(second, Err(StoreError::Busy)));
        assert!(flights.ask(&1, ready(Ok(()))).await.is_ok());
    }

    #[tokio::test]
    async fn the_next_caller_asks_an_abandoned_question() {
        let flights = SingleFlight::default();
        {
            let mut first = std::pin::pin!(flights.ask(&1, pending()));
            tokio::select! {
                biased;
                _ = &mut first => unreachable!("it is never answered"),
                () = ready(()) => {}
            }
        }
        assert_eq!(flights.ask(&1, ready(Ok(1))).await.expect("well").value, 1);
    }

    #[tokio::test]
    async fn a_forgotten_question_is_asked_again_and_its_answer_not_kept() {
        let flights = SingleFlight::default();
        let (answer, answered) = oneshot::channel();
        let before = flights.ask(&1, async { Ok(answered.await.expect("an answer")) });
        let after = async {
            flights.forget();
            let after = flights.ask(&1, ready(Ok("new"))).await.expect("well");
            let _ = answer.send("old");
            after
        };
        let (before, after) = tokio::join!(before, after);
        assert!(!before.expect("well").may_be_cached);
        assert!(after.may_be_cached && after.value == "new");
    }
}
