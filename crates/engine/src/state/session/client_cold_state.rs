//! State that few clients need; the others spend one pointer on it.

use crate::state::session::client::Client;
use reactor::Namespace;
use settings::Expected;
use std::net::SocketAddr;
use std::ops::Deref;
use std::rc::Rc;
use std::sync::Arc;

/// What only few clients have; those that do pay for an allocation.
#[derive(Clone, Default)]
pub struct Rare(Option<Box<Rarities>>);

/// All of it.
#[derive(Clone, Default)]
pub struct Rarities {
    /// What a preamble, `set-src` or `set-dst` said before the first request.
    pub source: Option<SocketAddr>,
    /// The address that the client connected to, when it was changed.
    pub destination: Option<SocketAddr>,
    /// What a PROXY protocol header told of it.
    pub told: Option<Rc<Told>>,
    /// What has to come before its first byte.
    pub expects: Expected,
    /// Why it never became a session: number and words of `fc_err` and `fc_err_str`.
    pub trouble: Option<(u8, &'static str)>,
    /// How long its next request is waited for, if its last backend says that.
    pub(crate) keep_alive: Option<u32>,
}

/// What those have that have nothing.
const NOTHING: &Rarities = &Rarities {
    source: None,
    destination: None,
    told: None,
    expects: Expected { proxy: false, netscaler: false, magic: 0 },
    trouble: None,
    keep_alive: None,
};

impl Rare {
    /// To change some of it; there is something from then on.
    pub fn edit(&mut self) -> &mut Rarities {
        self.0.get_or_insert_default()
    }

    /// Sets both ends of its connection.
    pub fn set_ends(&mut self, source: Option<SocketAddr>, destination: Option<SocketAddr>) {
        if (self.source, self.destination) != (source, destination) {
            let it = self.edit();
            (it.source, it.destination) = (source, destination);
        }
    }

    /// Sets how long its next request is waited for.
    pub fn set_keep_alive(&mut self, span: Option<u32>) {
        if self.keep_alive != span {
            self.edit().keep_alive = span;
        }
    }

    /// Sets what has to come first.
    pub fn set_expected(&mut self, expects: Expected) {
        if self.expects != expects {
            self.edit().expects = expects;
        }
    }
}

impl Deref for Rare {
    type Target = Rarities;

    #[inline]
    fn deref(&self) -> &Rarities {
        self.0.as_deref().unwrap_or(NOTHING)
    }
}

/// What a PROXY protocol header told of the client.
#[derive(Debug, Default)]
pub struct Told {
    /// The host name that it asked for.
    pub authority: Option<Box<[u8]>>,
    /// `unique-id-format`, once computed.
    pub unique_id: Option<Box<[u8]>>,
    /// The network namespace that it comes from, if it is known here.
    pub namespace: Option<Arc<Namespace>>,
}

/// The network namespace that a client comes from, if not that of the process: as its PROXY
/// protocol header says, otherwise that of the listener. (As measured.)
pub fn namespace(client: &Client) -> Option<&Arc<Namespace>> {
    let told = client.rare.told.as_ref().and_then(|told| told.namespace.as_ref());
    told.or_else(|| {
        let front = client.proxy.settings.front.as_ref()?;
        front.binds.get(client.bind as usize)?.namespace.as_ref()
    })
}
