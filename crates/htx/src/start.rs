//! Methods, versions and reason phrases of start lines (RFC 9110 sections 9 and 15).

use std::fmt;

/// A request method that rules and muxes distinguish; the text of others is in the head.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[allow(missing_docs, reason = "each variant is the method of the same name")]
pub enum Method {
    Options,
    Get,
    Head,
    Post,
    Put,
    Delete,
    Trace,
    Connect,
    /// Any other token, lower-case spellings of the above included: methods are case-sensitive.
    #[default]
    Other,
}

impl Method {
    /// The method of a token, compared case-sensitively.
    #[inline]
    pub fn of(token: &[u8]) -> Self {
        match token {
            b"GET" => Self::Get,
            b"POST" => Self::Post,
            b"HEAD" => Self::Head,
            b"PUT" => Self::Put,
            b"DELETE" => Self::Delete,
            b"OPTIONS" => Self::Options,
            b"CONNECT" => Self::Connect,
            b"TRACE" => Self::Trace,
            _ => Self::Other,
        }
    }

    /// Whether a method is safe (RFC 9110 section 9.2.1): the request may be sent again if its
    /// outcome is unknown.
    pub fn is_safe(self) -> bool {
        matches!(self, Self::Get | Self::Head | Self::Options | Self::Trace)
    }

    /// The token; empty for `Other`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Options => "OPTIONS",
            Self::Get => "GET",
            Self::Head => "HEAD",
            Self::Post => "POST",
            Self::Put => "PUT",
            Self::Delete => "DELETE",
            Self::Trace => "TRACE",
            Self::Connect => "CONNECT",
            Self::Other => "",
        }
    }
}

/// A protocol version as the peer announced it. Ordered by major, then minor number.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[allow(missing_docs, reason = "each variant is the version of the same name")]
pub enum Version {
    Http10,
    #[default]
    Http11,
    Http2,
    Http3,
    /// Another version such as `HTTP/1.2`: logged as received, treated by its numbers.
    Other {
        major: u8,
        minor: u8,
    },
}

impl Version {
    /// The version with these numbers.
    pub fn new(major: u8, minor: u8) -> Self {
        match (major, minor) {
            (1, 0) => Self::Http10,
            (1, 1) => Self::Http11,
            (2, 0) => Self::Http2,
            (3, 0) => Self::Http3,
            _ => Self::Other { major, minor },
        }
    }

    /// Major and minor number.
    pub fn numbers(self) -> (u8, u8) {
        match self {
            Self::Http10 => (1, 0),
            Self::Http11 => (1, 1),
            Self::Http2 => (2, 0),
            Self::Http3 => (3, 0),
            Self::Other { major, minor } => (major, minor),
        }
    }

    /// Whether HTTP/1.1 rules (persistent by default, chunked bodies allowed) apply.
    #[inline]
    pub fn at_least_11(self) -> bool {
        match self {
            Self::Http10 => false,
            Self::Http11 | Self::Http2 | Self::Http3 => true,
            Self::Other { .. } => self.numbers() >= (1, 1),
        }
    }

    /// The version as logs show it.
    #[inline]
    pub fn token(self) -> &'static str {
        match self {
            Self::Http2 => "HTTP/2.0",
            Self::Http3 => "HTTP/3.0",
            older => older.h1_token(),
        }
    }

    /// The version token of HTTP/1 start lines: `HTTP/1.0` below 1.1, else `HTTP/1.1`.
    #[inline]
    pub fn h1_token(self) -> &'static str {
        if self.at_least_11() { "HTTP/1.1" } else { "HTTP/1.0" }
    }
}

impl PartialOrd for Version {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Version {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.numbers().cmp(&other.numbers())
    }
}

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (major, minor) = self.numbers();
        write!(f, "HTTP/{major}.{minor}")
    }
}

/// The standard reason phrase of a status: HAProxy's, which is older than RFC 9110's for some.
pub fn reason(status: u16) -> &'static str {
    match status {
        ..200 => interim_reason(status),
        200..=299 => success_reason(status),
        300..=399 => redirection_reason(status),
        400..=499 => client_error_reason(status),
        500..=599 => server_error_reason(status),
        _ => "Other",
    }
}

fn interim_reason(status: u16) -> &'static str {
    match status {
        100 => "Continue",
        101 => "Switching Protocols",
        102 => "Processing",
        103 => "Early Hints",
        _ => "Informational",
    }
}

fn success_reason(status: u16) -> &'static str {
    match status {
        200 => "OK",
        201 => "Created",
        202 => "Accepted",
        203 => "Non-Authoritative Information",
        204 => "No Content",
        205 => "Reset Content",
        206 => "Partial Content",
        207 => "Multi-Status",
        210 => "Content Different",
        226 => "IM Used",
        _ => "Success",
    }
}

fn redirection_reason(status: u16) -> &'static str {
    match status {
        300 => "Multiple Choices",
        301 => "Moved Permanently",
        302 => "Moved Temporarily",
        303 => "See Other",
        304 => "Not Modified",
        305 => "Use Proxy",
        307 => "Temporary Redirect",
        308 => "Permanent Redirect",
        310 => "Too many Redirects",
        _ => "Redirection",
    }
}

fn client_error_reason(status: u16) -> &'static str {
    match status {
        400 => "Bad Request",
        401 => "Unauthorized",
        402 => "Payment Required",
        403 => "Forbidden",
        404 => "Not Found",
        405 => "Method Not Allowed",
        406 => "Not Acceptable",
        407 => "Proxy Authentication Required",
        408 => "Request Time-out",
        409 => "Conflict",
        410 => "Gone",
        411 => "Length Required",
        412 => "Precondition Failed",
        413 => "Request Entity Too Large",
        414 => "Request-URI Too Long",
        415 => "Unsupported Media Type",
        416 => "Requested range unsatisfiable",
        417 => "Expectation failed",
        418 => "I'm a teapot",
        421 => "Misdirected Request",
        422 => "Unprocessable Content",
        423 => "Locked",
        424 => "Method failure",
        425 => "Too Early",
        426 => "Upgrade Required",
        428 => "Precondition Required",
        429 => "Too Many Requests",
        431 => "Request Header Fields Too Large",
        449 => "Retry With",
        450 => "Blocked by Windows Parental Controls",
        451 => "Unavailable For Legal Reasons",
        456 => "Unrecoverable Error",
        499 => "client has closed connection",
        _ => "Client Error",
    }
}

fn server_error_reason(status: u16) -> &'static str {
    match status {
        500 => "Internal Server Error",
        501 => "Not Implemented",
        502 => "Bad Gateway or Proxy Error",
        503 => "Service Unavailable",
        504 => "Gateway Time-out",
        505 => "HTTP Version not supported",
        506 => "Variant also negotiate",
        507 => "Insufficient storage",
        508 => "Loop detected",
        509 => "Bandwidth Limit Exceeded",
        510 => "Not extended",
        511 => "Network authentication required",
        520 => "Web server is returning an unknown error",
        _ => "Server Error",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unknown_statuses_have_the_reason_of_their_class() {
        for (status, expected) in [
            (199, "Informational"),
            (200, "OK"),
            (208, "Success"),
            (302, "Moved Temporarily"),
            (399, "Redirection"),
            (408, "Request Time-out"),
            (430, "Client Error"),
            (502, "Bad Gateway or Proxy Error"),
            (599, "Server Error"),
            (600, "Other"),
        ] {
            assert_eq!(reason(status), expected, "{status}");
        }
    }
}
