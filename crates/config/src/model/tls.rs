//! TLS settings of lines (sections 3.2, 5.1 and 5.2).
use sample::Expr;
use std::sync::Arc;

/// TLS of a bind line.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TlsBind {
    /// `ssl`: connections are encrypted.
    pub enabled: bool,
    /// `generate-certificates`
    pub generates: bool,
    /// `ca-sign-file`, `ca-sign-pass`
    pub sign: tls::Generates,
    /// Certificates, versions and the other TLS settings of a bind line.
    pub settings: tls::BindSettings,
    /// The presets that hold where the line is.
    pub presets: Option<Arc<TlsPresets>>,
}

/// TLS of a server line.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TlsServer {
    /// The presets that hold where the line is.
    pub presets: Option<Arc<TlsPresets>>,
    /// `ssl`: connections are encrypted.
    pub enabled: bool,
    /// There was an `ssl`, so that connections can be encrypted.
    pub mentioned: bool,
    /// `no-ssl`
    pub refused: bool,
    /// `check-ssl`: whether checks use TLS; `None` without the word.
    pub check: Option<bool>,
    /// `verify`; `verify`; without the word `ssl-server-verify` decides.
    pub verify: Option<bool>,
    /// `verifyhost`
    pub verify_host: Option<String>,
    /// `crt`
    pub certificate: Option<String>,
    /// `no-ssl-reuse`
    pub no_reuse: bool,
    /// `sni`
    pub sni: Option<ServerName>,
    /// `check-sni`
    pub check_sni: Option<String>,
    /// `check-alpn`, in wire format.
    pub check_alpn: Option<Vec<u8>>,
    /// Versions, ciphers, authorities.
    pub options: tls::Options,
}

/// The name that a server is asked by.
#[derive(Clone, Debug)]
pub struct ServerName {
    /// As written, and the number of its word.
    pub written: (String, usize),
    /// The same, understood.
    pub expr: Option<Arc<Expr>>,
}

impl PartialEq for ServerName {
    fn eq(&self, other: &Self) -> bool {
        self.written == other.written
    }
}

impl Eq for ServerName {}

/// Settings of `global` that hold for the lines behind them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TlsPresets {
    /// `crt-base`: where relative names of certificates start.
    pub crt_base: Option<String>,
    /// `ca-base`: where relative names of authorities and revocation lists start.
    pub ca_base: Option<String>,
    /// `ssl-default-bind-*`
    pub bind: tls::Options,
    /// `ssl-default-server-*`
    pub server: tls::Options,
}

impl TlsPresets {
    /// The settings of a line, or else those at the end of the configuration.
    pub fn of<'p>(line: Option<&'p Arc<Self>>, process: &'p TlsProcess) -> &'p Self {
        line.unwrap_or(&process.presets)
    }
}

/// TLS of the whole process.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TlsProcess {
    /// The presets that hold at the end of the configuration.
    pub presets: Arc<TlsPresets>,
    /// `ssl-server-verify none`
    pub trusts_servers: bool,
    /// `ssl-load-extra-files`, `ssl-load-extra-del-ext`
    pub extras: tls::Extras,
    /// `ssl-dh-param-file`: its text.
    pub dh_file: Option<Vec<u8>>,
    /// `tune.ssl.default-dh-param`: the most bits; 0 for none.
    pub default_dh: u32,
    /// `issuers-chain-path`: the names of its files and their texts.
    pub issuers: Vec<(String, Vec<u8>)>,
    /// `tune.ssl.*`
    pub defaults: tls::Defaults,
    /// `ocsp-update.mindelay`, `ocsp-update.maxdelay`
    pub update_delays: tls::runtime::UpdateDelays,
    /// `ocsp-update.disable`
    pub updates_nothing: bool,
}
