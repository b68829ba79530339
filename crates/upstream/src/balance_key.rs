//! The key that a hashing algorithm balances by, taken from a request (configuration manual,
//! `balance`).

use engine::state::runtime::Backend;
use engine::state::session::transaction::Transaction;
use htx::{Head, Method, list};
use observability::telemetry::sample_context::View;
use sample::{Type, Value};
use settings::{HashKey, Hashing, UriKey};

/// The hash for this request; `None` if the algorithm hashes nothing or the request has no key, so
/// that servers take turns.
pub(crate) fn key(tx: &mut Transaction, backend: &Backend) -> Option<u32> {
    let hashing = backend.settings.hashing.as_ref()?;
    let hash = match &hashing.key {
        HashKey::Source => {
            let source = tx.notes.source.or(tx.client.rare.source).or(tx.client.peer)?;
            balance::hash::source(source.ip())
        }
        HashKey::Expression { expr, even_empty } => {
            let view = View::of(tx);
            let value = expr.eval_as(Type::Bin, &view).ok()?;
            let Value::Bin(bytes) = value else { return None };
            if bytes.is_empty() && !even_empty {
                return None;
            }
            (hashing.function)(&bytes)
        }
        of_message => {
            let body = tx.notes.bodies[0].as_deref().unwrap_or_default();
            (hashing.function)(find(of_message, &tx.space.request, body)?)
        }
    };
    Some(mix(hashing, hash))
}

fn mix(hashing: &Hashing, hash: u32) -> u32 {
    if hashing.avalanche { balance::hash::avalanche(hash) } else { hash }
}

/// The bytes of a request that are hashed.
fn find<'r>(key: &HashKey, request: &'r Head, body: &'r [u8]) -> Option<&'r [u8]> {
    match key {
        HashKey::Uri(key) => Some(cut(key, request)),
        HashKey::UrlParam { name, check_post } => of_query(request.uri(), name).or_else(|| {
            let posted = *check_post && request.method_id() == Method::Post;
            posted.then(|| parameter(body, name)).flatten()
        }),
        HashKey::Header { name, domain_only } => {
            let mut fields = request.fields();
            let value = list::trim(fields.find(|field| *field.name == **name)?.value);
            // An empty first item is no key, whatever follows.
            let item = list::items(value).next().filter(|_| value[0] != b',')?;
            Some(if *domain_only { main_label(item) } else { item })
        }
        HashKey::Source | HashKey::Expression { .. } => None,
    }
}

fn cut<'r>(of: &UriKey, request: &'r Head) -> &'r [u8] {
    let uri = request.uri();
    let mut key = uri;
    if of.path_only {
        key = path_start(uri).map_or(&[][..], |start| &uri[start..]);
    }
    if !of.whole {
        key = key.split(|byte| *byte == b'?').next().unwrap_or_default();
    }
    if let Some(len) = of.len {
        key = &key[..key.len().min(len as usize)];
    }
    if let Some(depth) = of.depth {
        let mut slashes = key.iter().enumerate().filter(|(_, byte)| **byte == b'/');
        let end = slashes.nth(depth as usize).map_or(key.len(), |(at, _)| at);
        key = &key[..end];
    }
    key
}

/// Where the path begins; nowhere in `*` and in an authority alone.
fn path_start(uri: &[u8]) -> Option<usize> {
    if uri.starts_with(b"/") {
        return Some(0);
    }
    let authority = uri.windows(3).position(|three| three == b"://")? + 3;
    uri[authority..].iter().position(|byte| *byte == b'/').map(|slash| authority + slash)
}

/// A parameter of the query of a URI, not decoded.
pub fn of_query<'r>(uri: &'r [u8], name: &[u8]) -> Option<&'r [u8]> {
    let mark = uri.iter().position(|byte| *byte == b'?')?;
    parameter(&uri[mark + 1..], name)
}

/// The value of the first `name=value` between ampersands.
fn parameter<'r>(query: &'r [u8], name: &[u8]) -> Option<&'r [u8]> {
    let value = |pair: &'r [u8]| pair.strip_prefix(name)?.strip_prefix(b"=");
    query.split(|byte| *byte == b'&').find_map(value)
}

/// The label before the last dot, back to the dot before it; a label has one byte at least. Without
/// a dot it is the whole name.
fn main_label(host: &[u8]) -> &[u8] {
    let dot = |bytes: &[u8]| bytes.iter().rposition(|byte| *byte == b'.');
    match dot(host) {
        None | Some(0) => host,
        Some(end) => &host[dot(&host[..end - 1]).map_or(0, |before| before + 1)..end],
    }
}

#[cfg(test)]
mod tests;
