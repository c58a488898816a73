//! The memory limit of a call. Memory is counted over all linear memories of the instance
//! together. A call that exceeds it fails, whatever it makes of that. A few times it is only told that
//! there is no more: so the languages that can say the line which asked for it do so.

use std::fmt;

use crate::prelude::*;
use wasmtime::{ResourceLimiter, Result};

#[derive(Debug)]
pub struct MemoryLimiter {
    memory_limit: usize,
    memory: usize,
    /// How often more than the limit was asked for.
    denied: u32,
    pool: Arc<MemoryPool>,
}

/// How often a call may ask for more than its limit: a guest that lets go of what it has asks again for
/// the message.
const DENIALS: u32 = 64;

impl MemoryLimiter {
    /// Returns the limit of one call, in bytes. It is at most the size of the pool that all
    /// calls share.
    pub fn new(memory_limit: usize, pool: Arc<MemoryPool>) -> Self {
        Self {
            // One call may not have more than all calls together.
            memory_limit: memory_limit.min(pool.whole),
            memory: 0,
            denied: 0,
            pool,
        }
    }

    /// Returns the bytes that the call has needed so far. Memories never shrink: after the call it
    /// is the most that it needed.
    pub fn needed(&self) -> u64 {
        self.memory as u64
    }

    pub fn was_exceeded(&self) -> bool {
        self.denied > 0
    }
}

impl Drop for MemoryLimiter {
    fn drop(&mut self) {
        self.pool.give_back(self.memory);
    }
}

/// The memory that all calls in progress share, so that calls that each keep to their own
/// limit do not take more than the machine has.
#[derive(Debug)]
pub struct MemoryPool {
    whole: usize,
    left: AtomicUsize,
}

impl MemoryPool {
    /// Creates a pool with a fraction of the memory that this process may use.
    pub fn from_limit(may_use: Option<u64>) -> Self {
        let share = may_use.map_or(u64::MAX, |bytes| bytes / limits::PLUGINS_PART_OF_MEMORY);
        let whole = usize::try_from(share).unwrap_or(usize::MAX);
        Self {
            whole,
            left: AtomicUsize::new(whole),
        }
    }

    /// Returns this many bytes, or the part of the pool that may be kept for calls to come if
    /// that is less.
    pub fn part(&self, bytes: usize) -> usize {
        bytes.min(self.whole / limits::WARM_PART_OF_POOL)
    }

    fn take(&self, bytes: usize) -> bool {
        let fits = |left: usize| left.checked_sub(bytes);
        self.left
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, fits)
            .is_ok()
    }

    fn give_back(&self, bytes: usize) {
        self.left.fetch_add(bytes, Ordering::Relaxed);
    }
}

/// The error that ends a call because other calls use all the shared memory.
#[derive(Debug)]
pub struct PoolExhausted;

impl fmt::Display for PoolExhausted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("other calls use all the memory that plugins share")
    }
}

impl std::error::Error for PoolExhausted {}

/// The error that ends a call that exceeds its memory limit.
#[derive(Debug)]
pub struct MemoryExceeded;

impl fmt::Display for MemoryExceeded {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the call reached the plugin's memory limit")
    }
}

impl std::error::Error for MemoryExceeded {}

impl ResourceLimiter for MemoryLimiter {
    fn memory_growing(
        &mut self,
        current: usize,
        desired: usize,
        maximum: Option<usize>,
    ) -> Result<bool> {
        if maximum.is_some_and(|maximum| desired > maximum) {
            return Ok(false);
        }
        let more = desired.saturating_sub(current);
        let total = self.memory.saturating_add(more);
        // A guest that has been told gets room for the message of its exception.
        let room = if self.denied > 0 {
            limits::PLUGIN_MESSAGE_MEMORY
        } else {
            0
        };
        if total > self.memory_limit.saturating_add(room) {
            self.denied += 1;
            return match self.denied {
                0..=DENIALS => Ok(false),
                _ => Err(MemoryExceeded.into()),
            };
        }
        if !self.pool.take(more) {
            return Err(PoolExhausted.into());
        }
        self.memory = total;
        Ok(true)
    }

    fn memory_grow_failed(&mut self, error: wasmtime::Error) -> Result<()> {
        self.denied += 1;
        Err(error.context(MemoryExceeded))
    }

    fn table_growing(
        &mut self,
        _current: usize,
        desired: usize,
        _maximum: Option<usize>,
    ) -> Result<bool> {
        Ok(desired <= limits::PLUGIN_TABLE_ELEMENTS)
    }

    fn instances(&self) -> usize {
        limits::PLUGIN_CORE_INSTANCES as usize
    }

    fn tables(&self) -> usize {
        limits::PLUGIN_TABLES as usize
    }

    fn memories(&self) -> usize {
        limits::PLUGIN_MEMORIES as usize
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn limiter(limit: usize) -> MemoryLimiter {
        MemoryLimiter::new(limit, Arc::new(MemoryPool::from_limit(None)))
    }

    #[test]
    fn calls_share_a_memory_pool_and_return_what_they_used() {
        let page = 1 << 16;
        let memory = 3 * page as u64 * limits::PLUGINS_PART_OF_MEMORY;
        let pool = Arc::new(MemoryPool::from_limit(Some(memory)));
        let call = || MemoryLimiter::new(4 * page, Arc::clone(&pool));
        let (mut first, mut second) = (call(), call());
        assert!(first.memory_growing(0, 2 * page, None).expect("fits"));
        assert!(second.memory_growing(0, page, None).expect("fits"));
        let error = second
            .memory_growing(page, 2 * page, None)
            .expect_err("none is left");
        assert!(error.is::<PoolExhausted>());
        drop(first);
        assert!(second.memory_growing(page, 2 * page, None).expect("fits"));
        drop(second);
        assert!(call().memory_growing(0, 3 * page, None).expect("fits"));
        let mut call = call();
        let has_more = call.memory_growing(0, 4 * page, None);
        assert!(!has_more.expect("it is told"));
        assert!(call.was_exceeded());
    }

    #[test]
    fn memories_are_summed_and_a_guest_is_told_of_the_limit_only_so_often() {
        let mut limiter = limiter(3 << 16);
        assert!(limiter.memory_growing(0, 1 << 16, None).expect("fits"));
        assert!(limiter.memory_growing(0, 1 << 16, None).expect("fits"));
        assert_eq!(limiter.needed(), 2 << 16);
        assert!(
            limiter
                .memory_growing(1 << 16, 2 << 16, None)
                .expect("fits")
        );
        assert_eq!(limiter.needed(), 3 << 16);
        assert!(!limiter.was_exceeded());
        assert!(
            !limiter
                .memory_growing(0, 1 << 16, None)
                .expect("it is told")
        );
        let room = limits::PLUGIN_MESSAGE_MEMORY;
        assert!(
            limiter
                .memory_growing(0, room, None)
                .expect("for its message")
        );
        let mut over = || limiter.memory_growing(0, 1 << 16, None);
        for _ in 1..DENIALS {
            assert!(!over().expect("it is told"));
        }
        let error = over().expect_err("it asks for ever");
        assert!(error.is::<MemoryExceeded>());
        assert!(limiter.was_exceeded());
    }

    #[test]
    fn a_memory_at_its_own_maximum_fails_to_grow_without_a_trap() {
        let mut limiter = limiter(3 << 16);
        assert!(
            !limiter
                .memory_growing(0, 2 << 16, Some(1 << 16))
                .expect("no trap")
        );
    }
}
