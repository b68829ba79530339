//! One request or TCP stream: the data that its stages work on.

use crate::state::backend::reservation::Claim;
use crate::state::backend::server_connection::ServerConn;
use crate::state::runtime::ProxyRef;
use crate::state::services::Pieces;
use crate::state::session::client::Client;
use crate::state::session::cookie_dates::Dates;
use crate::state::session::request_buffers::{Lease, Notes};
use crate::state::session::stream_list::Listed;
use crate::state::worker::Worker;
use crate::thread::future_pool::SeatPool;
use htx::{Fields, Head};
use mux::BodyKind;
use rules::Cursor;
use std::rc::Rc;

/// How a request announced itself.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Arrival {
    /// Bytes came.
    Data,
    /// The client closed without a byte.
    Closed,
    /// Nothing came in time.
    TimedOut,
}

/// What a transaction starts from.
pub(crate) struct Parts {
    pub(crate) client: Box<Client>,
    pub(crate) arrival: Arrival,
}

/// What becomes of the client.
pub(crate) enum Outcome {
    /// It may send another request.
    Again(Box<Client>),
    /// It has its answer, and may be sending what it gets none for.
    Farewell(Box<Client>),
    /// Its connection is over.
    Over,
}

/// A transaction under way.
pub(crate) struct Transaction {
    pub(crate) worker: Rc<Worker>,
    pub(crate) client: Box<Client>,
    pub(crate) space: Lease,
    pub(crate) notes: Box<Notes>,
    /// The proxy whose server side is in use.
    pub(crate) backend: Option<ProxyRef>,
    /// The claim on the server in use or last tried.
    pub(crate) claim: Option<Claim>,
    pub(crate) server: Option<Box<ServerConn>>,
    /// How the request's body is delimited.
    pub(crate) request_body: BodyKind,
    /// The server that the request's cookie names.
    pub(crate) wanted: Option<usize>,
    /// `use-server` has named it: the cookie does not.
    pub(crate) selected: bool,
    /// What rules say of the cookie.
    pub(crate) persistence: Persistence,
    /// The request is counted in its backend's sessions.
    pub(crate) entered: Option<Entered>,
    /// Its line in the list of streams.
    pub(crate) listed: Option<Listed>,
    /// The interim responses that the client has got.
    pub(crate) interim: Interim,
    /// What a retry needs, with `retry-on`.
    pub(crate) kept: Option<Box<Kept>>,
    /// The head of the request is with the notes.
    pub(crate) stashed: bool,
    /// Bytes that the server was sent by way of workspaces that have been given back.
    pub(crate) told: u64,
    /// When a connection that was kept has failed the request, in nanoseconds: the next one has to
    /// be younger.
    pub(crate) failed_at: Option<u64>,
    /// What has been said before handshakes were over.
    pub(crate) haste: Haste,
    /// What is left to make of the body of a local answer.
    pub(crate) pieces: Option<Pieces>,
    /// What the rules of the response wait for.
    pub(crate) pause: Option<Box<Pause>>,
    /// The dates that stood in the client's persistence cookie.
    pub(crate) cookie_dates: Dates,
    /// It is a POST; known where cookies are used.
    pub(crate) posts: bool,
    /// It only asks for something; known where `option checkcache` is in force.
    pub(crate) asks: bool,
    /// The server has asked for credentials.
    pub(crate) challenged: bool,
    /// The client left while its body was waited for.
    pub(crate) left: bool,
    /// `silent-drop`: the client is not told that its connection is gone.
    pub(crate) reset_client: bool,
}

/// How far the rules of a response have come: the proxy, its section, the rule.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Progress {
    pub(crate) proxy: usize,
    pub(crate) section: usize,
    pub(crate) cursor: Cursor,
}

/// What the rules of a response wait for: so many bytes of its body (0: all), for at most so many
/// milliseconds.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Pause {
    pub(crate) then: Progress,
    pub(crate) span: u32,
    pub(crate) at_least: u64,
}

/// What rules say of persistence by cookies.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) enum Persistence {
    /// Nothing.
    #[default]
    Usual,
    /// `force-persist`: also to a server that is down.
    Forced,
    /// `ignore-persist`
    Ignored,
}

/// A request counted in a backend's sessions, until dropped.
pub(crate) struct Entered(pub(crate) ProxyRef);

impl Drop for Entered {
    fn drop(&mut self) {
        if let Some(back) = &self.0.back {
            back.sessions.leave();
        }
    }
}

/// What is left of a request once it is with a server.
#[derive(Debug)]
pub(crate) struct Kept {
    pub(crate) head: Head,
    pub(crate) payload: Vec<u8>,
    pub(crate) trailers: Fields,
    /// The payload is complete.
    pub(crate) whole: bool,
}

impl Kept {
    /// Its head as it will go out again.
    pub(crate) fn head_mut(&mut self) -> &mut Head {
        &mut self.head
    }
}

/// The interim responses to a request, of all servers that it was sent to.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) enum Interim {
    /// There was none.
    #[default]
    None,
    /// The client has a 100 of the server that has the request now.
    Continue,
    /// The server that has the request now has sent one that the client does not get.
    Dropped,
    /// Servers that have failed have sent 100: another one would be of no use to the client.
    Continued,
    /// The client has the beginning of an answer, as a 103: no other answer may follow it.
    Begun,
}

impl Interim {
    /// Whether the server that has the request now has sent one.
    pub(crate) fn is_of_this_server(self) -> bool {
        matches!(self, Self::Continue | Self::Dropped | Self::Begun)
    }
}

/// What a transaction knows of it.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Haste {
    /// The header of the request is ours.
    pub(crate) told: bool,
    /// A server has been sent the request early although the client did not say it so.
    pub(crate) ours: bool,
    /// A server did not want it this early: that is not tried again.
    pub(crate) over: bool,
}

/// What has become of words that were to be said early.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Words {
    /// Nobody has heard them.
    Unsaid,
    /// The server has them.
    Taken,
    /// The server has not read them.
    Refused,
}

/// The pool of a worker's HTTP transactions.
pub(crate) type Seats = SeatPool<Parts, Outcome>;
