//! `httpclient.*`: how requests of the process itself reach their servers.
use super::At;

/// Settings of the HTTP client.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct HttpClient {
    /// `httpclient.resolvers.disabled`
    pub resolves_nothing: bool,
    /// `httpclient.resolvers.id`
    pub resolvers: Option<At<String>>,
    /// `httpclient.resolvers.prefer` is `ipv4`.
    pub prefers_ipv4: bool,
    /// `httpclient.retries`
    pub retries: Option<u32>,
    /// `httpclient.ssl.ca-file`
    pub ca_file: Option<At<String>>,
    /// `httpclient.ssl.verify none`
    pub trusts_servers: bool,
    /// `httpclient.timeout.connect`, ms.
    pub timeout_connect: Option<u64>,
}
