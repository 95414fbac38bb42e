//! Numbers by chance, which are the same again for the same seed.

/// A generator of numbers.
pub(crate) struct Random(u64);

impl Random {
    pub(crate) fn with(seed: u64) -> Self {
        Self(seed)
    }

    /// Returns a number below this one.
    pub(crate) fn below(&mut self, below: u64) -> u64 {
        // The generator of POSIX's example.
        self.0 = self.0.wrapping_mul(1_103_515_245).wrapping_add(12_345);
        self.0 / 65_536 % below
    }
}
