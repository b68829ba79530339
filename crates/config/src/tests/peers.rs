//! Words of `peers` sections and of stick tables that are shared.
use super::*;
use table::Aggregate;

const SECTION: &str = "global\n localpeer a\npeers p\n peer a 127.0.0.1:1\n peer b 127.0.0.1:2";

#[test]
fn peers_get_the_parts_of_the_keys_that_their_lines_say() {
    let text = "global\n localpeer a\npeers p\n shards 3\n peer a 127.0.0.1:1 shard 1\n \
        peer b 127.0.0.1:2 shard 2\n default-server shard 3\n peer c 127.0.0.1:3\n \
        peer d 127.0.0.1:4 shard 0\n server e shard 1\n peer f 127.0.0.1:5 shard 4\n";
    let section = model(text).peers.remove(0);
    assert_eq!(section.shards, 3);
    let shards: Vec<_> = section.peers.iter().map(|peer| peer.shard).collect();
    assert_eq!(shards, [Some(1), Some(2), Some(3), None, Some(1), Some(4)]);
    let told = messages(text, Severity::Warning);
    let expected =
        "Peers section 'p': 'shard 4' of peer 'f' is ignored: it is greater than 'shards'.";
    assert!(told.iter().any(|it| it.contains(expected)), "{told:?}");
}

#[test]
fn tables_are_shared_as_their_words_say() {
    let text = format!(
        "{SECTION}\n table t type string len 8 size 1k aggregate max\n \
         table r type string len 8 size 1k recv-only write-to other store conn_cur\n\
         backend other\n stick-table type string len 8 size 1k peers p aggregate sum\n\
         backend last\n stick-table type ip size 1k aggregate last peers p\n"
    );
    let tables = model(&text).tables;
    let of = |name: &str| tables.iter().find(|table| *table.name == *name).expect("declared");
    assert_eq!(of("p/t").aggregate, Some(Aggregate::Max));
    assert_eq!(of("other").aggregate, Some(Aggregate::Sum));
    assert_eq!(of("last").aggregate, Some(Aggregate::Last));
    assert_eq!((of("p/r").recv_only, of("p/r").write_to.as_deref()), (true, Some("other")));
    assert!(!of("p/t").recv_only && of("p/t").write_to.is_none());
}

#[test]
fn words_that_make_no_sense_are_errors() {
    let b = "backend b\n stick-table type ip size 1k";
    for (lines, expected) in [
        (" shards".to_owned(), "'shards' expects a number of peers, from 1 on"),
        (" shards 0".to_owned(), "'shards' expects a number of peers, from 1 on"),
        (" shards x".to_owned(), "'shards' expects a number of peers, from 1 on"),
        (" shards 2 3".to_owned(), "3"),
        (" peer c 127.0.0.1:3 shard".to_owned(), "'shard' expects a number"),
        (" peer c 127.0.0.1:3 shard -1".to_owned(), "'shard' expects a number"),
        (format!("{b} aggregate"), "stick-table: missing argument after 'aggregate'."),
        (
            format!("{b} peers p aggregate min"),
            "stick-table: 'aggregate' expects 'sum', 'max' or 'last', not 'min'.",
        ),
        (format!("{b} aggregate sum"), "stick-table: 'aggregate' needs 'peers'."),
        (
            format!("{b} peers p aggregate sum recv-only"),
            "stick-table: 'aggregate' and 'recv-only' exclude each other.",
        ),
        (
            format!("{b} peers p aggregate sum write-to c"),
            "stick-table: 'aggregate' and 'write-to' exclude each other.",
        ),
        (
            " table t type ip size 1k recv-only aggregate max".to_owned(),
            "table: 'aggregate' and 'recv-only' exclude each other.",
        ),
        (format!("{b} write-to"), "stick-table: missing argument after 'write-to'."),
        (
            format!("{b} peers p write-to nowhere"),
            "stick-table 'b': unable to find table 'nowhere' referenced by write-to.",
        ),
        (
            format!("{b} peers p write-to b"),
            "stick-table 'b': 'write-to' cannot name the table itself.",
        ),
        (
            format!("{b} peers p write-to c\nbackend c\n stick-table type ipv6 size 1k"),
            "stick-table 'b': 'write-to' table 'c' has keys of another type or length.",
        ),
        (
            " table t type ip size 1k aggregate sum\n table t@b type ip size 1k".to_owned(),
            "stick-table 'p/t@b' has the name of a copy that stick-table 'p/t' keeps ('aggregate').",
        ),
        (
            "backend b\n stick-table type string len 4 size 1k peers p write-to c\n\
             backend c\n stick-table type string len 5 size 1k"
                .to_owned(),
            "stick-table 'b': 'write-to' table 'c' has keys of another type or length.",
        ),
    ] {
        let told = messages(&format!("{SECTION}\n{lines}\n"), Severity::Alert);
        assert!(told.iter().any(|it| it.contains(expected)), "{lines}: {told:?}");
    }
    // The parameter belongs to peers.
    let told = messages("backend b\n server s 127.0.0.1:1 shard 1\n", Severity::Alert);
    assert!(told.iter().any(|it| it.contains("'shard'")), "{told:?}");
}
