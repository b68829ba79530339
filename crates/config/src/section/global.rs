//! The `global` section (section 3): several are read as one.
use super::{Lines, PLAIN, SectionKind};
use crate::context::Cx;
use crate::draft::Draft;
use crate::line::{Args, Parsed};
use crate::parse::global;
use crate::validate::{self, tls};

pub(super) const KIND: SectionKind = SectionKind {
    name: "global",
    doc: "Settings of the whole process.",
    open,
    title: |_, _| "global",
    lines: Lines::Global(line),
    tls: |draft, context, cx| {
        tls::listeners(&mut draft.global.stats.sockets, "Proxy 'GLOBAL'", context, cx);
    },
    finish: |draft, _, _| {
        validate::number(draft.global.stats.sockets.iter_mut().map(|bind| &mut bind.id));
    },
    build: |draft, model| model.global = std::mem::take(&mut draft.global),
    listens: |model| !model.global.stats.sockets.is_empty(),
    ..PLAIN
};

fn open(_: &mut Draft, cx: &mut Cx<'_>, args: Args<'_>) -> usize {
    if let Err(fault) = args.no_more_than(0) {
        cx.alert(args, fault);
    }
    0
}

fn line(draft: &mut Draft, _: usize, cx: &mut Cx<'_>, args: Args<'_>) -> Parsed {
    if args.text(0) == "stats" {
        let before = draft.proxies.len();
        draft.before_stats.get_or_insert(before);
    }
    global::line(&mut draft.global, cx, args)
}
