//! The context in which the conditions of a section are parsed: that of its expressions, and its ACLs.

use crate::acl::AclTable;
use crate::context::{Captures, ParseContext, Shared};
use std::ops::{Deref, DerefMut};

/// A [`ParseContext`] together with the ACLs that conditions may name.
pub struct Parser<'a> {
    /// The context of expressions.
    pub context: ParseContext<'a>,
    /// ACLs of the section defined so far.
    pub acls: &'a AclTable,
}

impl<'a> Parser<'a> {
    /// A context for HTTP mode without a proxy; callers set the fields that matter to them.
    pub fn new(shared: &'a Shared<'a>, acls: &'a AclTable, captures: &'a Captures) -> Parser<'a> {
        Parser { context: ParseContext::new(shared, captures), acls }
    }
}

impl<'a> Deref for Parser<'a> {
    type Target = ParseContext<'a>;

    fn deref(&self) -> &ParseContext<'a> {
        &self.context
    }
}

impl DerefMut for Parser<'_> {
    fn deref_mut(&mut self) -> &mut Self::Target {
        &mut self.context
    }
}
