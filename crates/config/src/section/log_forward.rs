//! `log-forward` sections (section 3.10). Never receives a message.
use crate::cx::Cx;
use crate::draft::{DraftLog, DraftLogForward};
use crate::line::{Args, Parsed};
use crate::model::{Address, Bind, BindAddress};
use crate::parse::values::{number_at, time_at};
use crate::parse::{bind, log};
use crate::value::Unit;

/// The keywords of the section.
const KEYWORDS: [&str; 6] = ["backlog", "bind", "dgram-bind", "log", "maxconn", "timeout"];

/// One line of a `log-forward` section.
pub(crate) fn line(section: &mut DraftLogForward, cx: &mut Cx<'_>, args: Args<'_>) -> Parsed {
    let own = &mut section.section;
    match args.text(0) {
        "backlog" => {
            own.backlog = number_at(args, 1, 0..=i32::MAX as u32)?;
            args.no_more_than(1)
        }
        "bind" => bind::lines(&mut own.binds, cx, args, bind::Use::Logs),
        "dgram-bind" => {
            bind::lines(&mut own.datagrams, cx, args, bind::Use::Datagrams)?;
            let pair = |bind: &Bind| matches!(bind.address, BindAddress::At(Address::Pair(_)));
            match own.datagrams.iter().any(pair) {
                true => Err(args.fault(1, "'dgram-bind' : a pair takes no datagrams.")),
                false => Ok(()),
            }
        }
        "log" => {
            if args.get(1) == Some("global") {
                args.from(1).no_more_than(0)?;
                log::add_global(&mut section.logs);
                return Ok(());
            }
            let expected = "log : expects <address> and <facility> or global as arguments";
            section.logs.push(DraftLog::Target(log::target(cx, args, expected)?));
            Ok(())
        }
        "maxconn" => {
            own.maxconn = number_at(args, 1, 0..=i32::MAX as u32)?;
            args.no_more_than(1)
        }
        "timeout" => {
            if args.text(1) != "client" {
                return Err(args.fault(1, "'timeout' in log-forward section expects 'client'."));
            }
            args.need(2, "'timeout client' expects <time> as argument.")?;
            args.from(1).no_more_than(1)?;
            let time = time_at(args, 2, Unit::Milliseconds, "argument to <timeout client>.")?;
            own.client = (time > 0).then_some(time);
            Ok(())
        }
        other => {
            let unknown = format!("unknown keyword '{other}' in log-forward section.");
            Err(args.fault(0, unknown).suggest(crate::suggest::nearest(other, KEYWORDS)))
        }
    }
}
