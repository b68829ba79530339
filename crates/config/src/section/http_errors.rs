//! `http-errors` sections (section 3.8).
use super::{Lines, PLAIN, ReadLine, SectionKind, first_name, own};
use crate::context::Cx;
use crate::draft::Draft;
use crate::keyword::Keyword;
use crate::line::Args;
use crate::model::HttpErrors;
use crate::parse::http::error_file;

pub(super) const KIND: SectionKind = SectionKind {
    name: "http-errors",
    doc: "Error replies that proxies and rules name together.",
    open,
    title: |draft, index| &draft.http_errors[index].name,
    lines: Lines::Own(KEYWORDS),
    build: |draft, model| model.http_errors = std::mem::take(&mut draft.http_errors),
    ..PLAIN
};

const KEYWORDS: &[Keyword<ReadLine>] = &[own(
    "errorfile",
    "<code> <file>",
    "The file that is sent for a status.",
    |draft, index, cx, args| {
        let (status, reply) = error_file(cx, args)?;
        draft.http_errors[index].files.insert(status, reply);
        Ok(())
    },
)];

fn open(draft: &mut Draft, cx: &mut Cx<'_>, args: Args<'_>) -> usize {
    let name = first_name(cx, args, "http-errors");
    if let Some(first) = draft.http_errors.iter().find(|first| *first.name == *name) {
        let message =
            format!("http-errors section '{name}' already exists (declared at {}).", first.place);
        cx.alert(args, args.fault(1, message));
    }
    let place = args.place().clone();
    let files = Default::default();
    draft.http_errors.push(HttpErrors { name: name.into(), place, files });
    draft.http_errors.len() - 1
}
