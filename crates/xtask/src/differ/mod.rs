//! `cargo xtask differ`: the same generated exchanges through HAProxy and through Weir, side by
//! side.

mod classes;
mod exchange;
mod flaws;
mod generate;
mod message;
mod play;
mod rng;
mod setup;

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use crate::bench::files::Files;
use crate::failure::{self, Outcome};
use crate::{args, tools, workspace};
use exchange::{Exchange, shown};
use message::ReceivedMessage;
use play::PlayResult;
use setup::{Lane, Proxy, VARIANTS};

pub(crate) const HELP: &str = "\
usage: cargo xtask differ [-n EXCHANGES] [--seed N] [--only NUMBER] [--weir BINARY]
                          [--haproxy BINARY] [--list]

Sends generated HTTP/1 exchanges, every second one malformed on one side, through HAProxy and
through weir with the same configuration, and compares what client and origin got: statuses, heads,
bodies, trailers, and whether the client's connection was closed. What differs is played again,
slowly, before it counts.

  -n         exchanges (500)
  --seed     where they come from (1)
  --only     one of them, with all that was said
  --list     name every difference, the intended ones too
  --weir     the program to compare (default: weir, built in debug mode)
  --haproxy  what to compare it with (default: haproxy of the search path)

Exit status 1 if there is a difference that is not in the list of docs/http1-strictness.md.
Needs haproxy; on Debian: sudo apt-get install haproxy.
";

const FLAGS: &[args::Flag] = &[
    args::value("-n"),
    args::value("--seed"),
    args::value("--only"),
    args::value("--weir"),
    args::value("--haproxy"),
    args::switch("--list"),
];

/// Exchanges under way at a time.
const LANES: usize = 8;
/// When nothing moves for so long, an exchange is over.
const QUIET: Duration = Duration::from_millis(120);
/// The same when a difference is looked at again.
const LONG_QUIET: Duration = Duration::from_millis(700);

/// One exchange with different results.
struct Difference {
    exchange: Exchange,
    haproxy: PlayResult,
    weir: PlayResult,
    class: Option<&'static str>,
}

pub(crate) fn run(words: &[String]) -> Outcome {
    let parsed = args::parse(words, FLAGS)?;
    let (count, seed) = (parsed.number("-n", 500)?, parsed.number("--seed", 1)?);
    let only = parsed.value("--only").map(|_| parsed.number("--only", 1)).transpose()?;
    let haproxy = match parsed.value("--haproxy") {
        Some(name) => tools::resolve(name)?,
        None => {
            tools::require(&[tools::HAPROXY])?;
            tools::resolve(tools::HAPROXY.program)?
        }
    };
    let weir = match parsed.value("--weir") {
        Some(name) => tools::resolve(name)?,
        None => workspace::debug_binary(&workspace::root()?)?,
    };
    let numbers: Vec<usize> = match only {
        Some(number) => vec![number as usize],
        None => (0..count as usize).collect(),
    };
    let exchanges = numbers.iter().map(|n| generate::exchange(u64::from(seed), *n)).collect();
    let differences = compare([haproxy, weir], exchanges, only.is_some())?;
    report(&differences, numbers.len(), parsed.has("--list"))
}

/// Plays all exchanges with both programs, HAProxy's first.
fn compare(
    binaries: [PathBuf; 2],
    exchanges: Vec<Exchange>,
    tell: bool,
) -> Outcome<Vec<Difference>> {
    let files = Files::new("differ")?;
    let [haproxy, weir] = &binaries;
    let proxies = [
        Proxy::start(&files, "haproxy", haproxy, LANES)?,
        Proxy::start(&files, "weir", weir, LANES)?,
    ];
    let next = AtomicUsize::new(0);
    let found = Mutex::new(Vec::new());
    let lane = |number: usize| -> Outcome {
        let lanes = [proxies[0].lane(number)?, proxies[1].lane(number)?];
        while let Some(exchange) = exchanges.get(next.fetch_add(1, Ordering::Relaxed)) {
            if let Some(difference) = difference(&lanes, exchange, tell)? {
                found.lock().expect("no thread panics with it").push(difference);
            }
        }
        Ok(())
    };
    std::thread::scope(|scope| {
        let lane = &lane;
        let threads: Vec<_> = (0..LANES).map(|n| scope.spawn(move || lane(n))).collect();
        threads.into_iter().try_for_each(|it| it.join().expect("a lane does not panic"))
    })?;
    let mut found = found.into_inner().expect("no thread panicked with it");
    found.sort_by_key(|difference| difference.exchange.number);
    Ok(found)
}

