//! The built-in error responses, worded as in HAProxy 2.7 (manual: `errorfile`, `http-error`).
//!
//! A response sent before a stream exists is sent raw ([`raw`]), with names in mixed case; one for
//! a stream is a normal message ([`fill`]) and passes through rules and mux.

use crate::head::Head;
use crate::start::Version;

/// One built-in response.
#[derive(Clone, Copy, Debug)]
pub struct ErrorReply {
    /// The status of the reply, by which it is selected.
    pub status: u16,
    /// The reason phrase.
    pub reason: &'static str,
    /// Whether it has `Connection: close`.
    pub close: bool,
    /// The HTML body.
    pub body: &'static str,
}

/// Statuses with a built-in response, in ascending order.
pub const REPLIES: [ErrorReply; 19] = [
    reply(200, "OK", "<html><body><h1>200 OK</h1>\nService ready.\n</body></html>\n"),
    ErrorReply {
        close: true,
        ..reply(
            400,
            "Bad request",
            "<html><body><h1>400 Bad request</h1>\n\
             Your browser sent an invalid request.\n\
             </body></html>\n",
        )
    },
    reply(
        401,
        "Unauthorized",
        "<html><body><h1>401 Unauthorized</h1>\n\
         You need a valid user and password to access this content.\n\
         </body></html>\n",
    ),
    reply(
        403,
        "Forbidden",
        "<html><body><h1>403 Forbidden</h1>\n\
         Request forbidden by administrative rules.\n\
         </body></html>\n",
    ),
    reply(
        404,
        "Not Found",
        "<html><body><h1>404 Not Found</h1>\nThe resource could not be found.\n</body></html>\n",
    ),
    reply(
        405,
        "Method Not Allowed",
        "<html><body><h1>405 Method Not Allowed</h1>\n\
         A request was made of a resource using a request method not supported by that \
         resource\n\
         </body></html>\n",
    ),
    reply(
        407,
        "Unauthorized",
        "<html><body><h1>407 Unauthorized</h1>\n\
         You need a valid user and password to access this content.\n\
         </body></html>\n",
    ),
    ErrorReply {
        close: true,
        ..reply(
            408,
            "Request Time-out",
            "<html><body><h1>408 Request Time-out</h1>\n\
             Your browser didn't send a complete request in time.\n\
             </body></html>\n",
        )
    },
    reply(
        410,
        "Gone",
        "<html><body><h1>410 Gone</h1>\n\
         The resource is no longer available and will not be available again.\n\
         </body></html>\n",
    ),
    reply(
        413,
        "Payload Too Large",
        "<html><body><h1>413 Payload Too Large</h1>\n\
         The request entity exceeds the maximum allowed.\n\
         </body></html>\n",
    ),
    reply(
        421,
        "Misdirected Request",
        "<html><body><h1>421 Misdirected Request</h1>\n\
         Request sent to a non-authoritative server.\n\
         </body></html>\n",
    ),
    reply(
        422,
        "Unprocessable Content",
        "<html><body><h1>422 Unprocessable Content</h1>\n\
         The server cannot process the contained instructions.\n\
         </body></html>\n",
    ),
    reply(
        425,
        "Too Early",
        "<html><body><h1>425 Too Early</h1>\nYour browser sent early data.\n</body></html>\n",
    ),
    reply(
        429,
        "Too Many Requests",
        "<html><body><h1>429 Too Many Requests</h1>\n\
         You have sent too many requests in a given amount of time.\n\
         </body></html>\n",
    ),
    reply(
        500,
        "Internal Server Error",
        "<html><body><h1>500 Internal Server Error</h1>\n\
         An internal server error occurred.\n\
         </body></html>\n",
    ),
    // The full stop that opens the second line is HAProxy's.
    reply(
        501,
        "Not Implemented",
        "<html><body><h1>501 Not Implemented</h1>\n\
         .The server does not support the functionality required to fulfill the \
         request.\n\
         </body></html>\n",
    ),
    reply(
        502,
        "Bad Gateway",
        "<html><body><h1>502 Bad Gateway</h1>\n\
         The server returned an invalid or incomplete response.\n\
         </body></html>\n",
    ),
    reply(
        503,
        "Service Unavailable",
        "<html><body><h1>503 Service Unavailable</h1>\n\
         No server is available to handle this request.\n\
         </body></html>\n",
    ),
    reply(
        504,
        "Gateway Time-out",
        "<html><body><h1>504 Gateway Time-out</h1>\n\
         The server didn't respond in time.\n\
         </body></html>\n",
    ),
];

