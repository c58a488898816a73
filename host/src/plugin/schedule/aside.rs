//! Work that stands back behind what serves: threads that weigh less for the
//! operating system, and the host's own work on components, which nobody who is
//! served waits for.

use rustix::process::getpriority_process;
use tokio::sync::oneshot;

use crate::limits;
use crate::plugin::error::LoadError;

/// Does this on a thread of its own that stands back.
///
/// # Errors
/// [`LoadError::Host`] where there is no thread for it, or it panicked.
pub async fn aside<T: Send + 'static>(
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<T, LoadError> {
    let (answer, answered) = oneshot::channel();
    start(move || {
        // Nobody waits any more: then it is dropped here.
        let _ = answer.send(work());
    })
    .map_err(|error| LoadError::Host(format!("no thread for it: {error}")))?;
    answered
        .await
        .map_err(|_| LoadError::Host("a thread for it ended".to_owned()))
}

/// Drops what takes a while to give back where nobody waits for it. Without a thread
/// it is dropped here.
pub fn drop_aside<T: Send + 'static>(value: T) {
    let _ = start(move || drop(value));
}

fn start(work: impl FnOnce() + Send + 'static) -> std::io::Result<()> {
    std::thread::Builder::new()
        .name("plugin-aside".to_owned())
        .spawn(move || {
            stand_back();
            work();
        })
        .map(drop)
}

/// From now on this thread weighs less than those that serve, and gives the
/// processor up to any of them within a slice.
///
/// It still gets its part of a processor that others want too: a thread that gets
/// none could stop for as long while it holds what the others need.
#[expect(
    unsafe_code,
    reason = "no crate of ours offers this call, which changes the calling thread alone"
)]
pub fn stand_back() {
    let nice = getpriority_process(None).unwrap_or(0);
    let nice = (nice + limits::SLOW_NICENESS).min(limits::LEAST_PRIORITY);
    // SAFETY: all zeroes is a value of this type, which consists of integers.
    let mut attributes: libc::sched_attr = unsafe { std::mem::zeroed() };
    attributes.size = u32::try_from(size_of::<libc::sched_attr>()).unwrap_or(0);
    attributes.sched_policy = libc::SCHED_OTHER as u32;
    attributes.sched_nice = nice;
    // Of the kernel's scheduler, which older ones do not read: how long it lets this
    // thread run before it looks whose turn it is.
    attributes.sched_runtime = u64::try_from(limits::SLOW_TURN.as_nanos()).unwrap_or(0);
    // SAFETY: zero is the calling thread, and the pointer is to a value that lives
    // until the call has returned and whose size it says.
    let done = unsafe { libc::syscall(libc::SYS_sched_setattr, 0, &raw const attributes, 0) };
    if done != 0 {
        tracing::warn!(
            error = %std::io::Error::last_os_error(),
            "work behind requests cannot be made to stand back; it shares the processor with the rest"
        );
    }
}
