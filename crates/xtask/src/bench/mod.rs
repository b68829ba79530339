//! `cargo xtask bench`: the same configuration, origin and load for every proxy, side by side.

mod abuse;
mod attacks;
mod awake;
mod bare;
mod bwlim;
mod certificates;
mod checks;
mod churn;
mod compare;
pub(crate) mod files;
mod forged;
mod handshakes;
mod idle;
mod inner;
mod kill;
mod large;
mod load;
mod origin;
mod pace;
mod peer;
mod peers;
pub(crate) mod process;
mod scenarios;
mod slow;
mod streams;
mod subjects;
mod sums;
pub(crate) mod training;

use crate::failure::{self, Outcome};

pub(crate) const HELP: &str = "\
usage: cargo xtask bench compare [-s SCENARIO[,SCENARIO]|all] [-d SECONDS] [-r ROUNDS] [--json FILE]
                                 [--trained] [--floor] [--alone] [NAME=BINARY[:LINE] ...]
       cargo xtask bench idle    [-n CONNECTIONS] [--kind KIND[,KIND]] [--alone] [NAME=BINARY ...]
       cargo xtask bench kill    [-c CONNECTIONS] [-d SECONDS] [--retry]
       cargo xtask bench checks  [-t THREADS] [-n SERVERS] [-i INTER_MS] [-d SECONDS] [-r ROUNDS]
                                 [--alone] [NAME=BINARY ...]
       cargo xtask bench churn   [-c CONNECTIONS] [-d SECONDS] [-e SECONDS] [--alone] [NAME=BINARY ...]
       cargo xtask bench slow    [-a ATTACK] [-n SLOW] [-d SECONDS] [-r ROUNDS]
                                 [--alone] [NAME=BINARY ...]
       cargo xtask bench large   [-n ENTRIES] [-c STREAMS] [-d SECONDS] [-r ROUNDS]
       cargo xtask bench peers   [-n ENTRIES] [-d SECONDS] [-r ROUNDS] [--alone] [NAME=BINARY ...]
       cargo xtask bench bwlim   [-n STREAMS] [-d SECONDS] [--rate BYTES] [--shared] [--alone]
                                 [NAME=BINARY ...]
       cargo xtask bench certificates [-n CERTIFICATES] [-d SECONDS] [-r ROUNDS]
       cargo xtask bench handshakes [-c CONNECTIONS] [-d SECONDS] [-r ROUNDS]
       cargo xtask bench streams [-d SECONDS] [-n REQUESTS] [--alone] [NAME=BINARY ...]
       cargo xtask bench abuse   [-a ATTACK] [-c CONNECTIONS] [-d SECONDS] [-r ROUNDS]
                                 [--alone] [NAME=BINARY ...]
       cargo xtask bench compression
       cargo xtask bench leastconn
       cargo xtask bench lookup
       cargo xtask bench heavy
       cargo xtask bench histogram
       cargo xtask bench sched
       cargo xtask bench timers

  compare  CPU microseconds per request. The proxy is pinned to CPU 0, nginx and the load generator
           (wrk, h2load, h3-load) to CPU 1; the figure is the CPU that all threads of the proxy used, so it
           does not depend on who saturates first. Rounds alternate between the binaries; the table
           shows the median and its ratio to the first binary. --trained: the program that `xtask pgo`
           builds, too; --floor: a relay of bytes, too
  idle     resident bytes per connection at rest, and the CPU used at rest, by kind: h1 tls h2tls h2 tcp
           ws wstls (all of them without --kind), and h3, ten seconds after the request (haproxy has to
           be built with QUIC). tcp, ws and wstls have a connection to a server, too. nginx is measured
           beside, except with h2, tcp and h3
  kill     two origins under load, one is killed in the middle and started again: how many requests
           fail, and whether each is logged; --retry: with retry-on all-retryable-errors
  checks   health checks on many threads: CPU of checks alone (percent of a core, microseconds per
           check), voluntary context switches per check, then the tail of the time to the first byte
           of the CSV statistics page while checks run
  churn    three origins under load, one killed every -e seconds and started again three seconds later:
           requests that fail with retry-on all-retryable-errors, memory and descriptors over time
  slow     thousands of clients that are slow with their headers, their bodies and with reading: what
           a client that asks a thousand times a second waits, and what the slow ones cost
  large    a stick table of 1,000,000 entries and 10,000 streams: what wrk waits with one connection,
           and a client that asks a thousand times a second, alone, then while `show table` and
           `show sess` are asked for without rest
  peers    a table shared by three processes: CPU of a tracked request with two peers and without, the
           time in which a fresh process is taught 1,000,000 entries, and the memory that two stopped
           peers pin
  bwlim    10,000 responses that a bandwidth limit holds at 20,000 bytes per second each, or all
           together with --shared: CPU of the proxy, the rate of all streams, of the slowest and of the
           fastest beside the limit, memory per stream
  certificates  a directory of 10,000 certificates: how long a start takes, what memory they need, and what
           it takes to replace one, at rest and while all handshakes are made with it
  handshakes  what plain requests wait while full handshakes take all the time there is, with and
           without tune.sched.low-latency; the CPU of a resumed session
  streams  CPU per request of HTTP/2 with 1 to 1,000 streams on one connection; then the run that
           others publish: 1,000,000 requests, 10 connections of 100 streams, 2 threads of h2load
  abuse    attackers of HTTP/2, 20,000 frames a second on 10 connections: CPU per frame, memory, and
           what another client waits that asks 500 times a second
  leastconn  in one process: both designs of the order of leastconn, from 1 to 64 threads
  lookup   in one process: how long a thread looks for its own next item in a queue shared by 64,
           beside a search that skips the items of others one by one
  heavy    in one process: how long a plain request waits among 1,000 heavy tasks
  compression  in one process: nanoseconds per byte and ratio of the encoders of bodies
  histogram  in one process: what it costs to count a time, and how far quantiles are off
  sched    in one process: what spawning, waking and running a task costs, and what a light task
           waits, tokio and smol beside
  timers   in one process: arming, cancelling and extending 1,000,000 timers; a storm of 200,000

