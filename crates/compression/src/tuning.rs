//! Settings of the encoders: level, window, memory.

/// `tune.comp.maxlevel`, `tune.zlib.windowsize` and `tune.zlib.memlevel`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Tuning {
    /// Compression level from 0 (store) to 9.
    pub level: u8,
    /// Logarithm of the deflate window, 8 to 15.
    pub window_bits: u8,
    /// Memory level of zlib, 1 to 9.
    pub memory_level: u8,
}

impl Default for Tuning {
    fn default() -> Self {
        Self { level: 1, window_bits: 15, memory_level: 8 }
    }
}

impl Tuning {
    /// Whether the encoder without history does what these settings ask for.
    #[must_use]
    pub fn is_stateless(&self) -> bool {
        let Self { window_bits, memory_level, .. } = Self::default();
        self.level <= 1 && self.window_bits == window_bits && self.memory_level == memory_level
    }
}
