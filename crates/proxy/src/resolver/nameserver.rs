//! The ways to one name server: a datagram socket that stays, and a stream per question where an answer did not
//! fit or the server speaks nothing else. Never reads a message.

use super::{Counters, count};
use crate::line::{Line, Trouble};
use crate::settings;
use crate::worker::Worker;
use reactor::{Address, Class, Socket, TaskId, Wake};
use std::cell::RefCell;
use std::io::{ErrorKind, IoSlice};
use std::rc::Rc;

/// Datagrams taken before others have their turn.
const BUDGET: usize = 64;

/// What came over streams: the place of the name server, the number of the question, the answer if
/// there is one.
pub(super) type Inbox = Rc<RefCell<Vec<(usize, u16, Option<Vec<u8>>)>>>;

/// One name server.
pub(super) struct NameServer {
    worker: Rc<Worker>,
    settings: settings::NameServer,
    socket: Option<Socket>,
}

impl NameServer {
    pub(super) fn new(worker: &Rc<Worker>, settings: &settings::NameServer) -> Self {
        Self { worker: worker.clone(), settings: settings.clone(), socket: None }
    }

    /// Whether it is asked over streams only.
    pub(super) fn streams(&self) -> bool {
        self.settings.stream
    }

    /// Sends a datagram; the socket is opened at first use, and again after it broke.
    pub(super) fn send(&mut self, question: &[u8], counters: &Counters) {
        count(&counters.sent);
        if self.socket.is_none() {
            self.socket = Socket::datagrams(&self.worker.thread, self.settings.address).ok();
        }
        let sent = match &self.socket {
            Some(socket) => socket.send(&[IoSlice::new(question)], false).is_ok(),
            None => false,
        };
        if !sent {
            count(&counters.send_error);
            self.socket = None;
        }
    }

    /// Takes datagrams that have come; `true` if there may be more.
    pub(super) fn hear(
        &mut self,
        buffer: &mut [u8],
        counters: &Counters,
        mut each: impl FnMut(&[u8]),
    ) -> bool {
        for _ in 0..BUDGET {
            let Some(socket) = &self.socket else { return false };
            match socket.recv_datagram(buffer) {
                Ok(count) => each(&buffer[..count]),
                Err(error) if error.kind() == ErrorKind::WouldBlock => {
                    socket.want_read();
                    return false;
                }
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(_) => {
                    // Nobody listens there, for now.
                    count(&counters.send_error);
                    self.socket = None;
                }
            }
        }
        true
    }

    /// Asks over a stream of its own; the answer goes into the inbox, and `keeper` is woken.
    pub(super) fn ask(&self, question: Vec<u8>, span: u32, place: usize, to: (Inbox, TaskId)) {
        let (worker, address) = (self.worker.clone(), self.settings.address);
        let run = async move {
            let id = dns::message::id(&question).unwrap_or(0);
            let answer = converse(&worker, Address::Inet(address), &question, span).await;
            let (inbox, keeper) = to;
            inbox.borrow_mut().push((place, id, answer.ok()));
            worker.thread.scheduler().wake(keeper, Wake::OTHER);
        };
        self.worker.thread.scheduler().spawn(Class::Normal, run);
    }
}

/// One question and its answer, each with its length before it (RFC 7766).
async fn converse(
    worker: &Rc<Worker>,
    to: Address,
    question: &[u8],
    span: u32,
) -> Result<Vec<u8>, Trouble> {
    let mut line = Line::new(worker, span, None);
    line.connect(&to, false).await?;
    let length = u16::try_from(question.len()).unwrap_or(u16::MAX).to_be_bytes();
    line.send(&[&length[..], question].concat()).await?;
    loop {
        line.read()?;
        if let Some((length, rest)) = line.received().split_first_chunk()
            && let Some(answer) = rest.get(..usize::from(u16::from_be_bytes(*length)))
        {
            return Ok(answer.to_vec());
        }
        if line.has_ended() {
            return Err(Trouble::Broken(ErrorKind::UnexpectedEof.into()));
        }
        line.wait_for_more().await?;
    }
}
