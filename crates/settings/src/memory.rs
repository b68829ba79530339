//! Limits on buffers and memory.

/// Limit on the buffers of the process (`tune.buffers.limit`, `tune.buffers.reserve`).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct BufferLimit {
    /// Buffers of the process.
    pub buffers: usize,
    /// Buffers among them that are reserved for finishing transactions.
    pub reserve: usize,
    /// Whether requests that hold buffers without moving payload end when most buffers are in use,
    /// because memory allows no more.
    pub sheds: bool,
}

impl BufferLimit {
    /// The reserve without `tune.buffers.reserve`.
    pub const RESERVE: usize = 2;

    /// The limit of one thread: at least one buffer beside the reserve.
    pub fn of_thread(self, threads: usize) -> Self {
        let reserve = self.reserve.div_ceil(threads).max(1);
        Self { buffers: (self.buffers / threads).max(reserve + 1), reserve, ..self }
    }
}

/// Memory budget of the process.
#[derive(Clone, Copy, Debug)]
pub struct Budget {
    /// Bytes that the process may use.
    pub limit: u64,
    /// Bytes that it used at the start.
    pub base: u64,
    /// Returns the bytes that the process uses now.
    pub measure: fn() -> u64,
}

impl Budget {
    /// Bytes for the work that peers cause.
    pub fn room(&self) -> u64 {
        self.limit.saturating_sub(self.base)
    }

    /// The most buffers of `size` bytes: half of the budget.
    pub fn buffers(&self, size: usize) -> usize {
        usize::try_from(self.room() / 2 / (size as u64).max(1)).unwrap_or(usize::MAX)
    }
}
