//! How the work on an input grows with its size.

use std::time::Duration;

use rustix::time::{ClockId, clock_gettime};

/// Asserts that the work on an input of 64 KiB takes about as long as that on sixteen of 4 KiB. If each byte
/// looked at all others, it would take sixteen times as long.
///
/// # Panics
/// If it takes more than four times as long.
#[track_caller]
pub fn grows_linearly(make: impl Fn(usize) -> String, work: impl Fn(&str)) {
    const PARTS: usize = 16;
    const BYTES: usize = 64 << 10;
    let (whole, part) = (make(BYTES), make(BYTES / PARTS));
    // The least of several runs: what else the machine does only adds to them.
    let least = |text: &str, times: usize| {
        let runs = (0..3).map(|_| {
            let began = processor_time();
            (0..times).for_each(|_| work(text));
            processor_time().saturating_sub(began)
        });
        runs.min().unwrap_or_default()
    };
    let (at_once, in_parts) = (least(&whole, 1), least(&part, PARTS));
    let most = 4 * in_parts + Duration::from_millis(1);
    assert!(
        at_once <= most,
        "{at_once:?} at once, {in_parts:?} in parts: {whole:.80}"
    );
}

/// Returns the processor time of this thread: other tests run beside it.
fn processor_time() -> Duration {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    let seconds = u64::try_from(time.tv_sec).unwrap_or_default();
    let nanos = u64::try_from(time.tv_nsec).unwrap_or_default();
    Duration::from_secs(seconds) + Duration::from_nanos(nanos)
}
