//! The outcome of an evaluation: what the rules decided, or what a suspended evaluation waits for.

use crate::redirect::Redirect;
use crate::reply::Reply;
use crate::service::Service;

/// A version of HTTP that a rule sets for a client.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Spoken {
    /// HTTP/1.
    H1,
    /// HTTP/2.
    H2,
}

/// Where an evaluation continues, and the state it carries.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Cursor {
    pub(crate) next: usize,
    pub(crate) strict: bool,
    pub(crate) yields: bool,
    /// Whether the steps of the message were used up when the evaluation began; `None` before.
    pub(crate) exhausted: Option<bool>,
}

impl Default for Cursor {
    fn default() -> Self {
        Cursor { next: 0, strict: true, yields: false, exhausted: None }
    }
}

impl Cursor {
    /// The same for an evaluation that is suspended after a long time ([`Need::Turn`]).
    #[must_use]
    pub fn yielding(self) -> Self {
        Self { yields: true, ..self }
    }
}

/// The event that a suspended evaluation waits for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Need {
    /// More bytes from the side of the rule set, or the end of the inspection delay.
    Bytes,
    /// An answer from outside that a rule has asked for ([`Context`](crate::Context) holds it). An
    /// action has its effect by the answer, and the cursor is behind it; a condition is evaluated
    /// again.
    Answer,
    /// The request's body: `at_least` so many bytes of it (0: all), for at most `span`
    /// milliseconds.
    Body {
        /// Milliseconds.
        span: u32,
        /// Bytes of payload.
        at_least: u64,
    },
    /// The end of the client's handshake, for a request in early data.
    Handshake,
    /// A turn of other tasks, because regular expressions have taken long; only where the caller
    /// [yields](Cursor::yielding).
    Turn,
}

/// The outcome of a rule set. Replies are borrowed from the rule set: render them before anything
/// changes.
#[derive(Debug)]
pub enum Verdict<'r> {
    /// No rule decided.
    Continue,
    /// `allow`, `accept`: this section's rule set is over.
    Allow,
    /// `deny`
    Deny(&'r Reply),
    /// `tarpit`: the same, after the tarpit delay.
    Tarpit(&'r Reply),
    /// `return`
    Return(&'r Reply),
    /// `use-service`
    Service(Service),
    /// `cache-use`: the cache has the object; the [`Context`](crate::Context) holds it.
    Cached {
        /// The rule behind the one that has found the object.
        cursor: Cursor,
    },
    /// `redirect`
    Redirect(&'r Redirect),
    /// `reject`: close without an answer.
    Reject,
    /// `close`: the server connection is closed after its received bytes are forwarded.
    Close,
    /// `silent-drop`: forget the connection without a packet.
    SilentDrop,
    /// `send-retry`: the client has to prove its address first.
    SendRetry,
    /// `switch-mode http`: the client continues in HTTP mode.
    SwitchMode(Option<Spoken>),
    /// The request is malformed in the eyes of a rule: answer with status 400.
    BadRequest,
    /// A rewrite exceeded the reserve of `tune.maxrewrite`: answer with status 500.
    RewriteFailed,
    /// Regular expressions have used all steps that the message may use, so that it is not known
    /// what the rules would have decided: answer with status 500.
    OutOfSteps,
    /// Evaluate again from `cursor` once the need is met.
    Suspend {
        /// Where to continue.
        cursor: Cursor,
        /// The missing input.
        need: Need,
    },
}
