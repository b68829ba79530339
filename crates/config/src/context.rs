//! The context of every parser of a line: environment, files, names, diagnostics.
use crate::addr::{self, Resolver};
use crate::diag::{Diagnostic, Diagnostics, Severity};
use crate::dump::Listing;
use crate::env::Environment;
use crate::features::Features;
use crate::line::{Args, Fault};
use crate::model::{ShownText, TlsPresets, UnixAccess};
use crate::source::Files;
use sample::pattern::PatternFiles;
use sample::vars::SharedVars;
use sample::{NameReference, ParseContext, ScriptNames, TableNames};
use std::borrow::Cow;
use std::cell::RefCell;
use std::collections::HashSet;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The name of this instance among its peers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LocalPeer<'a> {
    /// Its name: that of the host unless `-L` or `localpeer` sets another one.
    pub name: &'a str,
    /// The command line sets it (`-L`), so `localpeer` has no effect.
    pub fixed: bool,
}

/// The arguments of [`load`](crate::load).
pub struct Setup<'a> {
    /// The environment at start.
    pub env: Environment,
    /// Version and features of the program.
    pub features: Features<'a>,
    /// The file system.
    pub files: &'a dyn Files,
    /// Host names.
    pub names: &'a dyn Resolver,
    /// Processors that the program may use: the default number of threads.
    pub processors: usize,
    /// The name among peers.
    pub local_peer: LocalPeer<'a>,
    /// `ssl-server-verify none` holds unless the configuration says otherwise (`-dV`).
    pub trusts_servers: bool,
    /// Loads scripts, where any may be loaded.
    pub scripts: Option<&'a dyn Scripts>,
}

/// Loads the scripts of a configuration, and lists their registrations.
pub trait Scripts: ScriptNames {
    /// `lua-prepend-path`: `variable` is `path` or `cpath`.
    ///
    /// # Errors
    /// The message for the user.
    fn prepend_path(&self, path: &str, variable: &str) -> Result<(), String>;

    /// `lua-load`, `lua-load-per-thread`: runs the body of a file.
    ///
    /// # Errors
    /// The message for the user.
    fn load(
        &self,
        file: (&str, &[u8]),
        args: &[&str],
        per_thread: bool,
        context: &ParseContext<'_>,
    ) -> Result<(), String>;
}

/// The machine's files and names, an empty environment and one processor.
impl Default for Setup<'_> {
    fn default() -> Self {
        Self {
            env: Environment::default(),
            features: Features::default(),
            files: &crate::Disk,
            names: &crate::SystemResolver,
            processors: 1,
            local_peer: LocalPeer::default(),
            trusts_servers: false,
            scripts: None,
        }
    }
}

/// `no` or `default` in front of a keyword.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Prefix {
    #[default]
    None,
    No,
    Default,
}

/// Where relative file names start (`default-path`, section 3.1).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) enum DefaultPath {
    #[default]
    Current,
    Config,
    Parent,
    Origin(PathBuf),
}

/// A name in an expression, and the message for an unknown name.
pub(crate) struct Mentioned {
    pub(crate) mention: NameReference,
    /// The proxy that the line belongs to; empty for rules of `defaults`.
    pub(crate) proxy: Arc<str>,
    /// An alert that points at the name, without its message.
    pub(crate) alert: Diagnostic,
}

/// The shared part of loading.
pub(crate) struct Cx<'a> {
    pub(crate) env: Environment,
    pub(crate) features: Features<'a>,
    pub(crate) files: &'a dyn Files,
    pub(crate) names: &'a dyn Resolver,
    /// Loads scripts, where any may be loaded.
    pub(crate) scripts: Option<&'a dyn Scripts>,
    pub(crate) processors: usize,
    /// The name among peers comes from the command line.
    pub(crate) local_peer_fixed: bool,
    /// The name of this process among peers.
    pub(crate) local_peer: String,
    /// A `peers` section was opened.
    pub(crate) has_peers: bool,
    pub(crate) diagnostics: Diagnostics,
    pub(crate) prefix: Prefix,
    /// `crt-base`, `ssl-default-*` and the like, of the lines so far.
    pub(crate) tls_presets: Arc<TlsPresets>,
    /// `unix-bind` of the lines so far: access and prefix.
    pub(crate) unix_presets: (UnixAccess, Option<Arc<str>>),
    pub(crate) default_path: DefaultPath,
    /// Pattern files and maps read so far, one dictionary per file.
    pub(crate) patterns: PatternFiles,
    /// Stick tables named so far.
    pub(crate) tables: TableNames,
    /// `description` of `global`.
    pub(crate) described: bool,
    /// `expose-experimental-directives`.
    pub(crate) experimental: bool,
    /// `proc` variables set in `global`.
    pub(crate) variables: SharedVars,
    /// Proxies, servers and userlists that expressions name.
    pub(crate) mentions: Vec<Mentioned>,
    /// Bytes of each file of an error reply, and what to say if they are too many.
    pub(crate) error_files: Vec<(usize, Diagnostic)>,
    /// The list of significant lines, if it is wanted.
    pub(crate) listing: Option<Listing>,
    /// The lines that count so far.
    pub(crate) text: ShownText,
    /// Words of the current line with text behind a port, and the warnings about them.
    pub(crate) odd_ports: RefCell<Vec<(String, String)>>,
    /// Rings that log lines name.
    pub(crate) rings: RefCell<Vec<crate::model::At<Arc<str>>>>,
    /// Rings of `log` lines with a stream address.
    pub(crate) implicit_rings: RefCell<Vec<crate::model::Ring>>,
    /// Variables of any scope that lines mention, if their name has a prefix.
    pub(crate) variable_names: HashSet<Box<str>>,
    /// Rings that log lines of proxies name, which need not be there.
    pub(crate) proxy_rings: Vec<crate::model::At<Arc<str>>>,
}

