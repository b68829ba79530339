//! Proxies, servers, userlists and rings that arguments name: they may come later in the file, so
//! whether they exist is known at the end.

/// The kind of object that a name refers to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ReferenceTarget {
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
pub struct NameReference {
    /// The object that it refers to.
    pub wanted: ReferenceTarget,
    /// Number of the argument, from 1.
    pub number: usize,
    /// The keyword's name.
    pub keyword: &'static str,
}
