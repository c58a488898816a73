//! Circuit breakers: versions that are not called for a connection because they just failed
//! for it several times in a row, by running out of time or memory, by a trap, or by an
//! answer that is too large.
//!
//! Failures of functions that different parties trigger are counted separately, so that
//! requests for a handshake cannot stop leads. Each digest, lane and function has two
//! circuits. The inline circuit opens after calls that exceeded the time inside a request:
//! then requests skip the call, and the worker, which has more time, makes it as usual. The
//! common circuit opens after faults: then only the worker calls, one call at a time, after
//! growing pauses. A successful call closes it, and a successful call inside a request
//! closes both. A new version has a new digest, and so closed circuits.
//!
//! Deliveries that have not failed yet do not wait behind those that do: the worker tries each of
//! them once, for less time than inside a request. So many of these tries may fail, and then some a second.
//!
//! Conversions that have exceeded the time inside a request may never end. Until the first of them has
//! answered the worker, it makes one at a time.

use super::budget::CallBudget;
use crate::prelude::*;
use leadhost_domain::clock::SharedClock;
use leadhost_domain::plugin::CircuitFunction;

#[derive(Clone, Debug)]
pub struct OpenCircuit {
    pub digest: Digest,
    pub lane: String,
    pub function: CircuitFunction,
    /// Only requests skip the call; the worker still makes it.
    pub inline_only: bool,
    pub reason: String,
    pub failures: u32,
    pub since: Micros,
    pub until: Micros,
}

pub struct Breakers {
    clock: SharedClock,
    stay_closed: AtomicBool,
    pairs: Mutex<HashMap<CircuitKey, Pair>>,
}

/// The time that failing first tries may use ahead.
const ALLOWANCE: Duration = limits::FIRST_TRY_EVERY.saturating_mul(limits::FIRST_TRIES_AT_ONCE);

type CircuitKey = (Digest, Arc<str>, CircuitFunction);

#[derive(Default)]
struct Pair {
    inline: Circuit,
    all: Circuit,
    /// The worker's one call for a pair that is in doubt is in progress.
    probing: bool,
    /// The worker has had an answer since the last fault: calls that take longer than a request end.
    ends: bool,
    /// Calls rejected since the common circuit opened: each gets a later time for its
    /// retry, so that they do not all return at once.
    turned_away: u32,
    /// The time up to which first tries that failed have used their allowance.
    first_tries: Micros,
}

#[derive(Default)]
struct Circuit {
    failures: u32,
    open: Option<Opened>,
}

struct Opened {
    since: Micros,
    until: Micros,
    reason: String,
}

impl Opened {
    fn until(&self, now: Micros) -> Micros {
        let most = limits::BREAKER_LONGEST;
        if self.until.is_ahead(now, most) {
            self.until
        } else {
            now
        }
    }
}

impl Circuit {
    fn fail(&mut self, now: Micros, reason: String) {
        self.failures = self.failures.saturating_add(1);
        let Some(beyond) = self.failures.checked_sub(limits::BREAKER_FAILURES) else {
            return;
        };
        let pause = limits::BREAKER_FIRST
            .saturating_mul(1 << beyond.min(16))
            .min(limits::BREAKER_LONGEST);
        let since = self.open.as_ref().map_or(now, |open| open.since);
        self.open = Some(Opened {
            since,
            until: now.plus(pause),
            reason,
        });
    }
}

impl Breakers {
    pub fn new(clock: SharedClock) -> Self {
        Self {
            clock,
            stay_closed: AtomicBool::new(false),
            pairs: Mutex::default(),
        }
    }

    /// Closes the circuits of a version that is no longer active.
    pub fn forget(&self, digest: &Digest) {
        self.lock().retain(|(of, lane, function), pair| {
            if of == digest && pair.is_open() {
                tracing::info!(
                    digest = of.short(),
                    connection = hint(lane),
                    function = function.as_str(),
                    "circuit closed: the failing plugin version was replaced"
                );
            }
            of != digest
        });
    }

