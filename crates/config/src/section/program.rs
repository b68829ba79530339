//! `program` sections (section 3.7).
use super::{Finished, Lines, PLAIN, ReadLine, SectionKind, own, reported};
use crate::context::{Cx, Prefix};
use crate::diag::{Diagnostic, Severity};
use crate::draft::Draft;
use crate::keyword::Keyword;
use crate::line::{Args, Parsed};
use crate::model::{At, Program};
use crate::parse;

pub(super) const KIND: SectionKind = SectionKind {
    name: "program",
    doc: "A program that the master starts and watches.",
    open,
    title: |draft, index| &draft.programs[index].value.name,
    lines: Lines::Own(KEYWORDS),
    finish: need_commands,
    build: |draft, model| {
        model.programs = draft.programs.drain(..).map(|program| program.value).collect();
    },
    ..PLAIN
};

const KEYWORDS: &[Keyword<ReadLine>] = &[
    own("command", "<command> [arguments*]", "What is started.", |d, at, _, a| {
        command(&mut d.programs[at].value, a)
    }),
    own("group", "<group name>", "The group that it runs as.", |d, at, cx, a| {
        d.programs[at].value.gid = Some(parse::group(cx, a)?);
        a.no_more_than(1)
    }),
    own("option", "start-on-reload", "Starts it anew at each reload.", |d, at, cx, a| {
        option(&mut d.programs[at].value, cx, a)
    }),
    own("user", "<user name>", "The user that it runs as.", |d, at, cx, a| {
        d.programs[at].value.uid = Some(parse::user(cx, a)?);
        a.no_more_than(1)
    }),
];

fn open(draft: &mut Draft, cx: &mut Cx<'_>, args: Args<'_>) -> usize {
    let name = args.need(1, "'program' expects a name.");
    let name = reported(cx, args, name.and_then(|name| args.no_more_than(1).map(|()| name)));
    let name = name.unwrap_or("");
    if draft.programs.iter().any(|first| *first.value.name == *name) {
        let message = format!("program section '{name}' already exists.");
        cx.alert(args, args.fault(1, message));
    }
    let (command, place) = (Vec::new(), args.place().clone());
    let value = Program { name: name.into(), command, uid: None, gid: None, restarts: true };
    draft.programs.push(At { value, place });
    draft.programs.len() - 1
}

fn command(program: &mut Program, args: Args<'_>) -> Parsed {
    args.need(1, "'command' expects a command with optional arguments separated in words.")?;
    if !program.command.is_empty() {
        return Err(args.fault(0, "'command' already defined in program section."));
    }
    program.command = args.texts(1).into_iter().map(str::to_owned).collect();
    Ok(())
}

/// Each program needs a command.
fn need_commands(draft: &mut Draft, _: &Finished<'_>, cx: &mut Cx<'_>) {
    for program in draft.programs.iter().filter(|program| program.value.command.is_empty()) {
        let message = format!(
            "The program section '{}' lacks a command to launch (declared at {}).",
            program.value.name, program.place
        );
        cx.diagnostics.push(Diagnostic::about(Severity::Alert, &program.place, message));
    }
}

/// `[no] option start-on-reload`
fn option(program: &mut Program, cx: &Cx<'_>, args: Args<'_>) -> Parsed {
    let name = args.need(1, "'option' expects an option name.")?;
    if name != "start-on-reload" {
        let unknown = format!("unknown option '{name}' in 'program' section");
        let nearest = crate::suggest::nearest(name, ["start-on-reload"]);
        return Err(args.fault(1, unknown).suggest(nearest));
    }
    program.restarts = cx.prefix != Prefix::No;
    args.no_more_than(1)
}
