//! Pseudo-random numbers, the same in every run, for tests with unexpected inputs.

/// A generator of pseudo-random numbers and texts.
pub struct TestRng(u64);

impl TestRng {
    /// Returns the sequence of a seed. The seeds 0 and 1 give the same.
    pub fn from_seed(seed: u64) -> Self {
        // A seed of zero would only produce zeros.
        Self(seed.max(1))
    }

    /// Returns the next number below `end`, which must not be 0.
    pub fn below(&mut self, end: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % end
    }

    /// Returns a text as a plugin could return it: empty, odd, valid or very long.
    pub fn text(&mut self) -> String {
        let characters = [
            "a", "-", "7", ".", "é", "\u{0}", "\u{1b}", "{", "\"", "😀", "/", "*",
        ];
        let length = match self.below(6) {
            0 => 0,
            1 => 100_000,
            _ => self.below(40),
        };
        let mut text = String::new();
        for _ in 0..length {
            text.push_str(characters[self.below(characters.len() as u64) as usize]);
        }
        text
    }
}