    /// Admits a call. Its result must be passed to [`Pass::report`].
    pub fn admit(
        &self,
        digest: &Digest,
        lane: &str,
        function: CircuitFunction,
        budget: CallBudget,
    ) -> Result<Pass<'_>, CallError> {
        let key = (digest.clone(), Arc::from(lane), function);
        let mut pass = Pass {
            breakers: self,
            key,
            budget,
            probe: false,
            reported: false,
        };
        let mut pairs = self.lock();
        let Some(pair) = pairs.get_mut(&pass.key) else {
            return Ok(pass);
        };
        let now = self.clock.now();
        match budget {
            CallBudget::Trial | CallBudget::Operator | CallBudget::Control => {}
            CallBudget::FirstTry => {
                if !pair.may_try_first(now) {
                    return Err(pair.turned_away(now, "too many deliveries fail"));
                }
            }
            CallBudget::Inline | CallBudget::Brief => {
                if let Some(open) = &pair.all.open {
                    let (until, reason) = (open.until(now), open.reason.clone());
                    let is_tried = function == CircuitFunction::Delivery && pair.may_try_first(now);
                    return Err(if is_tried {
                        CallError::CircuitOpen {
                            reason,
                            until: now.plus(limits::BREAKER_FIRST),
                            inline_only: false,
                        }
                    } else {
                        pair.turned_away(until, &reason)
                    });
                }
                if let Some(open) = pair
                    .inline
                    .open
                    .as_ref()
                    .filter(|open| open.until(now) > now)
                {
                    // The worker may call at once.
                    let reason = open.reason.clone();
                    return Err(CallError::CircuitOpen {
                        reason,
                        until: now,
                        inline_only: true,
                    });
                }
            }
            CallBudget::Worker | CallBudget::Leased
                if pair.all.failures > 0 || budget == CallBudget::Leased && pair.is_in_doubt() =>
            {
                let open = pair.all.open.as_ref();
                let until = open.map_or(now, |open| open.until(now));
                if pair.probing || until > now {
                    let reason = match open {
                        Some(open) => open.reason.clone(),
                        None if pair.all.failures > 0 => ONE_AFTER_FAILURE.to_owned(),
                        None => ONE_OF_LONG.to_owned(),
                    };
                    let next = now.plus(limits::BREAKER_FIRST);
                    return Err(pair.turned_away(until.max(next), &reason));
                }
                pair.probing = true;
                pass.probe = true;
            }
            CallBudget::Worker | CallBudget::Leased => {}
        }
        Ok(pass)
    }

    /// Returns whether the last call failed, of those that count, or calls take too long for a request and
    /// none of them has ended yet.
    pub fn is_in_doubt(&self, digest: &Digest, lane: &str, function: CircuitFunction) -> bool {
        let key = (digest.clone(), Arc::from(lane), function);
        self.lock().get(&key).is_some_and(Pair::is_in_doubt)
    }

    /// Opens no circuit from now on: each call is made, however many have failed.
    pub fn stay_closed(&self) {
        self.stay_closed.store(true, Ordering::Relaxed);
    }

    /// Closes all circuits: the cause of the failures may be corrected.
    pub fn close_all(&self) {
        self.lock().clear();
    }

    /// Returns the open circuits. Each pair of circuits is listed once; `inline_only` marks
    /// those that stop only requests.
    pub fn open(&self) -> Vec<OpenCircuit> {
        let mut list: Vec<OpenCircuit> = self
            .lock()
            .iter()
            .filter_map(|((digest, lane, function), pair)| {
                let (circuit, inline_only) = match (&pair.all.open, &pair.inline.open) {
                    (Some(_), _) => (&pair.all, false),
                    (None, Some(_)) => (&pair.inline, true),
                    (None, None) => return None,
                };
                let open = circuit.open.as_ref().expect("looked at above");
                Some(OpenCircuit {
                    digest: digest.clone(),
                    lane: lane.to_string(),
                    function: *function,
                    inline_only,
                    reason: open.reason.clone(),
                    failures: circuit.failures,
                    since: open.since,
                    until: open.until,
                })
            })
            .collect();
        list.sort_by_key(|open| (open.digest.clone(), open.lane.clone(), open.function));
        list
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<CircuitKey, Pair>> {
        self.pairs.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Why a call waits for another whose result decides what comes of both.
const ONE_AFTER_FAILURE: &str = "it just failed; one call at a time tests whether it works again";
const ONE_OF_LONG: &str =
    "its calls take too long for a request; until one has ended, one is made at a time";

impl Pair {
    fn is_in_doubt(&self) -> bool {
        self.all.failures > 0 || (self.inline.failures > 0 && !self.ends)
    }

    fn may_try_first(&self, now: Micros) -> bool {
        self.after_first_try(now) <= now.plus(ALLOWANCE)
    }

    fn after_first_try(&self, now: Micros) -> Micros {
        // Some are in progress when the allowance is used up.
        let is_current = self.first_tries.is_ahead(now, 2 * ALLOWANCE);
        let used = if is_current { self.first_tries } else { now };
        used.plus(limits::FIRST_TRY_EVERY)
    }

    fn turned_away(&mut self, until: Micros, reason: &str) -> CallError {
        let place = u64::from(self.turned_away) % limits::BREAKER_SPREAD.as_secs();
        self.turned_away = self.turned_away.wrapping_add(1);
        CallError::CircuitOpen {
            reason: reason.to_owned(),
            until: until.plus(Duration::from_secs(place)),
            inline_only: false,
        }
    }
}

pub struct Pass<'a> {
    breakers: &'a Breakers,
    key: CircuitKey,
    budget: CallBudget,
    probe: bool,
    reported: bool,
}

impl Pass<'_> {
    /// Returns whether a first try closes the circuit: if it succeeds so long after the pause that no
    /// delivery is left that has failed. One that fails uses the allowance.
    fn ends_pause<T>(&self, answer: &Result<T, CallError>) -> bool {
        let now = self.breakers.clock.now();
        let mut pairs = self.breakers.lock();
        let Some(pair) = pairs.get_mut(&self.key) else {
            return false;
        };
        match answer {
            Ok(_) => {
                let open = pair.all.open.as_ref();
                open.is_some_and(|open| open.until.plus(limits::BREAKER_SPREAD) <= now)
            }
            Err(error) => {
                if !error.is_not_made() {
                    pair.first_tries = pair.after_first_try(now);
                }
                false
            }
        }
    }

    /// Reports the result of the admitted call, which opens or closes the circuits. Trials count for
    /// nothing. Nor does a failed control, which is made although the circuit is open: it would lengthen
    /// the pause for deliveries that are not compared.
    pub fn report<T>(mut self, answer: &Result<T, CallError>) {
        self.reported = true;
        let is_counted = match self.budget {
            CallBudget::Trial => false,
            CallBudget::FirstTry => self.ends_pause(answer),
            CallBudget::Control => answer.is_ok(),
            _ => true,
        };
        if !is_counted || self.breakers.stay_closed.load(Ordering::Relaxed) {
            return;
        }
        let mut pairs = self.breakers.lock();
        let now = self.breakers.clock.now();
        match answer {
            Ok(_) => {
                let Some(pair) = pairs.get_mut(&self.key) else {
                    return;
                };
                let was_open = pair.is_open();
                pair.all = Circuit::default();
                pair.probing &= !self.probe;
                pair.turned_away = 0;
                // A call that fits the worker's budget may still be too long for a request.
                if self.budget.is_short() {
                    pair.inline = Circuit::default()
                } else {
                    pair.ends = true
                }
                if was_open && !pair.is_open() {
                    tracing::info!(
                        digest = self.key.0.short(),
                        connection = hint(&self.key.1),
                        function = self.key.2.as_str(),
                        "circuit closed: the plugin answers again"
                    );
                }
                if pair.inline.failures == 0 && !pair.ends && !pair.probing {
                    pairs.remove(&self.key);
                }
            }
            Err(error) => {
                let inline = matches!(error, CallError::OutOfTime { inline: true, .. });
                let fault = matches!(
                    error,
                    CallError::Trapped { .. }
                        | CallError::OutOfTime { inline: false, .. }
                        | CallError::OutOfMemory { .. }
                        | CallError::TooMuchOutput { .. }
                );
                if inline || fault {
                    let pair = room_for(&mut pairs, &self.key);
                    pair.ends &= inline;
                    let circuit = if inline {
                        &mut pair.inline
                    } else {
                        &mut pair.all
                    };
                    let was_open = circuit.open.is_some();
                    circuit.fail(now, error.with_type());
                    if !was_open && circuit.open.is_some() {
                        tracing::warn!(
                            digest = self.key.0.short(),
                            connection = hint(&self.key.1),
                            function = self.key.2.as_str(),
                            inline_only = inline,
                            %error,
                            "circuit opened: the plugin failed several times in a row and is called less often for this connection"
                        );
                    }
                }
                if self.probe
                    && let Some(pair) = pairs.get_mut(&self.key)
                {
                    pair.probing = false;
                }
            }
        }
    }
}

