//! Settings of a FastCGI connection.

use wire::h1::Limits;

/// Settings of one connection, from an `fcgi-app` section.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FcgiSettings {
    /// Limits on the heads of answers.
    pub limits: Limits,
    /// `option keep-conn`: the application keeps the connection open after a request.
    pub keep_conn: bool,
    /// `option get-values`: asks for the capacity before the first request.
    pub get_values: bool,
    /// `option max-reqs` with `option mpxs-conns`: concurrent requests on the connection, at least
    /// one. The capacity that the application reports lowers it.
    pub max_reqs: u16,
    /// Bytes of encoded parameters that a request may have, at most one record.
    pub max_params: u16,
}

impl Default for FcgiSettings {
    fn default() -> Self {
        Self {
            limits: Limits::DEFAULT,
            keep_conn: true,
            get_values: false,
            max_reqs: 1,
            max_params: 16_368,
        }
    }
}