impl<'a> Cx<'a> {
    pub(crate) fn new(setup: Setup<'a>) -> Self {
        Self {
            env: setup.env,
            features: setup.features,
            files: setup.files,
            names: setup.names,
            scripts: setup.scripts,
            processors: setup.processors,
            local_peer_fixed: setup.local_peer.fixed,
            local_peer: setup.local_peer.name.to_owned(),
            has_peers: false,
            diagnostics: Diagnostics::default(),
            tls_presets: Arc::default(),
            unix_presets: Default::default(),
            prefix: Prefix::None,
            default_path: DefaultPath::default(),
            patterns: PatternFiles::default(),
            tables: TableNames::default(),
            described: false,
            experimental: false,
            variables: SharedVars::default(),
            mentions: Vec::new(),
            error_files: Vec::new(),
            listing: None,
            text: ShownText::default(),
            odd_ports: RefCell::default(),
            rings: Default::default(),
            implicit_rings: Default::default(),
            variable_names: HashSet::new(),
            proxy_rings: Vec::new(),
        }
    }

    /// An alert about a word of a line.
    pub(crate) fn alert(&mut self, args: Args<'_>, fault: Fault) {
        self.diagnostics.push(args.diagnostic(Severity::Alert, fault));
    }

    /// A warning about argument `n` of a line.
    pub(crate) fn warn(&mut self, args: Args<'_>, n: usize, message: impl std::fmt::Display) {
        let diagnostic: Diagnostic = args.diagnostic(Severity::Warning, args.fault(n, message));
        self.diagnostics.push(diagnostic);
    }

    /// The address of a word: `$NAME` and `${NAME}` are expanded there even outside quotes, as
    /// before quotes existed (section 2.3). Unset variables are empty. Text behind the digits of a
    /// port is removed.
    pub(crate) fn address<'w>(&self, word: &'w str) -> Cow<'w, str> {
        self.sound(self.expanded(word))
    }

    /// An address without the text behind the digits of its port, which HAProxy ignores; a warning
    /// names it.
    pub(crate) fn sound<'w>(&self, mut address: Cow<'w, str>) -> Cow<'w, str> {
        if let Some(addr::OddPort { end, message }) = addr::odd_port(&address) {
            self.odd_ports.borrow_mut().push((address.clone().into_owned(), message));
            match &mut address {
                Cow::Borrowed(text) => *text = &text[..end],
                Cow::Owned(text) => text.truncate(end),
            }
        }
        address
    }

    /// The word with its variables expanded, including the text behind the port.
    pub(crate) fn expanded<'w>(&self, word: &'w str) -> Cow<'w, str> {
        if !word.contains('$') {
            return Cow::Borrowed(word);
        }
        let mut parts = word.split('$');
        let mut address = parts.next().unwrap_or("").to_owned();
        for part in parts {
            match reference(part) {
                Some((name, rest)) => {
                    address.push_str(self.env.get(name).unwrap_or(""));
                    address.push_str(rest);
                }
                None => {
                    address.push('$');
                    address.push_str(part);
                }
            }
        }
        Cow::Owned(address)
    }

    /// The path of a file named in the configuration file `from`, after `default-path`.
    pub(crate) fn path(&self, name: &str, from: &str) -> PathBuf {
        if name.starts_with('/') {
            return PathBuf::from(name);
        }
        let parent = Path::new(from).parent().unwrap_or_else(|| Path::new(""));
        match &self.default_path {
            DefaultPath::Current => PathBuf::from(name),
            DefaultPath::Config => parent.join(name),
            DefaultPath::Parent => parent.join("..").join(name),
            DefaultPath::Origin(origin) => origin.join(name),
        }
    }

    /// Functions that scripts have registered.
    pub(crate) fn script_names(&self) -> Option<&dyn ScriptNames> {
        self.scripts.map(|scripts| scripts as &dyn ScriptNames)
    }

    /// Notes the variables that words mention: agents may set those with their prefix.
    pub(crate) fn note_variables<'w>(&mut self, words: impl Iterator<Item = &'w str>) {
        let of_name = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '.';
        for word in words.filter(|word| word.contains('.')) {
            for name in word.split(|c| !of_name(c)) {
                let Some((scope, name)) = name.split_once('.') else { continue };
                let known = ["proc", "sess", "txn", "req", "res"].contains(&scope);
                if known && name.contains('.') && !self.variable_names.contains(name) {
                    self.variable_names.insert(name.into());
                }
            }
        }
    }

    /// Reads a file named in the configuration.
    pub(crate) fn read(&self, name: &str, from: &str) -> io::Result<Vec<u8>> {
        self.files.read(&self.path(name, from))
    }
}

/// The name at the start of what follows a `$`, perhaps in braces, and the rest.
fn reference(text: &str) -> Option<(&str, &str)> {
    let (name, rest) = match text.strip_prefix('{') {
        Some(inner) => inner.split_once('}')?,
        None => {
            let letters = |b: &u8| b.is_ascii_alphanumeric() || *b == b'_';
            text.split_at(text.bytes().take_while(letters).count())
        }
    };
    let first = name.bytes().next()?;
    let plain = name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_');
    (plain && !first.is_ascii_digit()).then_some((name, rest))
}
