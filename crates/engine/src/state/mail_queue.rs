//! Alert mails that wait to be sent.

use std::collections::VecDeque;
use std::sync::Arc;
use stdx::Mutex;

/// The number of mails that may wait for one mailer; further mails are dropped.
pub const CAPACITY: usize = 1_000;

/// The longest line that a mailer may send, in bytes.
pub const LONGEST: usize = 4_096;

/// Mails on their way to one mailer.
#[derive(Debug, Default)]
pub struct Outbox(pub Mutex<MailQueue>);

/// Mails that wait for a task to send them.
#[derive(Debug, Default)]
pub struct MailQueue {
    waiting: VecDeque<Arc<str>>,
    /// A task sends the mails.
    pub tended: bool,
}

impl Outbox {
    /// Adds a mail; returns whether the caller has to start a task that sends mails.
    pub fn put(&self, text: &Arc<str>) -> bool {
        let mut queue = self.0.lock();
        if queue.waiting.len() < CAPACITY {
            queue.waiting.push_back(text.clone());
        }
        !std::mem::replace(&mut queue.tended, true)
    }

    /// Takes the next mail; `None` ends the duty of the task.
    pub fn take(&self) -> Option<Arc<str>> {
        let mut queue = self.0.lock();
        let next = queue.waiting.pop_front();
        queue.tended = next.is_some();
        next
    }
}
