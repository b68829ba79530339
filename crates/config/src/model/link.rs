//! How connections to a server are made, and what they begin with (section 5.2). Never makes one.

/// Everything about connections to a server beyond its address.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Link {
    /// `send-proxy` and its family.
    pub announce: Announce,
}

/// What a PROXY protocol header is asked to be: `send-proxy*` and `proxy-v2-options`.
///
/// Each keyword sets what it names, and its `no-` form clears just that, so that what is left may
/// be odd: any of these without version 2 gives a header of version 1.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Announce {
    /// `send-proxy`
    pub v1: bool,
    /// `send-proxy-v2`
    pub v2: bool,
    /// `ssl`
    pub ssl: bool,
    /// `cert-cn`
    pub cert_cn: bool,
    /// `ssl-cipher`
    pub ssl_cipher: bool,
    /// `cert-sig`
    pub cert_sig: bool,
    /// `cert-key`
    pub cert_key: bool,
    /// `authority`
    pub authority: bool,
    /// `crc32c`
    pub crc32c: bool,
    /// `unique-id`
    pub unique_id: bool,
}

impl Announce {
    /// Whether a header is sent.
    pub fn any(self) -> bool {
        self != Self::default()
    }

    /// Whether it says how the client's connection is encrypted.
    pub fn tls(self) -> bool {
        self.ssl || self.cert_cn || self.ssl_cipher || self.cert_sig || self.cert_key
    }
}
