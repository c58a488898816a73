//! What one call may take of the machine. Memory is counted over all linear
//! memories of the instance together; going past it ends the call, because a
//! guest's allocator that is told "no" fails in ways that explain nothing.

use std::fmt;

use wasmtime::{ResourceLimiter, Result};

use crate::limits;

#[derive(Debug)]
pub struct Bounds {
    memory_limit: usize,
    memory: usize,
}

impl Bounds {
    pub fn new(memory_limit: usize) -> Self {
        Self {
            memory_limit,
            memory: 0,
        }
    }
}

/// The error by which a call over its memory ends.
#[derive(Debug)]
pub struct MemoryExceeded;

impl fmt::Display for MemoryExceeded {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the plugin's memory limit is reached")
    }
}

impl std::error::Error for MemoryExceeded {}

impl ResourceLimiter for Bounds {
    fn memory_growing(
        &mut self,
        current: usize,
        desired: usize,
        maximum: Option<usize>,
    ) -> Result<bool> {
        if maximum.is_some_and(|maximum| desired > maximum) {
            return Ok(false);
        }
        let total = self.memory.saturating_add(desired.saturating_sub(current));
        if total > self.memory_limit {
            return Err(MemoryExceeded.into());
        }
        self.memory = total;
        Ok(true)
    }

    fn memory_grow_failed(&mut self, error: wasmtime::Error) -> Result<()> {
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

    #[test]
    fn memories_are_summed_and_the_first_byte_too_many_is_an_error() {
        let mut bounds = Bounds::new(3 << 16);
        assert!(bounds.memory_growing(0, 1 << 16, None).expect("fits"));
        assert!(bounds.memory_growing(0, 1 << 16, None).expect("fits"));
        assert!(bounds.memory_growing(1 << 16, 2 << 16, None).expect("fits"));
        let error = bounds
            .memory_growing(2 << 16, 3 << 16, None)
            .expect_err("over");
        assert!(error.is::<MemoryExceeded>());
    }

    #[test]
    fn a_memory_at_its_own_maximum_just_does_not_grow() {
        let mut bounds = Bounds::new(3 << 16);
        assert!(
            !bounds
                .memory_growing(0, 2 << 16, Some(1 << 16))
                .expect("no trap")
        );
    }
}
