//! Services that answer requests in the proxy's own name: the statistics page and those that boot
//! adds.

pub mod piece_stream;

use crate::state::runtime::Proxy;
use crate::state::worker::Worker;
use htx::Head;
use mux::StreamGone;
use piece_stream::PieceStream;
use reactor::Pacer;
pub use rules::Service;
use std::rc::Rc;
use transport::streams::LocalExchange;

/// A response made by the proxy itself.
#[derive(Debug)]
pub struct Answer {
    /// Status line and headers, without those that frame the body.
    pub head: Head,
    /// The body.
    pub body: Body,
}

/// The body of an [`Answer`].
pub enum Body {
    /// All of it.
    Whole(Vec<u8>),
    /// Chunks of a body that is too long to build at once.
    Pieces(Pieces),
    /// As [`Body::Pieces`], sent in the coding `gzip`, which the head names.
    Compressed(Pieces),
}

/// Appends the next chunk (at most some hundred microseconds of work; may be empty). The function
/// returns `false` with the last piece. Other tasks run between two chunks.
pub type Pieces = Box<dyn FnMut(&Worker, &mut String) -> bool>;

/// Bytes of a body made in pieces that are sent together.
pub const BATCH: usize = 16 * 1024;

/// Appends pieces that are sent together. An empty piece ends the batch, because producing it took
/// time too. `false`: the batch has the last piece.
pub fn batch(text: &mut String, next: &mut dyn FnMut(&mut String) -> bool) -> bool {
    while text.len() < BATCH {
        let before = text.len();
        if !next(text) {
            return false;
        }
        if text.len() == before {
            break;
        }
    }
    true
}

impl Body {
    /// Builds the whole body at once, without a coding.
    pub fn collect(self, worker: &Worker) -> Vec<u8> {
        match self {
            Self::Whole(bytes) => bytes,
            Self::Pieces(mut next) | Self::Compressed(mut next) => {
                let mut text = String::new();
                while next(worker, &mut text) {}
                text.into_bytes()
            }
        }
    }
}

impl std::fmt::Debug for Body {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Whole(bytes) => f.debug_tuple("Whole").field(&bytes.len()).finish(),
            Self::Pieces(_) => f.write_str("Pieces"),
            Self::Compressed(_) => f.write_str("Compressed"),
        }
    }
}

/// The rights of a visitor of a statistics page.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Default)]
pub enum Role {
    /// Sees the page.
    #[default]
    Look,
    /// Puts servers into the drain state and takes them out of it (`stats drain`).
    Drain,
    /// All actions of the page (`stats admin`).
    All,
}

/// A request to the statistics page of a proxy.
pub struct Visit<'a> {
    /// The thread that serves it.
    pub worker: &'a Worker,
    /// The proxy with the page.
    pub proxy: &'a Proxy,
    /// The request.
    pub request: &'a Head,
    /// The rights of the visitor.
    pub role: Role,
    /// The body, if it was read and fits in a buffer.
    pub form: Option<&'a [u8]>,
}

/// The services of a worker. Implemented above the data plane and handed in by the boot.
pub trait Services {
    /// Answers a request to the statistics page of a proxy, or declines.
    fn statistics(&self, visit: &Visit<'_>) -> Option<Answer>;

    /// Starts a service that `use-service` names, on a task of its own. A service that does not
    /// start drops its end of the exchange, and the client gets a 502.
    fn start(&self, service: Service, worker: &Rc<Worker>, exchange: LocalExchange);

    /// The process as scripts see it.
    fn script_process(&self, _worker: &Rc<Worker>) -> Option<Rc<dyn script::Process>> {
        None
    }
}

/// No services at all.
#[derive(Debug, Default)]
pub struct NoServices;

impl Services for NoServices {
    fn statistics(&self, _: &Visit<'_>) -> Option<Answer> {
        None
    }

    fn start(&self, _: Service, _: &Rc<Worker>, _: LocalExchange) {}
}

impl Answer {
    /// Sends the answer as the response of a service.
    pub async fn send(self, worker: &Rc<Worker>, exchange: LocalExchange) {
        // The transaction may have ended: then nothing reads the response.
        let _ = self.try_send(worker, exchange).await;
    }

    async fn try_send(
        mut self,
        worker: &Rc<Worker>,
        exchange: LocalExchange,
    ) -> Result<(), StreamGone> {
        let mut stream = match self.body {
            Body::Whole(bytes) => {
                self.head.push(b"content-length", bytes.len().to_string().as_bytes());
                exchange.respond(self.head)?;
                exchange.send(&bytes).await?;
                exchange.finish(None);
                return Ok(());
            }
            Body::Pieces(pieces) => PieceStream::plain(pieces),
            Body::Compressed(pieces) => PieceStream::compressed(pieces),
        };
        exchange.respond(self.head)?;
        let (mut more, mut pace) = (true, Pacer::default());
        while more {
            more = stream.advance(worker).map_err(|_| StreamGone)?;
            exchange.send(stream.bytes()).await?;
            pace.yield_turn(&worker.thread).await;
        }
        exchange.finish(None);
        Ok(())
    }
}
