//! Payloads of streams from their submission to their answer.

use reactor::TaskId;
use spop::FrameId;
use std::collections::{HashMap, VecDeque};
use std::hash::{BuildHasherDefault, Hasher};

/// The end of a payload.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SpoeAnswer {
    /// Actions of the agent, as they were received.
    Actions(Vec<u8>),
    /// An error, in the numbers of `option set-on-error`.
    Failed(u16),
}

/// An answer with its times, in nanoseconds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SpoeAnswered {
    /// The answer.
    pub answer: SpoeAnswer,
    /// When the payload was sent, if it was.
    pub sent: Option<u64>,
    /// When the answer came.
    pub at: u64,
}

/// The progress of a payload.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum PayloadState {
    /// The payload waits for a connection.
    Queued,
    /// The payload was sent on the connection of this number.
    Sent(u64),
    /// The payload was sent on a connection that has ended since; another connection may bring the
    /// answer.
    Orphaned,
    /// The payload has an answer.
    Answered(SpoeAnswer, u64),
}

#[derive(Debug)]
struct Payload {
    state: PayloadState,
    task: TaskId,
    sent: Option<u64>,
}

/// A hash of numbers that this process gives out, so that no peer chooses those in the table.
#[derive(Debug, Default)]
struct IdHasher(u64);

impl Hasher for IdHasher {
    fn write(&mut self, bytes: &[u8]) {
        bytes.iter().for_each(|byte| self.write_u64((*byte).into()));
    }

    fn write_u64(&mut self, number: u64) {
        // The odd number nearest to 2^64 divided by the golden ratio spreads sequences.
        self.0 = (self.0.rotate_left(5) ^ number).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    }

    fn finish(&self) -> u64 {
        self.0 ^ (self.0 >> 32)
    }
}

/// All payloads of an agent. Streams remove theirs, so there are no more than streams that wait.
#[derive(Debug, Default)]
pub(super) struct Payloads {
    all: HashMap<FrameId, Payload, BuildHasherDefault<IdHasher>>,
    /// Payloads that wait for a connection, and some whose requests have ended meanwhile.
    queue: VecDeque<(FrameId, Vec<u8>)>,
    /// How many of the queue wait.
    queued: usize,
    /// How many are with the agent.
    sent: usize,
}

impl Payloads {
    pub(super) fn queued(&self) -> usize {
        self.queued
    }

    pub(super) fn sent_count(&self) -> usize {
        self.sent
    }

    pub(super) fn insert(&mut self, id: FrameId, task: TaskId) {
        self.queued += 1;
        self.all.insert(id, Payload { state: PayloadState::Queued, task, sent: None });
    }

    /// Puts the bytes of a payload at the end of the queue.
    pub(super) fn enqueue(&mut self, id: FrameId, bytes: &[u8]) {
        self.queue.push_back((id, bytes.to_vec()));
    }

    /// The next payload that still waits.
    pub(super) fn dequeue(&mut self) -> Option<(FrameId, Vec<u8>)> {
        loop {
            let (id, bytes) = self.queue.pop_front()?;
            if self.all.get(&id).is_some_and(|it| it.state == PayloadState::Queued) {
                return Some((id, bytes));
            }
        }
    }

    pub(super) fn sent(&mut self, id: FrameId, connection: u64, now: u64) {
        if let Some(payload) = self.all.get_mut(&id) {
            (payload.state, payload.sent) = (PayloadState::Sent(connection), Some(now));
            (self.queued, self.sent) = (self.queued - 1, self.sent + 1);
        }
    }

    pub(super) fn sent_at(&self, id: FrameId) -> Option<u64> {
        self.all.get(&id)?.sent
    }

    /// The connection that a payload was sent on.
    pub(super) fn owner(&self, id: FrameId) -> Option<u64> {
        match self.all.get(&id)?.state {
            PayloadState::Sent(connection) => Some(connection),
            _ => None,
        }
    }

    /// Whether a stream waits for the answer.
    pub(super) fn waits(&self, id: FrameId) -> bool {
        self.all.contains_key(&id)
    }

    pub(super) fn orphan(&mut self, id: FrameId) {
        if let Some(payload) = self.all.get_mut(&id) {
            payload.state = PayloadState::Orphaned;
        }
    }

    pub(super) fn orphans(&self) -> Vec<FrameId> {
        let orphaned = |it: &(&FrameId, &Payload)| it.1.state == PayloadState::Orphaned;
        self.all.iter().filter(orphaned).map(|(id, _)| *id).collect()
    }

    /// Stores an answer, only the first one; returns the task that waits for it.
    pub(super) fn finish(&mut self, id: FrameId, answer: SpoeAnswer, now: u64) -> Option<TaskId> {
        let payload = self.all.get_mut(&id)?;
        match payload.state {
            PayloadState::Queued => self.queued -= 1,
            PayloadState::Sent(_) | PayloadState::Orphaned => self.sent -= 1,
            PayloadState::Answered(..) => return None,
        }
        payload.state = PayloadState::Answered(answer, now);
        Some(payload.task)
    }

    /// The answer to a payload, which is removed with it.
    pub(super) fn take(&mut self, id: FrameId) -> Option<SpoeAnswered> {
        let PayloadState::Answered(..) = self.all.get(&id)?.state else { return None };
        let Payload { state, sent, .. } = self.all.remove(&id)?;
        let PayloadState::Answered(answer, at) = state else { return None };
        Some(SpoeAnswered { answer, sent, at })
    }

    /// Removes a payload; returns its progress.
    pub(super) fn remove(&mut self, id: FrameId) -> Option<PayloadState> {
        let payload = self.all.remove(&id)?;
        match payload.state {
            PayloadState::Queued => self.queued -= 1,
            PayloadState::Sent(_) | PayloadState::Orphaned => self.sent -= 1,
            PayloadState::Answered(..) => {}
        }
        if self.queued == 0 {
            self.queue.clear();
        }
        Some(payload.state)
    }
}