const fn reply(status: u16, reason: &'static str, body: &'static str) -> ErrorReply {
    ErrorReply { status, reason, close: false, body }
}

/// The built-in response for a status; `None` if there is none.
pub fn find(status: u16) -> Option<&'static ErrorReply> {
    REPLIES.iter().find(|r| r.status == status)
}

/// Appends a response as it is sent before any stream exists, names in mixed case; `false` if the
/// status has none. The caller closes the connection after it.
pub fn raw(status: u16, out: &mut Vec<u8>) -> bool {
    let Some(reply) = find(status) else { return false };
    let connection = if reply.close { "Connection: close\r\n" } else { "" };
    let head = format!(
        "HTTP/1.1 {} {}\r\nContent-length: {}\r\nCache-Control: no-cache\r\n{connection}Content-Type: text/html\r\n\r\n",
        reply.status,
        reply.reason,
        reply.body.len(),
    );
    out.extend_from_slice(head.as_bytes());
    out.extend_from_slice(reply.body.as_bytes());
    true
}

/// Makes `head` the head of a response and returns its body; `None` (head unchanged) if the status
/// has none.
pub fn fill(status: u16, head: &mut Head) -> Option<&'static str> {
    let reply = find(status)?;
    head.clear();
    head.set_response(Version::Http11, reply.status, reply.reason.as_bytes());
    head.push(b"content-length", reply.body.len().to_string().as_bytes());
    head.push(b"cache-control", b"no-cache");
    if reply.close {
        head.push(b"connection", b"close");
    }
    head.push(b"content-type", b"text/html");
    Some(reply.body)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lengths_are_those_of_the_original() {
        let rows = [
            (200, 58),
            (400, 90),
            (401, 112),
            (403, 93),
            (404, 83),
            (405, 146),
            (407, 112),
            (408, 110),
            (410, 114),
            (413, 106),
            (421, 104),
            (422, 116),
            (425, 80),
            (429, 117),
            (500, 97),
            (501, 136),
            (502, 107),
            (503, 107),
            (504, 92),
        ];
        assert_eq!(rows.len(), REPLIES.len());
        for (status, length) in rows {
            assert_eq!(find(status).map(|r| r.body.len()), Some(length), "{status}");
        }
    }

    #[test]
    fn raw_replies_keep_their_casing() {
        let mut out = Vec::new();
        assert!(raw(400, &mut out));
        assert!(out.starts_with(
            b"HTTP/1.1 400 Bad request\r\nContent-length: 90\r\nCache-Control: no-cache\r\nConnection: close\r\nContent-Type: text/html\r\n\r\n"
        ));
        out.clear();
        assert!(raw(422, &mut out));
        assert!(!String::from_utf8_lossy(&out).contains("Connection"));
        assert!(!raw(418, &mut out));
    }

    #[test]
    fn stream_replies_are_messages() {
        let mut head = Head::default();
        assert_eq!(fill(403, &mut head).map(str::len), Some(93));
        let wire: Vec<u8> = head.runs().flatten().copied().collect();
        assert_eq!(
            wire,
            b"HTTP/1.1 403 Forbidden\r\ncontent-length: 93\r\ncache-control: no-cache\r\ncontent-type: text/html\r\n"
        );
    }
}
