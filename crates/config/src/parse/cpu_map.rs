//! `cpu-map` (section 3.1) for the single thread group. Never asks the machine how many CPUs it has.
use crate::cx::Cx;
use crate::line::{Args, Parsed};
use crate::model::{CpuMap, Global};
use crate::value;

/// CPU numbers are below this.
const MAX_CPU: u32 = 1024;

pub(super) fn parse(global: &mut Global, _: &mut Cx<'_>, args: Args<'_>) -> Parsed {
    if args.get(1).is_none() || args.get(2).is_none() {
        return Err(args.fault(
            args.len(),
            "cpu-map expects a process number ('all', 'odd', 'even', a number from 1 to 64 or a range), followed by a list of CPU ranges with numbers from 0 to 63.",
        ));
    }
    let given = args.text(1);
    let (auto, set) = given.strip_prefix("auto:").map_or((false, given), |rest| (true, rest));
    let (group, threads) = set.split_once('/').map_or((set, "all"), |(g, t)| (g, t));
    let mask = |text: &str| value::mask(text).map_err(|e| args.fault(1, format!("cpu-map : {e}")));
    let (groups, threads) = (mask(group)?, mask(threads)?);
    let mut cpus = Vec::new();
    for n in 2..args.len() {
        cpu_range(args, n, &mut cpus)?;
    }
    cpus.sort_unstable();
    cpus.dedup();
    // Groups above the only one are ignored, as the manual says.
    if groups & 1 != 0 {
        global.process.cpu_map.push(CpuMap { threads, auto, cpus });
    }
    Ok(())
}

fn cpu_range(args: Args<'_>, n: usize, cpus: &mut Vec<u32>) -> Parsed {
    for part in args.text(n).split(',') {
        let (low, high) = part.split_once('-').unwrap_or((part, part));
        let bounds = value::number::<u32>(low).zip(value::number::<u32>(high));
        match bounds.filter(|(low, high)| low <= high && *high < MAX_CPU) {
            Some((low, high)) => cpus.extend(low..=high),
            None => return Err(args.fault(n, format!("cpu-map : '{part}' is not a CPU range."))),
        }
    }
    Ok(())
}