fn difference(lanes: &[Lane; 2], exchange: &Exchange, tell: bool) -> Outcome<Option<Difference>> {
    for quiet in [QUIET, LONG_QUIET, LONG_QUIET] {
        let haproxy = play::play(&lanes[0], exchange, quiet)?;
        let weir = play::play(&lanes[1], exchange, quiet)?;
        if tell && quiet == LONG_QUIET {
            println!("{}", describe(exchange, &haproxy, &weir));
        }
        if haproxy == weir && !tell {
            return Ok(None);
        }
        if quiet == LONG_QUIET && haproxy != weir {
            let class = classes::class(exchange, &haproxy, &weir).map(|class| class.name);
            return Ok(Some(Difference { exchange: exchange.clone(), haproxy, weir, class }));
        }
    }
    Ok(None)
}

fn report(differences: &[Difference], count: usize, list: bool) -> Outcome {
    let mut classes: BTreeMap<&str, usize> = BTreeMap::new();
    let mut unintended = 0;
    for difference in differences {
        match difference.class {
            Some(class) => *classes.entry(class).or_default() += 1,
            None => unintended += 1,
        }
        if difference.class.is_none() || list {
            let Difference { exchange, haproxy, weir, class } = difference;
            println!("{}  class: {}\n", describe(exchange, haproxy, weir), class.unwrap_or("none"));
        }
    }
    println!("{count} exchanges, {} came out differently", differences.len());
    for (class, times) in &classes {
        println!("  {times:4} intended: {class}");
    }
    match unintended {
        0 => Ok(()),
        _ => Err(failure::check(format!("{unintended} differences are not intended"))),
    }
}

fn describe(exchange: &Exchange, haproxy: &PlayResult, weir: &PlayResult) -> String {
    let flaws = match exchange.flaws.is_empty() {
        true => "valid".to_owned(),
        false => exchange.flaws.join("; "),
    };
    let variant = VARIANTS[exchange.variant].0;
    let mut text = format!("exchange {} ({variant}): {flaws}\n", exchange.number);
    for piece in &exchange.client {
        text.push_str(&format!("  client {}\n", shown(piece, 900)));
    }
    for answer in &exchange.answers {
        let pieces: Vec<_> = answer.pieces.iter().map(|piece| shown(piece, 500)).collect();
        let early = if answer.early { " early" } else { "" };
        let close = if answer.close { " close" } else { "" };
        text.push_str(&format!("  origin{early}{close} {}\n", pieces.join(" ... ")));
    }
    pairs(&mut text, "forwarded", &haproxy.requests, &weir.requests);
    pairs(&mut text, "answered ", &haproxy.answers, &weir.answers);
    let end = |seen: &PlayResult| if seen.closed { "closed" } else { "kept open" };
    text.push_str(&format!("  end: haproxy {}, weir {}\n", end(haproxy), end(weir)));
    text
}

/// Messages side by side, equal ones in short.
fn pairs(text: &mut String, verb: &str, haproxy: &[ReceivedMessage], weir: &[ReceivedMessage]) {
    for index in 0..haproxy.len().max(weir.len()) {
        let both = (haproxy.get(index), weir.get(index));
        if let (Some(one), Some(other)) = both
            && one == other
        {
            let line = one.head.split(|byte| *byte == b'\r').next().unwrap_or_default();
            text.push_str(&format!("  both    {verb} {}\n", shown(line, 80)));
            continue;
        }
        for (name, message) in [("haproxy", both.0), ("weir   ", both.1)] {
            let what = message.map_or_else(|| "nothing".to_owned(), ReceivedMessage::describe);
            text.push_str(&format!("  {name} {verb} {what}\n"));
        }
    }
}

/// The names of the intended differences.
#[cfg(test)]
pub(crate) fn difference_names() -> impl Iterator<Item = &'static str> {
    classes::CLASSES.iter().map(|it| it.name)
}
