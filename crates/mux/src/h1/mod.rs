//! HTTP/1 connections, to clients and to servers: message framing, persistence, host and upgrade
//! rules, tunnels.
//!
//! One exchange, seen from a client connection: `handle_head` -> (`handle_body`)* -> `encode_head`
//! (interim ones first) -> (`encode_data`)* -> `encode_end` -> `reset_for_next` when `can_reuse`,
//! else close. A server connection runs the same with the two halves swapped.
//!
//! Reading order: [`conn`], [`recv`], [`send`], then the rules that they apply: `framing` (RFC 9112
//! section 6), `host` (RFC 9112 section 3.2), `persistence` (section 9), `upgrade` (RFC 9110
//! section 7.8, RFC 6455).

pub mod conn;
mod framing;
mod host;
mod persistence;
pub mod recv;
pub mod send;
pub mod settings;
mod upgrade;

pub use crate::{BodyStep, Eof, HeadStep};
pub use conn::H1Conn;
pub use recv::CheckedBody;
pub use send::{DataFraming, HEAD_GROWTH};
pub use settings::{ConnectionMode, H1ConnSettings};

/// The interim response that lets a client send the body announced with `Expect: 100-continue`, for
/// cases where the proxy needs the body before a server is chosen.
pub const CONTINUE: &[u8] = b"HTTP/1.1 100 Continue\r\n\r\n";

const EXPECTATION: &[u8] = b"100-continue";

/// Whether a request asks for an interim response before it sends its body (RFC 9110 section
/// 10.1.1).
pub fn expects_continue(head: &htx::Head) -> bool {
    head.version().at_least_11()
        && head.by_id(htx::HeaderId::Expect).any(|f| htx::list::has_token(f.value, EXPECTATION))
}

/// Removes the first expectation of an interim response, which has been met. Other members and
/// fields stay for the server to judge, as in HAProxy.
pub fn remove_met_expectation(head: &mut htx::Head) {
    let field =
        head.by_id(htx::HeaderId::Expect).find(|f| htx::list::has_token(f.value, EXPECTATION));
    let Some(field) = field else { return };
    let (index, mut met) = (field.index, false);
    let mut is_left = |item: &&[u8]| {
        let is_left = met || !item.eq_ignore_ascii_case(EXPECTATION);
        met |= !is_left;
        is_left
    };
    let rest: Vec<&[u8]> = htx::list::items(field.value).filter(&mut is_left).collect();
    let rest = rest.join(&b", "[..]);
    match rest.is_empty() {
        true => head.remove_at(index),
        false => head.replace_value(index, &rest),
    };
}

#[cfg(test)]
mod tests;
