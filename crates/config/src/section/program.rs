//! `program` sections (section 3.7). Never starts one.
use crate::cx::{Cx, Prefix};
use crate::line::{Args, Parsed};
use crate::model::Program;
use crate::parse;

/// The keywords of the section.
const KEYWORDS: [&str; 4] = ["command", "group", "option", "user"];

/// One line of a `program` section.
pub(crate) fn line(program: &mut Program, cx: &mut Cx<'_>, args: Args<'_>) -> Parsed {
    match args.text(0) {
        "command" => {
            args.need(
                1,
                "'command' expects a command with optional arguments separated in words.",
            )?;
            if !program.command.is_empty() {
                return Err(args.fault(0, "'command' already defined in program section."));
            }
            program.command = args.texts(1).into_iter().map(str::to_owned).collect();
            Ok(())
        }
        "user" => {
            program.uid = Some(parse::user(cx, args)?);
            args.no_more_than(1)
        }
        "group" => {
            program.gid = Some(parse::group(cx, args)?);
            args.no_more_than(1)
        }
        "option" => option(program, cx, args),
        other => {
            let unknown = format!("unknown keyword '{other}' in 'program' section");
            let nearest = crate::suggest::nearest(other, KEYWORDS);
            Err(args.fault(0, unknown).suggest(nearest))
        }
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
