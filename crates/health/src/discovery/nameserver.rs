//! The ways to one name server: a datagram socket that stays, and streams where an answer did not
//! fit or the server speaks nothing else.

use engine::io::byte_client::{ByteClient, ByteClientError};
use engine::io::tls_handshake;
use engine::state::resolver::{Counters, count};
use engine::state::worker::Worker;
use reactor::{Address, Class, Socket, TaskId, Tick, Wake};
use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::io::{ErrorKind, IoSlice};
use std::rc::Rc;

/// How long a stream may rest between two questions, in milliseconds.
const REST_MS: u32 = 5_000;

/// Datagrams taken before other tasks run.
const BUDGET: usize = 64;

/// Results from streams: the place of the name server, the number of the question, the answer if
/// there is one.
pub(super) type Inbox = Rc<RefCell<Vec<(usize, u16, Option<Vec<u8>>)>>>;

/// One name server.
pub(super) struct NameServer {
    worker: Rc<Worker>,
    settings: settings::NameServer,
    socket: Option<Socket>,
    streams: Rc<Streams>,
}

/// Its streams: one question at a time on each.
struct Streams {
    worker: Rc<Worker>,
    address: Address,
    settings: settings::Streams,
    /// Idle streams, and the ends of their rests.
    resting: RefCell<Vec<(ByteClient, Tick)>>,
    running: Cell<u32>,
    /// Tasks that wait for a stream (`maxconn`).
    waiting: RefCell<VecDeque<TaskId>>,
}

impl NameServer {
    pub(super) fn new(worker: &Rc<Worker>, settings: &settings::NameServer) -> Self {
        let streams = Streams {
            worker: worker.clone(),
            address: Address::Inet(settings.address),
            settings: settings.streams.clone(),
            resting: RefCell::default(),
            running: Cell::new(0),
            waiting: RefCell::default(),
        };
        let (worker, settings) = (worker.clone(), settings.clone());
        Self { worker, settings, socket: None, streams: Rc::new(streams) }
    }

    /// Whether queries are sent over streams only.
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

    /// Receives the datagrams that have arrived; `true` if there may be more.
    pub(super) fn receive(
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
                    // No name server listens there, for now.
                    count(&counters.send_error);
                    self.socket = None;
                }
            }
        }
        true
    }

    /// Asks over a stream; the answer goes into the inbox, and `keeper` is woken.
    pub(super) fn query_by_stream(
        &self,
        question: Vec<u8>,
        span: u32,
        place: usize,
        to: (Inbox, TaskId),
    ) {
        let (worker, streams) = (self.worker.clone(), self.streams.clone());
        let run = async move {
            let id = dns::message::id(&question).unwrap_or(0);
            let answer = streams.query(&question, span).await;
            let (inbox, keeper) = to;
            inbox.borrow_mut().push((place, id, answer.ok()));
            worker.thread.scheduler().wake(keeper, Wake::OTHER);
        };
        self.worker.thread.scheduler().spawn(Class::Normal, run);
    }

    /// Closes streams that have rested long enough; returns when the next rest ends.
    pub(super) fn tidy(&self) -> Option<Tick> {
        let (mut resting, now) = (self.streams.resting.borrow_mut(), self.worker.thread.tick());
        resting.retain(|(_, until)| !until.is_due(now));
        resting.first().map(|(_, until)| *until)
    }
}

/// The right to one stream, which wakes the next waiting task when dropped.
struct StreamPermit<'a>(&'a Streams);

impl Drop for StreamPermit<'_> {
    fn drop(&mut self) {
        self.0.running.set(self.0.running.get() - 1);
        if let Some(next) = self.0.waiting.borrow_mut().pop_front() {
            self.0.worker.thread.scheduler().wake(next, Wake::RESOURCE);
        }
    }
}

impl Streams {
    /// Sends one question and reads its answer, on an idle stream if there is one.
    async fn query(&self, question: &[u8], span: u32) -> Result<Vec<u8>, ByteClientError> {
        let until = self.worker.thread.tick().plus_ms(span);
        let _turn = self.turn(until).await?;
        while let Some(line) = self.rested() {
            match self.converse(line, question, until).await {
                // The server has closed the stream: the question is sent on another one.
                Err(ByteClientError::Broken(_)) => {}
                done => return done,
            }
        }
        let mut line = ByteClient::new(&self.worker, span, None);
        line.resume(until);
        let options = self.worker.shared.handles.connect_options(&self.settings.dial);
        line.dial(&self.address, false, &options).await?;
        if let Some(encryption) = &self.settings.encryption {
            line.encrypt(encryption).await.map_err(|trouble| match trouble {
                tls_handshake::TlsHandshakeFailure::Late => ByteClientError::Late,
                _ => ByteClientError::Broken(ErrorKind::ConnectionRefused.into()),
            })?;
        }
        self.converse(line, question, until).await
    }

    /// Waits for a turn.
    async fn turn(&self, until: Tick) -> Result<StreamPermit<'_>, ByteClientError> {
        let (thread, most) = (&self.worker.thread, self.settings.maxconn);
        while most > 0 && self.running.get() >= most {
            if until.is_due(thread.tick()) {
                return Err(ByteClientError::Late);
            }
            let own = thread.scheduler().current();
            self.waiting.borrow_mut().push_back(own);
            thread.scheduler().wait(Some(until)).await;
            self.waiting.borrow_mut().retain(|task| *task != own);
        }
        self.running.set(self.running.get() + 1);
        Ok(StreamPermit(self))
    }

    fn rested(&self) -> Option<ByteClient> {
        let now = self.worker.thread.tick();
        let last = self.resting.borrow_mut().pop();
        last.filter(|(_, until)| !until.is_due(now)).map(|(line, _)| line)
    }

    /// A question and its answer, each with its length before it (RFC 7766). The stream rests
    /// afterwards.
    async fn converse(
        &self,
        mut line: ByteClient,
        question: &[u8],
        until: Tick,
    ) -> Result<Vec<u8>, ByteClientError> {
        line.resume(until);
        let length = u16::try_from(question.len()).unwrap_or(u16::MAX).to_be_bytes();
        line.send(&[&length[..], question].concat()).await?;
        let answer = loop {
            line.read()?;
            if let Some((length, rest)) = line.received().split_first_chunk()
                && let Some(answer) = rest.get(..usize::from(u16::from_be_bytes(*length)))
            {
                break answer.to_vec();
            }
            if line.has_ended() {
                return Err(ByteClientError::Broken(ErrorKind::UnexpectedEof.into()));
            }
            line.wait_for_more().await?;
        };
        if !line.has_ended() {
            line.rest();
            let until = self.worker.thread.tick().plus_ms(REST_MS);
            self.resting.borrow_mut().push((line, until));
        }
        Ok(answer)
    }
}
