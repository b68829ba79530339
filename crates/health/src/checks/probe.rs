//! One check: connects, sends, looks at the answer, closes.
//!
//! Each step is tried first and waited for only if it has to be. A connection without a request
//! ends with a reset before the server's program accepts it; after a response the connection is
//! closed the same way, unless the server closed it first.

use super::rule;
use crate::checks::result;
use crate::checks::result::Answer;
use balance::{CheckResult, CheckStatus};
use engine::state::runtime::{Proxy, Server};
use engine::state::worker::Worker;
use htx::Head;
use reactor::{ProbeConnection, Tick};
use settings::{Check, HttpCheck};
use transport::socket::is_transient;

/// The check has ended, with a result unless it was given up.
#[derive(Debug)]
pub(super) struct Over(pub(super) Option<CheckResult>);

impl From<CheckResult> for Over {
    fn from(result: CheckResult) -> Self {
        Self(Some(result))
    }
}

/// A check that has begun.
#[derive(Debug)]
pub(super) struct Probe {
    errand: ProbeConnection,
    /// Whether the connection is established.
    stands: bool,
    /// Bytes of the request sent so far.
    sent: usize,
    /// When the present step has taken too long.
    deadline: Tick,
    /// Milliseconds for the answer, counted from when the connection is established; `None` if one
    /// deadline holds for both.
    answer_ms: Option<u32>,
}

impl Probe {
    /// Starts a connection to a server.
    pub(super) fn begin(worker: &Worker, proxy: &Proxy, server: &Server) -> Result<Self, Over> {
        let inter = server.settings.balance.intervals.inter;
        let (connect_ms, answer_ms) = rule::limits_of(proxy, inter);
        let address = server.location.now().check_address();
        let errand = ProbeConnection::start(&worker.thread, &address)
            .map_err(|error| result::unconnected(&error))?;
        let deadline = worker.thread.tick().plus_ms(connect_ms);
        Ok(Self { errand, stands: false, sent: 0, deadline, answer_ms })
    }

    /// Writes as much of the request as the socket accepts. The first write shows whether the
    /// connection is established.
    pub(super) fn send(&mut self, check: &Check) -> Result<(), Over> {
        let request = request(check);
        while !self.stands || self.sent < request.len() {
            match self.errand.send(&request[self.sent..]) {
                Ok(count) => self.progress(count),
                Err(error) if is_transient(&error) => return Ok(()),
                Err(error) if !self.stands => return Err(result::unconnected(&error).into()),
                // The server may have answered before it closed.
                Err(_) => self.sent = request.len(),
            }
        }
        Ok(())
    }

    fn progress(&mut self, count: usize) {
        self.sent += count;
        if !std::mem::replace(&mut self.stands, true)
            && let Some(span) = self.answer_ms
        {
            let answered = self.errand.thread().tick().plus_ms(span);
            self.deadline = self.deadline.or_later(answered);
        }
    }

    /// Parses the answer so far, in a buffer that is free again afterwards.
    pub(super) fn look(
        &mut self,
        check: &Check,
        buffer: &mut [u8],
        head: &mut Head,
    ) -> Result<(), Over> {
        match (self.stands, check) {
            (true, Check::Connect | Check::Script(_) | Check::External(_)) => {
                Err(result::plain(CheckStatus::L4Ok, "").into())
            }
            (true, Check::Http(http)) => self.read(http, buffer, head),
            (false, _) => Ok(()),
        }
    }

    fn read(&mut self, http: &HttpCheck, buffer: &mut [u8], head: &mut Head) -> Result<(), Over> {
        match self.errand.peek(buffer) {
            Ok((count, ended)) => {
                let ended = ended || count == buffer.len();
                match result::http(http, &buffer[..count], ended, head) {
                    Answer::Final(result) => Err(result.into()),
                    Answer::Partial => Ok(()),
                }
            }
            Err(error) if is_transient(&error) => Ok(()),
            Err(error) => Err(result::broken(&error).into()),
        }
    }

    /// Requests a wake-up of the running task; returns its deadline. A check that is late already
    /// is over.
    pub(super) fn wait(&self, check: &Check) -> Result<Tick, Over> {
        if self.deadline.is_due(self.errand.thread().tick()) {
            let status = if self.stands { CheckStatus::L7Timeout } else { CheckStatus::L4Timeout };
            return Err(result::plain(status, "").into());
        }
        let waits = match !self.stands || self.sent < request(check).len() {
            true => self.errand.await_room(),
            false => self.errand.await_answer(),
        };
        waits.map(|()| self.deadline).map_err(|error| result::broken(&error).into())
    }
}

fn request(check: &Check) -> &[u8] {
    match check {
        // Scripts and programs run elsewhere.
        Check::Connect | Check::Script(_) | Check::External(_) => b"",
        Check::Http(http) => &http.request,
    }
}
