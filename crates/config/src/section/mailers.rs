//! `mailers` sections (section 3.6).
use super::{Finished, Lines, PLAIN, ReadLine, SectionKind, check_unique, first_name, own};
use crate::addr;
use crate::context::Cx;
use crate::diag::{Diagnostic, Severity};
use crate::draft::Draft;
use crate::keyword::Keyword;
use crate::line::{Args, Parsed};
use crate::model::{Mailer, Mailers};
use crate::parse::values::time_at;
use crate::value::Unit;
use std::sync::Arc;

pub(super) const KIND: SectionKind = SectionKind {
    name: "mailers",
    doc: "Mail servers that take alerts about servers.",
    open,
    title: |draft, index| &draft.mailers[index].name,
    lines: Lines::Own(KEYWORDS),
    finish: warn_of_unused,
    ..PLAIN
};

const KEYWORDS: &[Keyword<ReadLine>] = &[
    own("mailer", "<name> <address>", "A mail server.", |d, at, cx, a| {
        mailer(Arc::make_mut(&mut d.mailers[at]), cx, a)
    }),
    own("timeout", "mail <time>", "How long the delivery of a mail may take.", |d, at, _, a| {
        timeout(Arc::make_mut(&mut d.mailers[at]), a)
    }),
];

fn open(draft: &mut Draft, cx: &mut Cx<'_>, args: Args<'_>) -> usize {
    let name = first_name(cx, args, "mailers");
    let first = draft.mailers.iter().find(|first| *first.name == *name);
    check_unique(cx, args, ("mailers", name), first.map(|first| &first.place));
    let place = args.place().clone();
    let section = Mailers { name: name.into(), place, timeout: 10_000, mailers: Vec::new() };
    draft.mailers.push(Arc::new(section));
    draft.mailers.len() - 1
}

/// Warns of sections that no enabled proxy sends mail through, the last one first as in HAProxy.
fn warn_of_unused(draft: &mut Draft, finished: &Finished<'_>, cx: &mut Cx<'_>) {
    // A wrong line may be the one that uses the section.
    if !finished.advise {
        return;
    }
    let alerts = || finished.proxies.iter().filter_map(|proxy| proxy.common.email_alert.as_ref());
    let unused =
        |section: &&Arc<Mailers>| !alerts().any(|alert| Arc::ptr_eq(&alert.mailers, section));
    for section in draft.mailers.iter().rev().filter(unused) {
        let message = format!("Removing incomplete section 'mailers {}'.", section.name);
        cx.diagnostics.push(Diagnostic::general(Severity::Warning, message));
    }
}

fn mailer(section: &mut Mailers, cx: &mut Cx<'_>, args: Args<'_>) -> Parsed {
    let expected = "'mailer' expects <name> and <addr>[:<port>] as arguments.";
    let name = args.need(1, expected)?;
    let given = cx.address(args.need(2, expected)?);
    args.ignores_behind(2);
    let address = addr::stream(&given, cx.names)
        .map_err(|error| args.fault(2, error).within(&format!("'mailer {name}'")))?;
    section.mailers.push(Mailer { name: name.to_owned(), address });
    Ok(())
}

/// `timeout mail <time>`
fn timeout(section: &mut Mailers, args: Args<'_>) -> Parsed {
    let expected = "'timeout' expects 'mail' and <time> as arguments";
    match args.get(1) {
        None => return Err(args.fault(1, format!("{expected}."))),
        Some("mail") => {}
        Some(other) => return Err(args.fault(1, format!("{expected} got '{other}'."))),
    }
    args.need(2, "'timeout mail' expects <time> as argument.")?;
    args.ignores_behind(2);
    let subject = "argument to <timeout mail>.";
    section.timeout = time_at(args, 2, Unit::Milliseconds, subject)?;
    Ok(())
}
