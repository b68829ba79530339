//! A thread that writes queued lines to a file and may wait for the disk.

use crate::{Fd, borrow};
use std::io;
use std::sync::{Arc, Condvar, PoisonError};
use std::time::Duration;
use stdx::Mutex;

/// Most queued bytes; a line beyond that is refused.
const CAPACITY: usize = 1 << 20;

/// Queued lines of one file.
#[derive(Debug)]
pub(super) struct Spool {
    number: Fd,
    pending: Mutex<SpoolState>,
    /// Signals that lines were added, or that all were written.
    changed: Condvar,
}

#[derive(Debug, Default)]
struct SpoolState {
    bytes: Vec<u8>,
    /// Whether the thread was started.
    started: bool,
    /// Whether the thread is writing lines that it has taken out of `bytes`.
    writing: bool,
    /// Error by which lines were lost since the last push.
    lost: Option<io::Error>,
}

impl Spool {
    /// An empty spool; its thread starts with the first line.
    pub(super) fn new(number: Fd) -> Arc<Self> {
        Arc::new(Self { number, pending: Mutex::default(), changed: Condvar::new() })
    }

    /// Queues a line.
    ///
    /// # Errors
    /// `WouldBlock` when there is no room; the system's error when earlier lines were lost.
    pub(super) fn push(self: &Arc<Self>, line: &[u8]) -> io::Result<()> {
        let mut pending = self.pending.lock();
        if let Some(error) = pending.lost.take() {
            return Err(error);
        }
        if pending.bytes.len() + line.len() > CAPACITY {
            return Err(io::ErrorKind::WouldBlock.into());
        }
        if !pending.started {
            let own = self.clone();
            std::thread::Builder::new().name("spool".into()).spawn(move || own.run())?;
            pending.started = true;
        }
        pending.bytes.extend_from_slice(line);
        drop(pending);
        self.changed.notify_all();
        Ok(())
    }

    /// Waits until everything is written, up to `span`.
    pub(super) fn await_written(&self, span: Duration) {
        let unsettled = |pending: &mut SpoolState| pending.writing || !pending.bytes.is_empty();
        drop(self.changed.wait_timeout_while(self.pending.lock(), span, unsettled));
    }

    fn run(&self) {
        crate::process::unshare_descriptors_except(&[self.number]);
        let mut bytes = Vec::new();
        loop {
            let idle = |pending: &mut SpoolState| pending.bytes.is_empty();
            let pending = self.changed.wait_while(self.pending.lock(), idle);
            let mut pending = pending.unwrap_or_else(PoisonError::into_inner);
            std::mem::swap(&mut pending.bytes, &mut bytes);
            pending.writing = true;
            drop(pending);
            let result = write_all(self.number, &bytes);
            bytes.clear();
            let mut pending = self.pending.lock();
            pending.writing = false;
            pending.lost = result.err().or(pending.lost.take());
            drop(pending);
            self.changed.notify_all();
        }
    }
}

fn write_all(number: Fd, mut bytes: &[u8]) -> io::Result<()> {
    while !bytes.is_empty() {
        match rustix::io::write(borrow(number)?, bytes) {
            Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
            Ok(count) => bytes = &bytes[count..],
            Err(rustix::io::Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
    }
    Ok(())
}
