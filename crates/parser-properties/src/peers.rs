//! Properties of sessions with peers.

use ::peers::{Group, SessionId, Settings, SharedTable};
use ::table::{Aggregate, DataKind, DataType, GroupWalk, KeyKind, Table};
use std::sync::Arc;

/// The time, which does not advance.
const NOW: u64 = 10_000_000;
/// Bytes of a body.
const MAX_MESSAGE: usize = 256;
/// The hello that inputs without one of their own begin with.
const HELLO: &[u8] = b"HAProxyS 2.1\na\nb 7 1\n";

/// Bytes from a peer: nothing panics, output is bounded, and what is learned does not depend on the
/// pieces in which bytes come. An input that begins with a zero byte is a whole connection, any
/// other one what follows the handshake.
pub fn session(bytes: &[u8]) {
    let stream = match bytes {
        [0, rest @ ..] => rest.to_vec(),
        _ => [HELLO, bytes].concat(),
    };
    let whole = learned(&stream, usize::MAX);
    assert_eq!(learned(&stream, 1), whole, "byte by byte");
    assert_eq!(learned(&stream, 7), whole, "in small pieces");
}

/// The entries of all tables behind a stream that comes in pieces of this size.
fn learned(stream: &[u8], piece: usize) -> Vec<(usize, Vec<u8>)> {
    let tables: Vec<_> = KEYS.iter().enumerate().map(table).collect();
    let shared =
        |table: &Arc<Table>| SharedTable { name: table.name().into(), table: table.clone() };
    let settings =
        Settings { remotes: vec!["b".into()], max_message: MAX_MESSAGE, ..Settings::new("a") };
    let mut group = Group::new(settings, tables.iter().map(shared).collect(), 1, NOW);
    let id = group.accept(NOW).expect("the first connection");
    let mut unused = Vec::new();
    for piece in stream.chunks(piece.min(stream.len().max(1))) {
        unused.extend_from_slice(piece);
        let used = group.receive(id, &unused, NOW);
        assert!(used <= unused.len());
        unused.drain(..used);
    }
    let open = group.sessions().count() > 0;
    assert!(!open || unused.len() <= 1_024.max(MAX_MESSAGE + 16), "{} bytes wait", unused.len());
    hear(&mut group, id);
    let mut entries: Vec<_> = tables.iter().flat_map(|table| keys(table)).collect();
    entries.sort();
    entries
}

const KEYS: [KeyKind; 4] =
    [KeyKind::Integer, KeyKind::Text(7), KeyKind::Binary(5), KeyKind::Integer];

/// A table that stores every data type. Each node counts in a copy of the last one.
fn table((number, kind): (usize, &KeyKind)) -> Arc<Table> {
    let mut settings = ::table::Settings::new(["i", "s", "b", "n"][number], *kind, 64);
    settings.aggregate = (number == 3).then_some(Aggregate::Sum);
    settings.expire = Some(60_000);
    settings.nopurge = true;
    for (data, _, kind) in DataType::TABLE {
        let period = if *kind == DataKind::Rate { 1_000 } else { 0 };
        settings.add(*data, if data.is_array() { 3 } else { 1 }, period);
    }
    let table = Table::new(settings, number);
    table.keep_copies(&["b".into()]);
    Arc::new(table)
}

/// Takes all output of the group.
fn hear(group: &mut Group, id: SessionId) {
    let mut calls = 0;
    let mut out = Vec::new();
    while group.transmit(id, &mut out, 1_000, NOW) {
        out.clear();
        calls += 1;
        assert!(calls < 1_000, "there is always more to say");
    }
    while group.next_action().is_some() {}
}

fn keys(table: &Table) -> Vec<(usize, Vec<u8>)> {
    let mut walk = GroupWalk::default();
    let entries = std::iter::from_fn(|| table.walk_group(&mut walk, NOW)).flatten();
    entries.map(|entry| (table.number(), entry.key().to_vec())).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn seeds_teach_entries() {
        for (seed, count) in [
            (&include_bytes!("../../../fuzz/seeds/peers/integers")[..], 3),
            (include_bytes!("../../../fuzz/seeds/peers/texts"), 4),
            (include_bytes!("../../../fuzz/seeds/peers/arrays"), 1),
            // The table of a node, by both of its names, and what this process had before; not that
            // of another process.
            (include_bytes!("../../../fuzz/seeds/peers/nodes"), 3),
        ] {
            let stream = [HELLO, seed].concat();
            assert_eq!(learned(&stream, usize::MAX).len(), count, "{seed:?}");
        }
    }
}
