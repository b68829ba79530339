//! Sections of HAProxy 2.7 that are not implemented yet: each is an error, and its lines are not judged.
use super::{PLAIN, SectionKind};
use crate::context::Cx;
use crate::draft::Draft;
use crate::line::Args;

pub(super) const FCGI_APP: SectionKind =
    SectionKind { name: "fcgi-app", doc: "A FastCGI application.", open, ..PLAIN };

fn open(_: &mut Draft, cx: &mut Cx<'_>, args: Args<'_>) -> usize {
    let name = args.text(0);
    let message = format!("section '{name}' is not implemented yet");
    let area = crate::area::area("section", name);
    cx.alert(args, args.fault(0, message).in_area(area));
    0
}
