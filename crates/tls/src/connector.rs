//! The TLS side of a server line: the certificate that it presents and the check of the server's
//! certificate.

use crate::conn::Conn;
use crate::context::{self, Side, load_trust};
use crate::error::{HandshakeError, Reason};
use crate::ignored::Ignored;
use crate::options::Verify;
use crate::settings::{Defaults, ServerSettings};
use crate::setup_error::SetupError;
use crate::store::{Files, NoFiles, Store};
use arc_swap::ArcSwap;
use ffi::Resumer;
use openssl::error::ErrorStack;
use openssl::ssl::Ssl;
use openssl::x509::verify::X509CheckFlags;
use std::sync::Arc;

/// A server line's side of TLS.
pub struct Connector {
    resumer: ArcSwap<Resumer>,
    settings: ServerSettings,
    defaults: Defaults,
}

impl std::fmt::Debug for Connector {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Connector").field("settings", &self.settings).finish_non_exhaustive()
    }
}

impl PartialEq for Connector {
    /// Compares identities: a connector equals itself only.
    fn eq(&self, other: &Self) -> bool {
        std::ptr::eq(self, other)
    }
}

impl Eq for Connector {}

impl Connector {
    /// Builds the connector of a line; files that the line names are read.
    ///
    /// # Errors
    ///
    /// The mistake, with the file or the words that it concerns.
    pub fn new(
        settings: ServerSettings,
        defaults: Defaults,
        store: &Store,
        files: &dyn Files,
    ) -> Result<Self, SetupError> {
        let resumer = ArcSwap::from_pointee(build(&settings, &defaults, store, files)?);
        Ok(Self { resumer, settings, defaults })
    }

    /// The settings that it was built from.
    pub fn settings(&self) -> &ServerSettings {
        &self.settings
    }

    /// Whether its server is shown this certificate.
    pub(crate) fn shows(&self, certificate: &str) -> bool {
        self.settings.certificate.as_deref() == Some(certificate)
    }

    /// Whether its server is judged by authorities or lists of this file.
    pub(crate) fn trusts(&self, file: &str) -> bool {
        let options = &self.settings.options;
        let named = [&options.ca_file, &options.crl_file];
        self.settings.verify && named.into_iter().flatten().any(|own| own == file)
    }

    /// Rebuilds the context from the current content of the store, for [`Connector::adopt`]. No
    /// file is read.
    ///
    /// # Errors
    ///
    /// The context cannot be built.
    pub(crate) fn remade(&self, store: &Store) -> Result<Remade, SetupError> {
        build(&self.settings, &self.defaults, store, &NoFiles).map(Remade)
    }

    /// Makes connections from now on as a connector that was made of the same words does; sessions
    /// of earlier ones are not resumed.
    pub fn follow(&self, newer: &Connector) {
        self.resumer.store(newer.resumer.load_full());
    }

    /// Makes connections with this from now on.
    pub(crate) fn adopt(&self, remade: Remade) {
        self.resumer.store(Arc::new(remade.0));
    }

    /// A session with the server under `name`; it resumes the last one of the same thread and name.
    /// `alpn` is offered instead of the line's own, for checks.
    ///
    /// # Errors
    /// No memory, or a name that cannot be one.
    pub fn connect(
        &self,
        thread: usize,
        name: Option<&str>,
        alpn: Option<&[u8]>,
    ) -> Result<Conn, HandshakeError> {
        let ssl = self.resumer.load().begin(thread, name.unwrap_or("").as_bytes());
        self.prepare(ssl.map_err(broken)?, name, alpn)
    }

    /// As [`Connector::connect`], and how many bytes of early data may be sent: 0 if the server has
    /// not allowed it, if the session is of a protocol that is not offered now, or if its time is
    /// over; `now` is in seconds since 1970.
    ///
    /// # Errors
    /// As there.
    pub fn connect_early(
        &self,
        thread: usize,
        name: Option<&str>,
        alpn: Option<&[u8]>,
        now: u64,
    ) -> Result<(Conn, usize), HandshakeError> {
        let offered = alpn.or(self.settings.options.alpn.as_deref());
        let suits = |protocol: Option<&[u8]>| {
            protocol.is_none_or(|it| offered.is_some_and(|offered| names(offered, it)))
        };
        let resumer = self.resumer.load();
        let begun = resumer.begin_early(thread, name.unwrap_or("").as_bytes(), now, suits);
        let (ssl, room) = begun.map_err(broken)?;
        Ok((self.prepare(ssl, name, alpn)?, room))
    }

    /// Whether requests may come before handshakes are over (`allow-0rtt`).
    pub fn allows_early(&self) -> bool {
        self.settings.options.early
    }

    /// As [`Connector::connect`], with the session of another name.
    #[cfg(test)]
    pub(crate) fn connect_as(
        &self,
        thread: usize,
        of: &str,
        name: &str,
    ) -> Result<Conn, HandshakeError> {
        let ssl = self.resumer.load().begin(thread, of.as_bytes());
        self.prepare(ssl.map_err(broken)?, Some(name), None)
    }

    fn prepare(
        &self,
        mut ssl: Ssl,
        name: Option<&str>,
        alpn: Option<&[u8]>,
    ) -> Result<Conn, HandshakeError> {
        ssl.set_connect_state();
        if let Some(name) = name {
            ssl.set_hostname(name).map_err(broken)?;
        }
        if let Some(protocols) = alpn.or(self.settings.options.alpn.as_deref()) {
            ssl.set_alpn_protos(protocols).map_err(broken)?;
        }
        if self.settings.verify {
            context::verify(&mut ssl, Verify::Required, (Ignored::default(), Ignored::default()));
            if let Some(host) = name.or(self.settings.verify_host.as_deref()) {
                let wanted = ssl.param_mut();
                // As with HAProxy, the name of the subject counts beside alternative ones.
                wanted.set_hostflags(
                    X509CheckFlags::NO_PARTIAL_WILDCARDS | X509CheckFlags::ALWAYS_CHECK_SUBJECT,
                );
                wanted.set_host(host).map_err(broken)?;
            }
        }
        Conn::new(ssl, &self.defaults)
    }
}

fn broken(_: ErrorStack) -> HandshakeError {
    HandshakeError::new(Reason::Broken)
}

/// Whether a protocol is among some in wire format (RFC 7301 section 3.1).
fn names(mut offered: &[u8], protocol: &[u8]) -> bool {
    while let Some((length, rest)) = offered.split_first() {
        let Some((name, others)) = rest.split_at_checked(usize::from(*length)) else { break };
        if name == protocol {
            return true;
        }
        offered = others;
    }
    false
}

/// The rebuilt context of a connector.
pub(crate) struct Remade(Resumer);

fn build(
    settings: &ServerSettings,
    defaults: &Defaults,
    store: &Store,
    files: &dyn Files,
) -> Result<Resumer, SetupError> {
    let options = &settings.options;
    let mut made = context::plain(Side::Client)?;
    load_trust(options, store, files)?;
    if let Some(name) = &settings.certificate {
        for certificate in store.load(name, files)? {
            context::present(&mut made, &certificate)?;
        }
    }
    context::apply(&mut made, options, Side::Client).map_err(SetupError::ServerOption)?;
    if let Some(protocols) = &options.npn {
        ffi::select_protocol(&mut made, protocols);
    }
    if settings.verify {
        // OpenSSL would otherwise complete the chain that we show from what we trust.
        context::trust(&mut made, options, store, Side::Client)?;
    }
    Ok(Resumer::new(made, if settings.reuse { defaults.threads } else { 0 }))
}
