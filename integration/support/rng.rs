//! Pseudo-random numbers, so that a printed seed repeats a run on any machine.

/// The splitmix64 generator.
#[derive(Clone, Debug)]
pub struct Rng(u64);

impl Rng {
    pub const fn new(seed: u64) -> Self {
        Self(seed)
    }

    pub const fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// A number under `bound`; 0 for a bound of 0.
    pub fn below(&mut self, bound: usize) -> usize {
        let bound = u64::try_from(bound).unwrap_or(u64::MAX).max(1);
        usize::try_from(self.next() % bound).unwrap_or(0)
    }

    /// True once in `times`.
    pub fn once_in(&mut self, times: usize) -> bool {
        self.below(times) == 0
    }

    /// One of `items`, which must not be empty.
    pub fn pick<'a, T: ?Sized>(&mut self, items: &[&'a T]) -> &'a T {
        items[self.below(items.len())]
    }
}

/// A seed nobody has used before, or the one that `TIPSTAFF_SEED` pins.
pub fn fresh() -> u64 {
    let pinned = std::env::var("TIPSTAFF_SEED").ok();
    let pinned = pinned.and_then(|seed| seed.parse().ok());
    // The printed seed has to be short enough to copy by hand.
    pinned.unwrap_or_else(|| getrandom::u64().unwrap_or(0) % 1_000_000_000)
}
