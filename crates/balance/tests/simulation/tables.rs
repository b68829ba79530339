//! The tables of `docs/balancing.md`, which are what the tests compute.

use std::sync::Mutex;

const FILE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/balancing.md");

/// Held while the file is read and written.
static FILE_LOCK: Mutex<()> = Mutex::new(());

/// Holds that the document has this table between its two marks; with `WEIR_DOCS=write`, puts it
/// there.
pub(crate) fn hold(name: &str, table: &str) {
    let _alone = FILE_LOCK.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
    let (begin, end) = (format!("<!-- {name} -->\n"), format!("<!-- end of {name} -->"));
    let text = std::fs::read_to_string(FILE).expect("docs/balancing.md");
    let (before, rest) = text.split_once(&begin).expect("a mark where the table begins");
    let (found, after) = rest.split_once(&end).expect("a mark where the table ends");
    if std::env::var_os("WEIR_DOCS").is_some_and(|word| word == "write") {
        let text = format!("{before}{begin}\n{table}\n{end}{after}");
        std::fs::write(FILE, text).expect("a document that can be written");
    } else {
        assert_eq!(found.trim(), table.trim(), "docs/balancing.md: write it with WEIR_DOCS=write");
    }
}
