//! Limits on buffers and memory.

/// How many buffers the process may use (`tune.buffers.limit`, `tune.buffers.reserve`).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct BufferLimit {
    /// Buffers of the process.
    pub buffers: usize,
    /// How many of them are kept back to end what has begun.
    pub reserve: usize,
    /// Whether requests that hold buffers without moving payload end when most are in use, because
    /// memory allows no more.
    pub sheds: bool,
}

impl BufferLimit {
    /// What one of the threads may use: at least one buffer beside the reserve.
    pub fn of_thread(self, threads: usize) -> Self {
        let reserve = self.reserve.div_ceil(threads).max(1);
        Self { buffers: (self.buffers / threads).max(reserve + 1), reserve, ..self }
    }
}

/// A budget.
#[derive(Clone, Copy, Debug)]
pub struct Budget {
    /// Bytes that the process may use.
    pub limit: u64,
    /// Bytes that it used at the start.
    pub base: u64,
    /// Tells how many bytes it uses now.
    pub measure: fn() -> u64,
}

impl Budget {
    /// Bytes for all that peers ask for.
    pub fn room(&self) -> u64 {
        self.limit.saturating_sub(self.base)
    }

    /// The most buffers of `size` bytes: half of the room.
    pub fn buffers(&self, size: usize) -> usize {
        usize::try_from(self.room() / 2 / (size as u64).max(1)).unwrap_or(usize::MAX)
    }
}
