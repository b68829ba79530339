//! The name of a server, which changes when another server takes the slot of a deleted one.

use arc_swap::{ArcSwap, Guard};
use std::fmt;
use std::ops::Deref;
use std::sync::Arc;

/// The name that a server has now.
#[derive(Debug)]
pub(crate) struct NameCell(ArcSwap<Arc<str>>);

impl NameCell {
    pub(crate) fn new(name: &str) -> Self {
        Self(ArcSwap::from_pointee(name.into()))
    }

    pub(crate) fn set(&self, name: &str) {
        self.0.store(Arc::new(name.into()));
    }

    pub(crate) fn get(&self) -> ServerName {
        ServerName(self.0.load())
    }
}

/// The server's name at one moment. Reading it writes to no shared memory.
pub struct ServerName(Guard<Arc<Arc<str>>>);

impl ServerName {
    /// The name, to be kept for longer than a moment.
    pub fn share(&self) -> Arc<str> {
        Arc::clone(&self.0)
    }
}

impl Deref for ServerName {
    type Target = str;

    fn deref(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for ServerName {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(self)
    }
}

impl fmt::Debug for ServerName {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&**self, out)
    }
}

impl PartialEq<str> for ServerName {
    fn eq(&self, other: &str) -> bool {
        &**self == other
    }
}

impl PartialEq<&str> for ServerName {
    fn eq(&self, other: &&str) -> bool {
        &**self == *other
    }
}

impl PartialEq<String> for ServerName {
    fn eq(&self, other: &String) -> bool {
        &**self == other.as_str()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn name_that_was_read_outlives_its_replacement() {
        let cell = NameCell::new("one");
        let (before, kept) = (cell.get(), cell.get().share());
        cell.set("two");
        assert_eq!((&*before, &*kept, &*cell.get()), ("one", "one", "two"));
        drop(before);
        assert_eq!(Arc::strong_count(&kept), 1, "a name that no server has is freed");
        assert!(cell.get() == "two" && format!("{}", cell.get()) == "two");
    }
}
