//! Fields that have no place in a trailer section (RFC 9110 section 6.5.1).

use htx::{Fields, HeaderId};

/// Whether a receiver that joins trailers with headers would frame or route a message by this
/// field: HTTP/2 servers and gateways to other protocols are known to.
fn frames_or_routes(id: HeaderId) -> bool {
    matches!(id, HeaderId::ContentLength | HeaderId::TransferEncoding | HeaderId::Host)
}

/// Whether a field has to be known before the content: what concerns a connection, routing, the
/// handling of the request, who its sender is, and how the content is to be read.
fn belongs_before_content(id: HeaderId) -> bool {
    frames_or_routes(id)
        || matches!(
            id,
            HeaderId::Authorization
                | HeaderId::Connection
                | HeaderId::ContentEncoding
                | HeaderId::ContentRange
                | HeaderId::ContentType
                | HeaderId::Cookie
                | HeaderId::Expect
                | HeaderId::Forwarded
                | HeaderId::Http2Settings
                | HeaderId::KeepAlive
                | HeaderId::MaxForwards
                | HeaderId::ProxyAuthorization
                | HeaderId::ProxyConnection
                | HeaderId::Range
                | HeaderId::SetCookie
                | HeaderId::Te
                | HeaderId::Trailer
                | HeaderId::Upgrade
                | HeaderId::XForwardedFor
                | HeaderId::XForwardedHost
                | HeaderId::XForwardedProto
        )
}

/// Whether a section has a field by which some receiver may frame or route the message.
pub fn misleads(trailers: &Fields) -> bool {
    trailers.iter().any(|field| frames_or_routes(field.id))
}

/// Removes what has no place in a trailer section.
pub fn discard(trailers: &mut Fields) {
    if !trailers.is_empty() {
        trailers.remove_where(|field| belongs_before_content(field.id));
    }
}
