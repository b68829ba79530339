//! Proxies, servers, userlists and rings that arguments name: they may come later in the file, so whether they exist is known at
//! the end. Never resolves one.

use crate::args::{Arg, Args};
use crate::parser::Parser;

/// What a name must be the name of.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Wanted {
    /// A proxy with a server side; without a name, this one.
    Backend(Option<Box<str>>),
    /// A proxy with a client side; without a name, this one.
    Frontend(Option<Box<str>>),
    /// A server of the named proxy, or of this one.
    Server(Option<Box<str>>, Box<str>),
    /// A userlist.
    UserList(Box<str>),
    /// A group of a userlist: list and group.
    Group(Box<str>, Box<str>),
    /// A ring, for `debug`.
    Sink(Box<str>),
}

/// An argument that names something.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mention {
    /// What it names.
    pub wanted: Wanted,
    /// Number of the argument, from 1.
    pub number: usize,
    /// The keyword's name.
    pub keyword: &'static str,
}

impl Parser<'_> {
    /// Notes what the arguments of a fetch method name; `spec` is as for [`crate::args::check`].
    pub(crate) fn note_mentions(&self, spec: &str, keyword: &'static str, args: &Args) {
        let types = spec.split([',', '[', ']']).filter(|part| !part.is_empty());
        for (at, kind) in types.enumerate() {
            let name = || args.some_text(at).map(Box::from);
            let wanted = match (kind, args.get(at)) {
                ("backend", _) => Wanted::Backend(name()),
                ("frontend", _) => Wanted::Frontend(name()),
                ("server", Arg::Server(backend, server)) => {
                    Wanted::Server(backend.clone(), server.clone())
                }
                ("user list", Arg::Text(list)) if !list.is_empty() => {
                    Wanted::UserList(list.clone())
                }
                _ => continue,
            };
            let mention = Mention { wanted, number: at + 1, keyword };
            self.shared.mentions.borrow_mut().push(mention);
        }
    }
}
