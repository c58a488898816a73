//! Background work: threads that the operating system schedules with less weight than those
//! that serve requests, and the host's own work on components, for which no request waits.

use rustix::process::getpriority_process;
use tokio::sync::oneshot;

use crate::error::LoadError;
use leadhost_domain::limits;

/// Runs `work` on a background thread of its own.
pub async fn in_background<T: Send + 'static>(
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<T, LoadError> {
    let (answer, answered) = oneshot::channel();
    start(move || {
        // If the caller no longer waits, the result is dropped here.
        let _ = answer.send(work());
    })
    .map_err(|error| LoadError::Host(format!("no thread could be started for it: {error}")))?;
    answered
        .await
        .map_err(|_| LoadError::Host("the thread for it ended without a result".to_owned()))
}

/// Drops a value whose release takes a while, on a background thread. If no thread can be
/// started, it is dropped here.
pub fn drop_in_background<T: Send + 'static>(value: T) {
    let _ = start(move || drop(value));
}

fn start(work: impl FnOnce() + Send + 'static) -> std::io::Result<()> {
    std::thread::Builder::new()
        .name("plugin-aside".to_owned())
        .spawn(move || {
            lower_priority();
            work();
        })
        .map(drop)
}

/// Lowers the weight of the calling thread below the threads that serve requests. It yields the
/// processor to any of them within a slice.
///
/// It still gets a share of a busy processor: a thread without any share could be suspended
/// indefinitely while it holds a lock that the others need.
#[expect(
    unsafe_code,
    reason = "no dependency offers this call, which changes only the calling thread"
)]
pub fn lower_priority() {
    let nice = getpriority_process(None).unwrap_or(0);
    let nice = (nice + limits::SLOW_NICENESS).min(limits::LEAST_PRIORITY);
    // SAFETY: all zeroes is a value of this type, which consists of integers.
    let mut attributes: libc::sched_attr = unsafe { std::mem::zeroed() };
    attributes.size = u32::try_from(size_of::<libc::sched_attr>()).unwrap_or(0);
    attributes.sched_policy = libc::SCHED_OTHER as u32;
    attributes.sched_nice = nice;
    // A setting of the kernel's scheduler that older kernels ignore: how long the thread
    // runs before the scheduler considers other threads.
    attributes.sched_runtime = u64::try_from(limits::SLOW_TURN.as_nanos()).unwrap_or(0);
    // SAFETY: zero is the calling thread, and the pointer refers to a value that lives
    // until the call has returned and that states its own size.
    let done = unsafe { libc::syscall(libc::SYS_sched_setattr, 0, &raw const attributes, 0) };
    if done != 0 {
        tracing::warn!(
            error = %std::io::Error::last_os_error(),
            "background thread priority not lowered, it competes with requests"
        );
    }
}
