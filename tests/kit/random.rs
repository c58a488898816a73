//! Random numbers that are the same in every run with one seed.

/// A small random generator (xorshift), so that a run can be repeated.
pub struct Random(u64);

impl Random {
    /// Returns the generator with this state, which must not be 0.
    pub fn new(state: u64) -> Self {
        Self(state)
    }

    /// Returns the same generator for the same seed and number.
    pub fn from_seed(seed: u64, number: usize) -> Self {
        let number = number as u64 + 1;
        let mut random = Self((seed ^ number.wrapping_mul(0xbf58_476d_1ce4_e5b9)).max(1));
        for _ in 0..8 {
            random.below(2);
        }
        random
    }

    /// Returns a number from 0 to less than `bound`, which must not be 0.
    pub fn below(&mut self, bound: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % bound
    }

    /// Like [`Self::below`], for indexes and lengths.
    pub fn count(&mut self, bound: usize) -> usize {
        usize::try_from(self.below(bound as u64)).expect("it is below a usize")
    }

    /// Like [`Self::below`], for microseconds.
    pub fn micros(&mut self, bound: i64) -> i64 {
        let bound = u64::try_from(bound).expect("positive");
        i64::try_from(self.below(bound)).expect("below it")
    }

    pub fn one_in(&mut self, times: u64) -> bool {
        self.below(times) == 0
    }

    /// Returns one of these. There must be at least one.
    pub fn choose<'a, T>(&mut self, some: &'a [T]) -> &'a T {
        &some[self.count(some.len())]
    }
}