Binaries: Debian's haproxy first, then weir (built with --release), then each NAME=BINARY, started
as `BINARY -f FILE -db`. A NAME of haproxy or weir replaces that binary; --alone leaves both out. For
compare, LINE is one that only this subject has in its `global`, and without a BINARY it is the weir
of this workspace: `'nohist=:tune.histograms off' 'nowhy=:tune.why off'`.

  -s   h1-ka-64 h1-ka-256 h1-close h1-1m h1-rules (the default five), tls-ka-64 tls-handshake tls-1m
       tls-both-64 tcp-ka-64 comp-64k cache-1k cache-100k fcgi-echo spoe-ip h2c-10x100 h2tls-10x100 h3-10x100 h3-1m
       h3-handshake. For spoe-ip the table also shows the CPU that the agent adds to h1-ka-64
  -d   seconds of load per run (compare: 5, large: 4, handshakes: 8, slow: 10, streams and abuse: 2,
       certificates: 5, kill and checks: 20, churn: 120)
  -e   seconds between two kills (20)
  -r   rounds (large: 5, compare and certificates: 3, others: 1); tables show the median, handshakes
       each of them
  -t   threads (48), -n checked servers (200), -i milliseconds between two checks (2000)

Needs two processors and, from Debian: haproxy nginx-light wrk (nghttp2-client for the h2 scenarios,
slowhttptest for slow). For steady waits, slow and abuse want to be run as root.
";

pub(crate) fn run(words: &[String]) -> Outcome {
    let Some((name, rest)) = words.split_first() else {
        return Err(failure::usage("bench wants the name of a benchmark (try --help)"));
    };
    match name.as_str() {
        "compare" => compare::run(rest),
        "idle" => idle::run(rest),
        "kill" => kill::run(rest),
        "checks" => checks::run(rest),
        "churn" => churn::run(rest),
        "slow" => slow::run(rest),
        "large" => large::run(rest),
        "peers" => peers::run(rest),
        "bwlim" => bwlim::run(rest),
        "certificates" => certificates::run(rest),
        "handshakes" => handshakes::run(rest),
        "streams" => streams::run(rest),
        "abuse" => abuse::run(rest),
        name if inner::NAMES.contains(&name) => inner::run(name, rest),
        _ => Err(failure::usage(format!("no benchmark `{name}` (try --help)"))),
    }
}
