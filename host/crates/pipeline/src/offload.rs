//! Moves long computations of the host away from the threads that serve requests.

/// Bytes of a body with which the host does more than a millisecond of work: it checks the sender, masks
/// secrets, and finds search keys.
const LONG_BYTES: usize = 16 << 10;

/// Returns whether the work on a body or an answer of a remote server is long.
pub fn is_long(body: &[u8]) -> bool {
    body.len() > LONG_BYTES
}

/// Runs work: here if it is short, otherwise on a thread for blocking work, so that no request that
/// is served beside it waits for it.
///
/// # Panics
///
/// If the work panics.
pub async fn run<T: Send + 'static>(is_long: bool, work: impl FnOnce() -> T + Send + 'static) -> T {
    if !is_long {
        return work();
    }
    let done = tokio::task::spawn_blocking(work).await;
    done.expect("the work does not panic")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn only_long_work_runs_on_another_thread() {
        let own = std::thread::current().id();
        assert_eq!(run(false, || std::thread::current().id()).await, own);
        assert_ne!(run(true, || std::thread::current().id()).await, own);
    }
}
