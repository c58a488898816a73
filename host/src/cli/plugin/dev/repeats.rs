//! Calls that fail again and again in the same way: the service makes the call for a stored delivery
//! until it succeeds. Such a failure of a version is shown once, and then only counted.

use std::collections::VecDeque;

use leadhost_domain::plugin::Digest;
use leadhost_plugin::{WatchedCall, with_innermost_place};

const REMEMBERED: usize = 64;

#[derive(Default)]
pub struct RepeatedFailures(VecDeque<ShownFailure>);

/// A call that failed.
struct ShownFailure {
    digest: Digest,
    function: &'static str,
    /// The id of the delivery or of the message.
    id: String,
    error: String,
    again: u64,
    /// The part of `again` that was shown.
    shown: u64,
}

/// The part of a call to show.
#[derive(Debug, PartialEq, Eq)]
pub enum Novelty {
    /// All of it; before it the line about an earlier failure of the same call, if it was repeated.
    New(Option<String>),
    /// Nothing: it failed as it did before.
    Repeated,
}

impl RepeatedFailures {
    /// Compares a call with the last failure of the same function for the same delivery.
    pub fn look(&mut self, call: &WatchedCall) -> Novelty {
        let is_same = |known: &ShownFailure| known.function == call.function && known.id == call.id;
        let known = self.0.iter().position(is_same);
        if let (Some(known), Err(error)) = (known, &call.output)
            && self.0[known].digest == call.digest
            && with_innermost_place(&self.0[known].error) == with_innermost_place(error)
        {
            self.0[known].again += 1;
            return Novelty::Repeated;
        }
        let mut over = known.and_then(|known| self.0.remove(known));
        if let Err(error) = &call.output {
            self.0.push_back(ShownFailure {
                digest: call.digest.clone(),
                function: call.function,
                id: call.id.clone(),
                error: error.clone(),
                again: 0,
                shown: 0,
            });
            if self.0.len() > REMEMBERED {
                self.0.pop_front();
            }
        }
        Novelty::New(over.as_mut().and_then(ShownFailure::show))
    }

    /// Returns a line for each failure that was repeated since the last time.
    pub fn unshown(&mut self) -> Vec<String> {
        self.0.iter_mut().filter_map(ShownFailure::show).collect()
    }
}

impl ShownFailure {
    fn show(&mut self) -> Option<String> {
        if self.again == self.shown {
            return None;
        }
        self.shown = self.again;
        let times = match self.again {
            1 => "once".to_owned(),
            many => format!("{many} times"),
        };
        let (function, id) = (self.function, &self.id);
        Some(format!("  {function} of {id}: retried {times}, same error"))
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use leadhost_plugin::{CallUsage, WatchedOutput};

    fn call(id: &str, error: Option<&str>) -> WatchedCall {
        WatchedCall {
            digest: Digest::compute(b"form"),
            plugin: "form".to_owned(),
            function: "convert",
            id: id.to_owned(),
            elapsed: Duration::ZERO,
            usage: CallUsage::default(),
            output: match error {
                Some(error) => Err(error.to_owned()),
                None => Ok(WatchedOutput::Other),
            },
        }
    }

    #[test]
    fn a_failure_is_new_once_and_then_counted() {
        let mut failures = RepeatedFailures::default();
        let crash = call("d-1", Some("it trapped"));
        assert_eq!(failures.look(&crash), Novelty::New(None));
        assert!(failures.unshown().is_empty());
        for _ in 0..3 {
            assert_eq!(failures.look(&crash), Novelty::Repeated);
        }
        let shown = ["  convert of d-1: retried 3 times, same error"];
        assert_eq!(failures.unshown(), shown);
        assert!(failures.unshown().is_empty(), "it is shown once");
    }

    #[test]
    fn another_error_another_delivery_and_an_answer_are_new() {
        let mut failures = RepeatedFailures::default();
        let crash = call("d-1", Some("it trapped"));
        failures.look(&crash);
        failures.look(&crash);
        let elsewhere = call("d-2", Some("it trapped"));
        assert_eq!(failures.look(&elsewhere), Novelty::New(None));
        let slow = call("d-1", Some("it took too long"));
        let shown = "  convert of d-1: retried once, same error".to_owned();
        assert_eq!(failures.look(&slow), Novelty::New(Some(shown)));
        assert_eq!(failures.look(&crash), Novelty::New(None));
        assert_eq!(failures.look(&call("d-1", None)), Novelty::New(None));
        assert_eq!(failures.look(&crash), Novelty::New(None));
    }

    #[test]
    fn a_crash_is_the_same_by_its_innermost_function() {
        let mut failures = RepeatedFailures::default();
        let crash = |place: &str| call("d-1", Some(&format!("it trapped, in {place}")));
        failures.look(&crash("main.read < main.convert < main.run"));
        let other_caller = crash("main.read < main.convert < main.start");
        assert_eq!(failures.look(&other_caller), Novelty::Repeated);
        let mut edited = crash("main.read < main.convert");
        edited.digest = Digest::compute(b"edited");
        let by_the_edited = failures.look(&edited);
        assert!(
            matches!(by_the_edited, Novelty::New(Some(_))),
            "{by_the_edited:?}"
        );
        let elsewhere = failures.look(&crash("main.phone < main.convert"));
        assert_eq!(elsewhere, Novelty::New(None));
    }

    #[test]
    fn few_failures_are_remembered() {
        let mut failures = RepeatedFailures::default();
        for number in 0..2 * REMEMBERED {
            failures.look(&call(&number.to_string(), Some("it trapped")));
        }
        assert_eq!(failures.0.len(), REMEMBERED);
    }
}
