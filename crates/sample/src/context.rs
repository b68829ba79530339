//! The context in which expressions are parsed: the section, its line, and the state that all
//! parsers of one configuration share.

use crate::name_reference::NameReference;
use crate::pattern::PatternFiles;
use crate::place::Places;
use crate::script::ScriptNames;
use crate::tables::{TableMention, TableNames, TableRef, TableUse};
use crypto::PublicKey;
use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::io;
use std::net::IpAddr;
use std::path::Path;
use std::sync::Arc;
use stdx::Mutex;

/// Public keys of files, by the names of these.
pub type PublicKeys = Arc<Mutex<BTreeMap<Box<str>, PublicKey>>>;

/// The state that all parsers of one configuration share.
pub struct Shared<'a> {
    /// Reads a whole file (patterns, maps, payloads of replies).
    pub files: &'a dyn Fn(&Path) -> io::Result<Vec<u8>>,
    /// Looks up an environment variable.
    pub env: &'a dyn Fn(&str) -> Option<String>,
    /// Looks up the address of a host name.
    pub names: &'a dyn Fn(&str) -> Option<IpAddr>,
    /// Pattern files and maps loaded so far, by name.
    pub patterns: PatternFiles,
    /// Stick tables named so far.
    pub tables: TableNames,
    /// Public keys that tokens are verified by.
    pub keys: PublicKeys,
    /// Proxies, servers and userlists that arguments name, in order.
    pub mentions: RefCell<Vec<NameReference>>,
    /// Functions that scripts have registered, where scripts are loaded.
    pub scripts: Option<&'a dyn ScriptNames>,
}

impl<'a> Shared<'a> {
    /// Shared state with the two ways out that parsing needs.
    pub fn new(
        files: &'a dyn Fn(&Path) -> io::Result<Vec<u8>>,
        env: &'a dyn Fn(&str) -> Option<String>,
    ) -> Shared<'a> {
        Shared {
            files,
            env,
            names: &|_| None,
            patterns: PatternFiles::default(),
            tables: TableNames::default(),
            keys: PublicKeys::default(),
            mentions: RefCell::default(),
            scripts: None,
        }
    }
}

/// A declared capture.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CaptureSlot {
    /// The header to capture by itself, for `capture request header`; rules fill the others.
    pub header: Option<String>,
    /// Longest content kept, in bytes.
    pub len: usize,
}

/// The capture slots of one proxy; declarations and rules add to them while the section is read.
#[derive(Debug, Default)]
pub struct Captures {
    /// Slots for requests.
    pub request: RefCell<Vec<CaptureSlot>>,
    /// Slots for responses.
    pub response: RefCell<Vec<CaptureSlot>>,
    /// Capture slots that rules fill without a declaration so far: a later line may declare them.
    pub needed: RefCell<Vec<NeededCapture>>,
}

/// A capture slot that a rule fills.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NeededCapture {
    /// Of a response, not of a request.
    pub response: bool,
    /// Its number, from 0 on.
    pub slot: usize,
}

impl Captures {
    /// Whether a slot has been declared.
    pub fn has(&self, needed: NeededCapture) -> bool {
        let slots = if needed.response { &self.response } else { &self.request };
        needed.slot < slots.borrow().len()
    }
}

/// The place of the words being parsed.
pub struct ParseContext<'a> {
    /// The state that all parsers of one configuration share.
    pub shared: &'a Shared<'a>,
    /// Capture slots of the section.
    pub captures: &'a Captures,
    /// All places where the parsed expression will run; it must be valid in one of them.
    pub places: Places,
    /// Name of the proxy, empty outside of one.
    pub proxy: &'a str,
    /// The default realm of `auth`; empty for the proxy's name.
    pub realm: &'a str,
    /// Whether the proxy is in HTTP mode.
    pub http: bool,
    /// Name of the file.
    pub file: Arc<str>,
    /// Line, from 1.
    pub line: u32,
    /// Warnings found on the way, in HAProxy's words.
    pub warnings: RefCell<Vec<String>>,
    /// Words, by number, that HAProxy ignores silently, with a hint each.
    pub hints: RefCell<Vec<(usize, String)>>,
    /// A parsed format has a log variable, which needs the record of the transaction.
    pub wants_record: Cell<bool>,
}

impl<'a> ParseContext<'a> {
    /// A context for HTTP mode without a proxy; callers set the fields that matter to them.
    pub fn new(shared: &'a Shared<'a>, captures: &'a Captures) -> ParseContext<'a> {
        ParseContext {
            shared,
            captures,
            places: Places::ALL,
            proxy: "",
            realm: "",
            http: true,
            file: "".into(),
            line: 0,
            warnings: RefCell::default(),
            hints: RefCell::default(),
            wants_record: Cell::new(false),
        }
    }

    /// The place of the words, as listings of patterns print it.
    pub fn place(&self) -> String {
        format!("file '{}' line {}", self.file, self.line)
    }

    /// Notes a warning about the line at hand.
    pub fn warn(&self, message: impl Into<String>) {
        self.warnings.borrow_mut().push(message.into());
    }

    /// Notes a warning about one word of the line at hand.
    pub fn hint(&self, word: usize, message: impl Into<String>) {
        self.hints.borrow_mut().push((word, message.into()));
    }

    /// The table called `name`, or the one of this section, for later.
    pub fn refer(&self, name: Option<&str>, usage: TableUse) -> Arc<TableRef> {
        let table = Arc::new(TableRef::new(name.unwrap_or(self.proxy)));
        self.shared.tables.push(TableMention {
            table: table.clone(),
            usage,
            proxy: self.proxy.to_owned(),
            file: self.file.clone(),
            line: self.line,
        });
        table
    }
}
