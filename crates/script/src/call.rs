//! A call of a registered function: function, arguments, requests, outcome.

use crate::budget::Pace;
use crate::convert;
use crate::fault::{self, Fault};
use crate::http_client::{ClientRequest, ClientResponse};
use crate::process::{Pattern, SocketCall, SocketHandle};
use crate::registry::Registry;
use htx::Head;
use mlua::{Error, MultiValue, RegistryKey, Value as LuaValue};
use sample::{ParseContext, Value};

/// The function to call.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Call<'c> {
    /// An action in the rule set of this name (`http-req`).
    Action(&'c str, &'static str),
    /// A fetch.
    Fetch(&'c str),
    /// A converter.
    Converter(&'c str),
    /// A service.
    Service(&'c str),
    /// A command of the runtime socket.
    Command(&'c str),
}

impl Call<'_> {
    pub(crate) fn key(self) -> String {
        match self {
            Call::Action(name, rules) => format!("action:{rules}:{name}"),
            Call::Fetch(name) => format!("fetch:{name}"),
            Call::Converter(name) => format!("converter:{name}"),
            Call::Service(name) => format!("service:{name}"),
            Call::Command(name) => format!("command:{name}"),
        }
    }

    /// Whether the call may suspend the script.
    pub(crate) fn waits(self) -> bool {
        !matches!(self, Call::Fetch(_) | Call::Converter(_))
    }
}

/// The request as `AppletHTTP` shows it.
#[derive(Clone, Copy, Debug)]
pub struct HttpRequest<'r> {
    /// The head.
    pub head: &'r Head,
    /// The announced length of the body.
    pub length: Option<u64>,
}

/// The first argument of a function.
#[derive(Clone, Debug)]
pub enum Subject<'s> {
    /// The transaction.
    Transaction,
    /// The input of a converter.
    Value(Value<'s>),
    /// The request to an HTTP service.
    AppletHttp(HttpRequest<'s>),
    /// The stream of a TCP service, or the session of a command.
    AppletTcp,
}

/// The thing that a suspended script waits for.
#[derive(Clone, PartialEq, Debug)]
pub enum Request {
    /// A turn of others: its slice is over.
    Slice,
    /// A turn of other tasks: the script yields by itself.
    Yield,
    /// The end of so many milliseconds.
    Sleep(u64),
    /// These bytes go to the client.
    Send(Vec<u8>),
    /// Bytes of the client: so many, or all of them.
    Receive(Option<usize>),
    /// A line of the client.
    Line,
    /// The response of a server.
    Http(Box<ClientRequest>),
    /// An operation on the socket of this number.
    Socket(u64, SocketCall),
}

/// The outcome of an operation that a script has waited for.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Answer {
    /// The operation is done.
    Done,
    /// These bytes.
    Bytes(Vec<u8>),
    /// A number.
    Number(i64),
    /// The response of a server.
    Response(Box<ClientResponse>),
    /// No answer follows.
    Nothing,
    /// The call is refused: the script gets nil and this text.
    Refused(&'static str),
    /// The call failed: an error of the script.
    Failed(String),
}

/// The outcome of a turn.
#[derive(Clone, PartialEq, Debug)]
pub enum Step {
    /// The function has returned; its first result.
    Returned(Option<Value<'static>>),
    /// The script has ended itself, by `txn:done`.
    Ended,
    /// The script is resumed with this answer.
    Waits(Request),
    /// The operation has failed.
    Failed(Fault),
}

/// A suspended script.
#[derive(Debug)]
pub struct Script {
    pub(crate) thread: RegistryKey,
    pub(crate) pace: Pace,
}

/// The surroundings of one turn, beyond the host.
#[derive(Default)]
pub(crate) struct Loading<'l> {
    pub(crate) registry: Option<&'l mut Registry>,
    pub(crate) maps: Option<&'l ParseContext<'l>>,
}

/// The request of a name; the inner option is empty where the script has ended itself.
pub(crate) fn request(name: &str, values: &[LuaValue]) -> Option<Option<Request>> {
    let number = match values.first() {
        Some(LuaValue::Integer(number)) => *number as f64,
        Some(LuaValue::Number(number)) => *number,
        _ => 0.0,
    };
    Some(Some(match name {
        "end" => return Some(None),
        "yield" => Request::Yield,
        "sleep" => Request::Sleep(number.clamp(0.0, f64::from(u32::MAX)) as u64),
        "getline" => Request::Line,
        "http" => Request::Http(Box::new(ClientRequest::new(values))),
        "receive" if number < 0.0 => Request::Receive(None),
        "receive" => Request::Receive(Some(number as usize)),
        "send" => {
            let text = values.first().and_then(LuaValue::as_string);
            Request::Send(text.map(|text| text.as_bytes().to_vec()).unwrap_or_default())
        }
        _ => {
            let (socket, values) = values.split_first()?;
            let handle = socket.as_userdata()?.borrow::<SocketHandle>().ok()?;
            Request::Socket(handle.id(), socket_call(name, values)?)
        }
    }))
}

/// A length of time in seconds, as milliseconds.
fn milliseconds(value: Option<&LuaValue>) -> Option<u64> {
    let seconds = match value? {
        LuaValue::Integer(number) => *number as f64,
        LuaValue::Number(number) => *number,
        _ => return None,
    };
    Some((seconds * 1_000.0).clamp(0.0, f64::from(i32::MAX)) as u64)
}

fn socket_call(name: &str, values: &[LuaValue]) -> Option<SocketCall> {
    let text = |at: usize| Some(values.get(at)?.as_string()?.as_bytes().to_vec());
    Some(match name {
        "connect" | "connect_ssl" => SocketCall::Connect {
            address: String::from_utf8_lossy(&text(0)?).into_owned(),
            port: values.get(1).and_then(LuaValue::as_integer).map(|port| port as u16),
            timeout: milliseconds(values.get(2)),
            tls: name == "connect_ssl",
        },
        "socket_send" => SocketCall::Send(text(0)?),
        "socket_line" => SocketCall::Receive(Pattern::Line),
        "socket_all" => SocketCall::Receive(Pattern::All),
        "socket_count" => {
            let count = values.first()?.as_integer()?;
            SocketCall::Receive(Pattern::Count(usize::try_from(count).ok()?))
        }
        "settimeout" => SocketCall::SetTimeout(milliseconds(values.first())?),
        "getpeername" => SocketCall::PeerName,
        "getsockname" => SocketCall::OwnName,
        "close" => SocketCall::Close,
        _ => return None,
    })
}

pub(crate) fn returned(values: MultiValue) -> Step {
    let values: Vec<LuaValue> = values.into_iter().collect();
    match &values[..] {
        [LuaValue::Boolean(true), first, ..] => Step::Returned(Some(convert::from_lua(first))),
        [LuaValue::Boolean(true)] => Step::Returned(None),
        [_, LuaValue::String(text), ..] if *text == "not enough memory" => {
            Step::Failed(Fault::Memory)
        }
        [_, LuaValue::String(text), ..] => Step::Failed(Fault::Runtime(text.to_string_lossy())),
        [_, LuaValue::Error(error), ..] => Step::Failed(failure(error)),
        _ => Step::Failed(Fault::Runtime("unknown error".to_owned())),
    }
}

pub(crate) fn failure(error: &Error) -> Fault {
    match error {
        Error::MemoryError(_) => Fault::Memory,
        Error::CallbackError { cause, .. } => failure(cause),
        error => Fault::Runtime(fault::of_error(error)),
    }
}
