//! `stats socket`, `stats timeout`, `stats maxconn` of the `global` section.
use super::bind;
use super::values::{number_at, time_at};
use crate::context::Cx;
use crate::line::{Args, Parsed};
use crate::model::StatsSettings;
use crate::value::Unit;

pub(super) fn parse(stats: &mut StatsSettings, cx: &mut Cx<'_>, args: Args<'_>) -> Parsed {
    match args.text(1) {
        "socket" => {
            args.need(
                2,
                "'stats socket' in global section expects an address or a path to a UNIX socket",
            )?;
            bind::lines(&mut stats.sockets, cx, args.from(1), bind::Use::Runtime)
        }
        "timeout" => {
            args.need(2, "'stats timeout' expects a timeout")?;
            args.ignores_behind(2);
            stats.timeout = time_at(args, 2, Unit::Milliseconds, "'stats timeout'")?;
            match stats.timeout {
                0 => Err(args.fault(2, "'stats timeout' expects a positive value")),
                _ => Ok(()),
            }
        }
        "maxconn" => {
            let limit = number_at(args, 2, 1..=i32::MAX as u32);
            stats.maxconn =
                limit.map_err(|_| args.fault(2, "'stats maxconn' expects a positive value"))?;
            args.ignores_behind(2);
            Ok(())
        }
        other => Err(args.fault(
            1,
            format!("'stats' only supports 'socket', 'maxconn' and 'timeout' (got '{other}')"),
        )),
    }
}
