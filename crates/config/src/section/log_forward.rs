//! `log-forward` sections (section 3.10).
use super::{
    Finished, Lines, PLAIN, ReadLine, SectionKind, check_chars, check_unique, only_name, own,
};
use crate::context::Cx;
use crate::draft::{Draft, DraftLogForward};
use crate::keyword::Keyword;
use crate::line::{Args, Parsed};
use crate::model::{Address, Bind, BindAddress, LogForward};
use crate::parse::values::{number_at, time_at};
use crate::parse::{bind, log};
use crate::validate::tls::{TlsContext, listeners};
use crate::validate::{logs, number};
use crate::value::Unit;

pub(super) const KIND: SectionKind = SectionKind {
    name: "log-forward",
    doc: "Receives log messages and forwards them.",
    open,
    title: |draft, index| &draft.log_forwards[index].section.name,
    lines: Lines::Own(KEYWORDS),
    unknown: Some(|word| format!("unknown keyword '{word}' in log-forward section.")),
    tls: certificates,
    finish,
    build: |draft, model| {
        model.log_forwards = draft.log_forwards.drain(..).map(|draft| draft.section).collect();
    },
    listens: |model| {
        let listens = |it: &LogForward| !it.binds.is_empty() || !it.datagrams.is_empty();
        model.log_forwards.iter().any(listens)
    },
    ..PLAIN
};

const KEYWORDS: &[Keyword<ReadLine>] = &[
    own("backlog", "<conns>", "Connections that wait to be accepted.", |d, at, _, a| {
        d.log_forwards[at].section.backlog = number_at(a, 1, 0..=i32::MAX as u32)?;
        a.no_more_than(1)
    }),
    own("bind", "<addr> [param*]", "Accepts connections that bring messages.", |d, at, cx, a| {
        bind::lines(&mut d.log_forwards[at].section.binds, cx, a, bind::Use::Logs)
    }),
    own("dgram-bind", "<addr> [param*]", "Receives messages in datagrams.", |d, at, cx, a| {
        datagrams(&mut d.log_forwards[at].section, cx, a)
    }),
    own("log", "global | <address> ...", "Where messages are forwarded to.", |d, at, cx, a| {
        log::section(&mut d.log_forwards[at].logs, cx, a)
    }),
    own("maxconn", "<conns>", "Connections at the same time.", |d, at, _, a| {
        d.log_forwards[at].section.maxconn = number_at(a, 1, 0..=i32::MAX as u32)?;
        a.no_more_than(1)
    }),
    own("timeout", "client <time>", "How long a connection may be silent.", |d, at, _, a| {
        timeout(&mut d.log_forwards[at].section, a)
    }),
];

/// Connections at the same time without `maxconn`.
const MAX_CONNECTIONS: u32 = 10;

fn open(draft: &mut Draft, cx: &mut Cx<'_>, args: Args<'_>) -> usize {
    let name = only_name(cx, args, "missing name for log-forward section.");
    check_chars(cx, args, "log-forward", name);
    let mut known = draft.log_forwards.iter().map(|first| &first.section);
    let first = known.find(|first| *first.name == *name).map(|first| &first.place);
    check_unique(cx, args, ("log-forward", name), first);
    let section = LogForward {
        name: name.into(),
        place: args.place().clone(),
        binds: Vec::new(),
        datagrams: Vec::new(),
        logs: Vec::new(),
        maxconn: MAX_CONNECTIONS,
        backlog: 0,
        client: None,
    };
    draft.log_forwards.push(DraftLogForward { section, logs: Vec::new() });
    draft.log_forwards.len() - 1
}

fn datagrams(section: &mut LogForward, cx: &mut Cx<'_>, args: Args<'_>) -> Parsed {
    bind::lines(&mut section.datagrams, cx, args, bind::Use::Datagrams)?;
    let pair = |bind: &Bind| matches!(bind.address, BindAddress::At(Address::Pair(_)));
    match section.datagrams.iter().any(pair) {
        true => Err(args.fault(1, "'dgram-bind' : a pair takes no datagrams.")),
        false => Ok(()),
    }
}

/// `timeout client <time>`
fn timeout(section: &mut LogForward, args: Args<'_>) -> Parsed {
    if args.text(1) != "client" {
        return Err(args.fault(1, "'timeout' in log-forward section expects 'client'."));
    }
    args.need(2, "'timeout client' expects <time> as argument.")?;
    args.ignores_behind(2);
    let time = time_at(args, 2, Unit::Milliseconds, "argument to <timeout client>.")?;
    section.client = (time > 0).then_some(time);
    Ok(())
}

fn certificates(draft: &mut Draft, context: &TlsContext, cx: &mut Cx<'_>) {
    for draft in &mut draft.log_forwards {
        let owner = format!("Log-forward '{}'", draft.section.name);
        listeners(&mut draft.section.binds, &owner, context, cx);
    }
}

/// Sets the log targets that hold for each section, and the numbers of its listeners.
fn finish(draft: &mut Draft, _: &Finished<'_>, _: &mut Cx<'_>) {
    for forward in &mut draft.log_forwards {
        let section = &mut forward.section;
        section.logs = logs(std::mem::take(&mut forward.logs), &draft.global.logs);
        number(section.binds.iter_mut().map(|bind| &mut bind.id));
        number(section.datagrams.iter_mut().map(|bind| &mut bind.id));
    }
}
