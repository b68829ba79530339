//! State that few clients need; a client without it spends one pointer on it.

use crate::state::session::client::Client;
use reactor::{Address, Namespace};
use settings::Expected;
use std::net::SocketAddr;
use std::ops::Deref;
use std::rc::Rc;
use std::sync::Arc;

/// State that few clients have; it takes an allocation for these.
#[derive(Clone, Default)]
pub struct ColdStateBox(Option<Box<ColdState>>);

/// The state itself.
#[derive(Clone, Default)]
pub struct ColdState {
    /// The client's address as changed by a preamble or `set-src` before the first request.
    pub source: Option<SocketAddr>,
    /// The address that the client connected to, when it was changed.
    pub destination: Option<SocketAddr>,
    /// Data of its PROXY protocol header.
    pub proxy_header: Option<Rc<ProxyHeaderData>>,
    /// Headers that have to precede its first byte.
    pub expects: Expected,
    /// The error that kept it from a session: number and text of `fc_err` and `fc_err_str`.
    pub trouble: Option<(u8, &'static str)>,
    /// Milliseconds to wait for its next request, if its last backend sets them.
    pub(crate) keep_alive: Option<u32>,
    /// The path that a request of the process itself is sent to, in place of the server's address.
    pub target: Option<Address>,
}

/// The state of clients without any.
const NOTHING: &ColdState = &ColdState {
    source: None,
    destination: None,
    proxy_header: None,
    expects: Expected { proxy: false, netscaler: false, magic: 0 },
    trouble: None,
    keep_alive: None,
    target: None,
};

impl ColdStateBox {
    /// The state, to be changed; it is allocated from then on.
    pub fn edit(&mut self) -> &mut ColdState {
        self.0.get_or_insert_default()
    }

    /// Sets both ends of its connection.
    pub fn set_ends(&mut self, source: Option<SocketAddr>, destination: Option<SocketAddr>) {
        if (self.source, self.destination) != (source, destination) {
            let it = self.edit();
            (it.source, it.destination) = (source, destination);
        }
    }

    /// Sets the milliseconds to wait for its next request.
    pub fn set_keep_alive(&mut self, span: Option<u32>) {
        if self.keep_alive != span {
            self.edit().keep_alive = span;
        }
    }

    /// Requires headers at the start of the connection.
    pub fn set_expected(&mut self, expects: Expected) {
        if self.expects != expects {
            self.edit().expects = expects;
        }
    }
}

impl Deref for ColdStateBox {
    type Target = ColdState;

    #[inline]
    fn deref(&self) -> &ColdState {
        self.0.as_deref().unwrap_or(NOTHING)
    }
}

/// Data about a client in its PROXY protocol header.
#[derive(Debug, Default)]
pub struct ProxyHeaderData {
    /// The host name in the TLS ClientHello or PROXY header.
    pub authority: Option<Box<[u8]>>,
    /// `unique-id-format`, once computed.
    pub unique_id: Option<Box<[u8]>>,
    /// The network namespace that it comes from, if it is known here.
    pub namespace: Option<Arc<Namespace>>,
}

/// The network namespace that a client comes from, if not that of the process: the one of its PROXY
/// protocol header, otherwise the listener's, as measured.
pub fn namespace(client: &Client) -> Option<&Arc<Namespace>> {
    let told = client.rare.proxy_header.as_ref().and_then(|told| told.namespace.as_ref());
    told.or_else(|| {
        let name =
            client.proxy.front.settings.binds.get(client.bind as usize)?.namespace.as_ref()?;
        client.worker.shared.handles.namespace(name.as_bytes())
    })
}
