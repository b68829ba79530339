//! `cpu-map` (section 3.1).
use crate::context::Cx;
use crate::line::{Args, Parsed};
use crate::model::{CpuMap, Global, PER_GROUP};
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
    let (groups, threads) = set.split_once('/').map_or((set, "all"), |(g, t)| (g, t));
    let mask = |text: &str| {
        let numbers = value::numbers(text, PER_GROUP);
        let numbers = numbers.map_err(|error| args.fault(1, format!("cpu-map : {error}")))?;
        Ok(numbers.into_iter().fold(0, |mask: u64, number| mask | 1 << (number - 1)))
    };
    let (groups, threads) = (mask(groups)?, mask(threads)?);
    let mut cpus = Vec::new();
    for n in 2..args.len() {
        cpu_range(args, n, &mut cpus)?;
    }
    cpus.sort_unstable();
    cpus.dedup();
    let one_range = groups.is_power_of_two() || threads.is_power_of_two();
    let size = groups.count_ones() * threads.count_ones();
    if auto && !(one_range && size as usize == cpus.len()) {
        let message = "cpu-map : PROC/THREAD range and CPU sets must have the same size to be automatically bound";
        return Err(args.fault(1, message));
    }
    global.process.cpu_map.push(CpuMap { groups, threads, auto, cpus });
    Ok(())
}

/// Numbers and ranges; a range that ends with its dash reaches to the 64th.
fn cpu_range(args: Args<'_>, n: usize, cpus: &mut Vec<u32>) -> Parsed {
    for part in args.text(n).split(',') {
        let (low, high) = part.split_once('-').unwrap_or((part, part));
        let high = if high.is_empty() { Some(63) } else { value::number::<u32>(high) };
        let low = value::number::<u32>(low).filter(|_| !low.is_empty());
        let Some((low, high)) = low.zip(high) else {
            return Err(args.fault(n, format!("cpu-map : '{part}' is not a CPU range.")));
        };
        let (low, high) = (low.min(high), low.max(high));
        if high >= MAX_CPU {
            let message = format!("cpu-map : supports CPU numbers from 0 to {}.", MAX_CPU - 1);
            return Err(args.fault(n, message));
        }
        cpus.extend(low..=high);
    }
    Ok(())
}