/// Returns the beginning of a connection's id. The whole id is the secret part of its
/// address.
fn hint(lane: &str) -> String {
    let beginning: String = lane.chars().take(4).collect();
    format!("{beginning}…")
}

impl Drop for Pass<'_> {
    fn drop(&mut self) {
        // The caller was dropped.
        if self.probe
            && !self.reported
            && let Some(pair) = self.breakers.lock().get_mut(&self.key)
        {
            pair.probing = false;
        }
    }
}

impl Pair {
    fn is_open(&self) -> bool {
        self.all.open.is_some() || self.inline.open.is_some()
    }
}

fn room_for<'a>(pairs: &'a mut HashMap<CircuitKey, Pair>, key: &CircuitKey) -> &'a mut Pair {
    if pairs.len() >= limits::BREAKERS_KEPT && !pairs.contains_key(key) {
        // Pairs with a few failures are counted again soon enough.
        pairs.retain(|_, pair| pair.is_open());
        if pairs.len() >= limits::BREAKERS_KEPT {
            pairs.clear();
        }
    }
    pairs.entry(key.clone()).or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use leadhost_domain::clock::ManualClock;

    struct World {
        clock: Arc<ManualClock>,
        breakers: Breakers,
        digest: Digest,
    }

    fn world() -> World {
        let clock = ManualClock::at(Micros(1_000_000_000_000));
        World {
            breakers: Breakers::new(Arc::<ManualClock>::clone(&clock)),
            clock,
            digest: Digest::compute(b"a component"),
        }
    }

    impl World {
        fn call(&self, budget: CallBudget, answer: Result<(), CallError>) -> Result<(), CallError> {
            let pass = self.admit(budget)?;
            pass.report(&answer);
            answer
        }

        fn admit(&self, budget: CallBudget) -> Result<Pass<'_>, CallError> {
            self.breakers
                .admit(&self.digest, "lane", CircuitFunction::Delivery, budget)
        }

        fn faults(&self, count: u32) {
            for _ in 0..count {
                self.clock.advance(limits::BREAKER_LONGEST);
                let error = self
                    .call(CallBudget::Worker, Err(trap()))
                    .expect_err("a fault");
                assert_eq!(error, trap(), "the call is made");
            }
        }

        fn until(&self, budget: CallBudget) -> Option<Micros> {
            match self.admit(budget) {
                Err(CallError::CircuitOpen { until, .. }) => Some(until),
                Err(error) => panic!("{error}"),
                Ok(_) => None,
            }
        }

        fn now(&self) -> Micros {
            self.breakers.clock.now()
        }
    }

    fn trap() -> CallError {
        CallError::Trapped {
            message: "as asked".to_owned(),
            log: Vec::new(),
        }
    }

    fn late() -> CallError {
        CallError::OutOfTime {
            budget: Duration::from_millis(50),
            place: String::new(),
            inline: true,
            log: Vec::new(),
        }
    }

    #[test]
    fn circuits_that_stay_closed_admit_every_call() {
        let world = world();
        world.breakers.stay_closed();
        world.faults(2 * limits::BREAKER_FAILURES);
        assert_eq!(world.until(CallBudget::Inline), None);
        assert_eq!(world.until(CallBudget::Worker), None);
        assert!(world.breakers.open().is_empty());
    }

    #[test]
    fn after_several_faults_in_a_row_requests_skip_the_call() {
        let world = world();
        world.faults(limits::BREAKER_FAILURES - 1);
        assert_eq!(world.until(CallBudget::Inline), None);
        world.faults(1);
        assert!(world.until(CallBudget::Inline).is_some());
        let other = Digest::compute(b"another component");
        let admits = |digest: &Digest, lane: &str, function| {
            let admitted = world
                .breakers
                .admit(digest, lane, function, CallBudget::Inline);
            admitted.is_ok()
        };
        assert!(admits(&other, "lane", CircuitFunction::Delivery));
        assert!(admits(&world.digest, "another", CircuitFunction::Delivery));
        assert!(admits(&world.digest, "lane", CircuitFunction::Handshake));
    }

    #[test]
    fn the_worker_probes_with_one_call_at_a_time_after_the_pause() {
        let world = world();
        world.faults(limits::BREAKER_FAILURES);
        let until = world.until(CallBudget::Worker).expect("a pause");
        assert!(until > world.now());
        world.clock.set(until);
        let probe = world.admit(CallBudget::Worker);
        let probe = probe.expect("the pause is over");
        assert!(world.until(CallBudget::Worker).is_some(), "one at a time");
        assert!(world.until(CallBudget::Inline).is_some());
        probe.report::<()>(&Err(trap()));
        assert!(world.until(CallBudget::Worker).is_some(), "a longer pause");
    }

    #[test]
    fn a_clock_that_goes_backwards_ends_the_pause() {
        let world = world();
        world.faults(limits::BREAKER_FAILURES);
        assert!(world.until(CallBudget::Worker).is_some());
        world.clock.advance_seconds(-3_600);
        assert_eq!(world.until(CallBudget::Worker), None);
    }

    #[test]
    fn a_probe_whose_caller_is_dropped_makes_room_for_another() {
        let world = world();
        world.faults(limits::BREAKER_FAILURES);
        world.clock.advance(limits::BREAKER_LONGEST);
        drop(world.admit(CallBudget::Worker));
        assert_eq!(world.until(CallBudget::Worker), None);
    }

    #[test]
    fn an_answer_closes_the_circuit() {
        let world = world();
        world.faults(limits::BREAKER_FAILURES + 5);
        assert_eq!(world.breakers.open().len(), 1);
        world.clock.advance(limits::BREAKER_LONGEST);
        world.call(CallBudget::Worker, Ok(())).expect("an answer");
        assert_eq!(world.until(CallBudget::Inline), None);
        assert!(world.breakers.open().is_empty());
    }

    #[test]
    fn pauses_grow_up_to_a_bound() {
        let world = world();
        world.faults(limits::BREAKER_FAILURES);
        let first = world.breakers.open()[0].until.since(world.now());
        world.faults(40);
        let longest = world.breakers.open()[0].until.since(world.now());
        assert_eq!(first, limits::BREAKER_FIRST);
        assert_eq!(longest, limits::BREAKER_LONGEST);
    }

    #[test]
    fn a_failed_control_leaves_the_pause_as_it_is_and_an_answered_one_ends_it() {
        let world = world();
        world.faults(limits::BREAKER_FAILURES);
        let until = world.breakers.open()[0].until;
        world.clock.advance_seconds(1);
        for _ in 0..5 {
            let failed = world.call(CallBudget::Control, Err(trap()));
            failed.expect_err("it fails");
        }
        assert_eq!(world.breakers.open()[0].until, until);
        let answered = world.call(CallBudget::Control, Ok(()));
        answered.expect("an answer");
        assert_eq!(world.until(CallBudget::Inline), None);
    }

    #[test]
    fn a_call_that_is_too_slow_for_a_request_is_left_to_the_worker() {
        let world = world();
        for _ in 0..limits::BREAKER_FAILURES {
            let error = world
                .call(CallBudget::Inline, Err(late()))
                .expect_err("too late");
            assert_eq!(error, late());
        }
        assert_eq!(world.until(CallBudget::Inline), Some(world.now()));
        assert!(world.breakers.open()[0].inline_only);
        let first = world.admit(CallBudget::Leased);
        assert!(world.until(CallBudget::Leased).is_some(), "one at a time");
        let tried = world.call(CallBudget::FirstTry, Ok(()));
        tried.expect("those that were not tried yet do not wait");
        assert!(world.until(CallBudget::Leased).is_some(), "still one");
        first.expect("the first").report(&Ok(()));
        let both = [(); 2].map(|()| world.admit(CallBudget::Leased));
        assert!(both.iter().all(Result::is_ok), "many at once");
        assert!(
            world.until(CallBudget::Inline).is_some(),
            "it was the worker's"
        );
        world.clock.advance(limits::BREAKER_LONGEST);
        assert_eq!(world.until(CallBudget::Inline), None, "requests try again");
        world.call(CallBudget::Inline, Ok(())).expect("an answer");
        assert!(world.breakers.open().is_empty());
    }

    #[test]
    fn first_tries_leave_the_circuit_as_it_is_and_so_many_may_fail() {
        let world = world();
        world.faults(limits::BREAKER_FAILURES);
        let open = |world: &World| {
            let open = &world.breakers.open()[0];
            (open.until, open.failures)
        };
        let before = open(&world);
        let soon = world.now().plus(limits::BREAKER_FIRST);
        assert_eq!(world.until(CallBudget::Inline), Some(soon));
        for answer in [Ok(()), Err(late())] {
            let made = world.call(CallBudget::FirstTry, answer.clone());
            assert_eq!(made, answer);
            assert_eq!(open(&world), before);
        }
        let mut failed = 1;
        while world.call(CallBudget::FirstTry, Err(late())) == Err(late()) {
            failed += 1;
        }
        assert_eq!(failed, limits::FIRST_TRIES_AT_ONCE);
        assert!(world.until(CallBudget::FirstTry).is_some());
        // The others wait like before, spread over a time.
        let later = (0..5).filter_map(|_| world.until(CallBudget::Inline));
        assert!(later.max() > Some(soon));
        world.clock.advance(limits::FIRST_TRY_EVERY);
        assert_eq!(world.call(CallBudget::FirstTry, Err(late())), Err(late()));
        assert!(world.until(CallBudget::FirstTry).is_some());
        // None that has failed was tried again meanwhile.
        world
            .clock
            .advance(limits::BREAKER_FIRST + limits::BREAKER_SPREAD);
        let made = world.call(CallBudget::FirstTry, Ok(()));
        made.expect("an answer");
        assert!(world.breakers.open().is_empty());
    }

    #[test]
    fn an_error_that_is_not_the_versions_fault_opens_no_circuit() {
        let world = world();
        for _ in 0..2 * limits::BREAKER_FAILURES {
            let error = world
                .call(CallBudget::Worker, Err(CallError::Busy))
                .expect_err("busy");
            assert_eq!(error, CallError::Busy);
        }
        assert_eq!(world.until(CallBudget::Inline), None);
    }
}
