//! Arguments that name proxies, servers, userlists and stick tables, noted for the end of the configuration.

use super::{Arg, Args};
use crate::context::ParseContext;
use crate::name_reference::{NameReference, ReferenceTarget};
use crate::tables::TableUse;

impl Args {
    /// Replaces the names of stick tables by references; `spec` is as for [`check`]. A missing name
    /// means the table of this section, unless the argument is optional.
    pub(crate) fn refer_tables(&mut self, spec: &str, keyword: &str, cx: &ParseContext<'_>) {
        let types = spec.split([',', '[', ']']).filter(|part| !part.is_empty());
        let required = spec.split('[').next().unwrap_or("").split(',');
        let required = required.filter(|part| !part.is_empty()).count();
        for (at, _) in types.enumerate().filter(|(_, name)| *name == "table") {
            let name = self.some_text(at);
            if name.is_none() && at >= required {
                continue;
            }
            let usage = TableUse::Argument { number: at + 1, keyword: keyword.to_owned() };
            let table = Arg::Table(cx.refer(name, usage));
            match self.0.get_mut(at) {
                Some(arg) => *arg = table,
                None => self.0.push(table),
            }
        }
    }
}

impl ParseContext<'_> {
    /// Notes what the arguments of a fetch method name; `spec` is as for [`crate::args::check`].
    pub(crate) fn note_mentions(&self, spec: &str, keyword: &'static str, args: &Args) {
        let types = spec.split([',', '[', ']']).filter(|part| !part.is_empty());
        for (at, kind) in types.enumerate() {
            let name = || args.some_text(at).map(Box::from);
            let wanted = match (kind, args.get(at)) {
                ("backend", _) => ReferenceTarget::Backend(name()),
                ("frontend", _) => ReferenceTarget::Frontend(name()),
                ("server", Arg::Server(backend, server)) => {
                    ReferenceTarget::Server(backend.clone(), server.clone())
                }
                ("user list", Arg::Text(list)) if !list.is_empty() => {
                    ReferenceTarget::UserList(list.clone())
                }
                _ => continue,
            };
            let mention = NameReference { wanted, number: at + 1, keyword };
            self.shared.mentions.borrow_mut().push(mention);
        }
    }
}
