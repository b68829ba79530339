//! Fields that are not allowed in a trailer section (RFC 9110 section 6.5.1).

use htx::{Fields, HeaderId};

/// Whether recipients that merge trailers into the headers would frame or route a message by this
/// field, as some HTTP/2 servers and gateways do.
fn frames_or_routes(id: HeaderId) -> bool {
    matches!(id, HeaderId::ContentLength | HeaderId::TransferEncoding | HeaderId::Host)
}

/// Whether a field must precede the content: fields about the connection, routing, request
/// handling, authentication and the format of the content.
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

/// Whether a section has a field by which some recipient may frame or route the message.
pub fn has_framing_or_routing(trailers: &Fields) -> bool {
    trailers.iter().any(|field| frames_or_routes(field.id))
}

/// Removes the fields that are not allowed in a trailer section.
pub fn discard(trailers: &mut Fields) {
    if !trailers.is_empty() {
        trailers.remove_where(|field| belongs_before_content(field.id));
    }
}
