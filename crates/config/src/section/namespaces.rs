//! `namespace_list` sections: the network namespaces that the process may use.
use super::{Lines, PLAIN, ReadLine, SectionKind, own};
use crate::keyword::Keyword;
use crate::parse::link::namespace;

pub(super) const KIND: SectionKind = SectionKind {
    name: "namespace_list",
    doc: "Network namespaces that the process may use.",
    lines: Lines::Own(KEYWORDS),
    ..PLAIN
};

const KEYWORDS: &[Keyword<ReadLine>] =
    &[own("namespace", "<name>", "Opens a network namespace.", |draft, _, cx, args| {
        let name = args.need(1, "'namespace' expects a name as argument.")?;
        args.no_more_than(1)?;
        namespace(cx, args, name)?;
        draft.global.process.namespaces.push(name.to_owned());
        Ok(())
    })];
