//! `bench compare`: CPU per request of several proxies under the same load.

use std::fmt::Write as _;
use std::net::UdpSocket;
use std::path::Path;
use std::time::Duration;

use super::files::{Files, Key};
use super::peer::Protocol;
use super::process::{self, Process};
use super::scenarios::{self, DEFAULT, LOG_PORT, SCENARIOS, SPOE, Scenario};
use super::subjects::{self, Subject};
use super::sums::median;
use super::{load, origin};
use crate::args;
use crate::clock;
use crate::failure::{self, Outcome};
use crate::{h3_load, tools};

const FLAGS: &[args::Flag] = &[
    args::value("-s"),
    args::value("-d"),
    args::value("-r"),
    args::value("--json"),
    subjects::ALONE,
    subjects::FLOOR,
    subjects::TRAINED,
];

/// The first port that a proxy gets; each run takes the next one.
const FIRST_PORT: u16 = 18001;

/// The median CPU of each binary by name, none where every run failed.
type Medians = Vec<(String, Option<f64>)>;

/// The figures of one run.
struct LoadFigures {
    /// CPU microseconds per request.
    cpu: f64,
    /// The added cost over the workload without the feature, if there is one.
    added: Option<f64>,
    /// Requests per second.
    rate: f64,
    p99: String,
    /// Resident memory at the end, in MiB.
    resident: f64,
    note: String,
}

pub(super) fn run(words: &[String]) -> Outcome {
    let parsed = args::parse(words, FLAGS)?;
    let scenarios = chosen(parsed.value("-s"))?;
    let seconds = parsed.number("-d", 5)?;
    let rounds = parsed.number("-r", 3)?;
    for scenario in &scenarios {
        tools::require(&scenario.tools())?;
    }
    let subjects = subjects::variants(&parsed)?;
    let h3 =
        scenarios.iter().any(|scenario| scenario.is_h3()).then(h3_load::program).transpose()?;
    let files = Files::new("compare")?;
    files.write(scenarios::SCRIPT_FILE, scenarios::SCRIPT)?;
    if scenarios.iter().any(|scenario| scenario.is_tls()) {
        files.write_certificate(origin::CERTIFICATE, Key::P256)?;
    }
    let _origin = origin::start(&files, "origin", &origin::PORTS)?;
    files.write("spoe.cfg", SPOE)?;
    let _sink = UdpSocket::bind(("127.0.0.1", LOG_PORT))
        .map_err(|error| failure::machine(format!("port {LOG_PORT}/udp: {error}")))?;
    let mut port = FIRST_PORT;
    let mut results = Vec::new();
    for scenario in scenarios {
        let _peer = scenario.peer.map(Protocol::start).transpose()?;
        let without = scenario.without.map(named).transpose()?;
        let mut runs: Vec<Vec<Outcome<LoadFigures>>> =
            subjects.iter().map(|_| Vec::new()).collect();
        for _ in 0..rounds {
            for (subject, runs) in subjects.iter().zip(&mut runs) {
                let load = load_of(scenario, (port, seconds), h3.as_deref());
                let mut run = measure(&files, subject, scenario, port, &load);
                port += 1;
                if let (Ok(run), Some(without)) = (&mut run, without) {
                    let load = load_of(without, (port, seconds), h3.as_deref());
                    let base = measure(&files, subject, without, port, &load)?;
                    run.added = Some(run.cpu - base.cpu);
                    port += 1;
                }
                runs.push(run);
            }
        }
        let names = subjects.iter().map(|subject| subject.name.as_str());
        results.push((scenario.name, print(scenario.name, names.zip(runs))));
    }
    if let Some(path) = parsed.value("--json") {
        std::fs::write(path, json(&results))
            .map_err(|error| failure::machine(format!("{path}: {error}")))?;
    }
    Ok(())
}

/// The workloads of `-s`, in the order given.
fn chosen(names: Option<&str>) -> Outcome<Vec<&'static Scenario>> {
    match names {
        None => Ok(SCENARIOS.iter().take(DEFAULT).collect()),
        Some("all") => Ok(SCENARIOS.iter().collect()),
        Some(names) => names.split(',').map(named).collect(),
    }
}

/// The words of a load. `h3` is the load generator of HTTP/3.
fn load_of(scenario: &Scenario, (port, seconds): (u16, u32), h3: Option<&Path>) -> Vec<String> {
    let mut words = scenario.load(port, seconds);
    if let (Some(first), Some(program)) = (words.first_mut().filter(|it| *it == h3_load::NAME), h3)
    {
        *first = program.display().to_string();
    }
    words
}

fn named(name: &str) -> Outcome<&'static Scenario> {
    let found = SCENARIOS.iter().find(|scenario| scenario.name == name);
    found.ok_or_else(|| failure::usage(format!("no scenario `{name}` (try --help)")))
}

/// One run of one proxy.
fn measure(
    files: &Files,
    subject: &Subject,
    scenario: &Scenario,
    port: u16,
    load: &[String],
) -> Outcome<LoadFigures> {
    let stem = format!("{}-{}", subject.name, scenario.name);
    let text = scenario.configuration(&subject.name, port, files.path());
    let text = subject.configured(text);
    let configuration = files.write(&format!("{stem}.cfg"), text)?;
    let output = files.path().join(format!("{stem}.out"));
    let mut command = process::pinned(0, &subject.binary);
    command.arg("-f").arg(configuration).arg("-db");
    let proxy = Process::start(&command, Some(&output))?;
    if !process::wait_for_port(port) {
        let text = std::fs::read_to_string(&output).unwrap_or_default();
        return Err(failure::check(format!("did not start: {}", load::tail(&text, 300))));
    }
    clock::pause(Duration::from_millis(300));
    let before = proxy.cpu()?;
    let start = clock::now();
    let counted = load::run(load)?;
    let used = proxy.cpu()? - before;
    let requests = counted.requests.max(1) as f64;
    let mut note = counted.note();
    if scenario.compresses() {
        let _ = write!(note, "{:.0} bytes/response", counted.bytes / requests);
    }
    Ok(LoadFigures {
        cpu: used * 1e6 / requests,
        added: None,
        rate: requests / start.elapsed().as_secs_f64(),
        p99: counted.p99.clone(),
        resident: proxy.resident()? as f64 / 1024.0,
        note,
    })
}

/// Prints a line per proxy; the median CPU of each, or nothing where no run succeeded.
fn print<'a>(
    scenario: &str,
    results: impl Iterator<Item = (&'a str, Vec<Outcome<LoadFigures>>)>,
) -> Medians {
    let (mut base, mut base_added) = (None, None);
    let mut medians = Vec::new();
    for (name, runs) in results {
        let good: Vec<&LoadFigures> = runs.iter().filter_map(|run| run.as_ref().ok()).collect();
        let Some(last) = good.last() else {
            let error = runs.first().and_then(|run| run.as_ref().err());
            let error = error.map_or(String::new(), ToString::to_string);
            println!("{scenario:14} {name:14} FAILED {error}");
            medians.push((name.to_owned(), None));
            continue;
        };
        let cpu = median(good.iter().map(|run| run.cpu).collect());
        let rate = median(good.iter().map(|run| run.rate).collect());
        let ratio = cpu / *base.get_or_insert(cpu);
        println!(
            "{scenario:14} {name:14} {cpu:9.2} us/req  ratio {ratio:5.2}  {rate:9.0} req/s  p99 {:>8}  rss {:.1} MB {}",
            last.p99, last.resident, last.note
        );
        let added: Vec<f64> = good.iter().filter_map(|run| run.added).collect();
        if !added.is_empty() {
            let added = median(added);
            let ratio = added / *base_added.get_or_insert(added);
            println!("{scenario:14} {name:14} {added:9.2} us added, ratio {ratio:5.2}");
        }
        medians.push((name.to_owned(), Some(cpu)));
    }
    medians
}

/// `{"scenario": {"name": microseconds or null}}`.
fn json(results: &[(&str, Medians)]) -> String {
    let mut text = String::from("{");
    for (number, (scenario, medians)) in results.iter().enumerate() {
        let comma = if number > 0 { "," } else { "" };
        let _ = write!(text, "{comma}\n \"{scenario}\": {{");
        for (number, (name, value)) in medians.iter().enumerate() {
            let comma = if number > 0 { "," } else { "" };
            let value = value.map_or("null".to_owned(), |value| format!("{value:.2}"));
            let _ = write!(text, "{comma}\n  \"{name}\": {value}");
        }
        text.push_str("\n }");
    }
    text.push_str("\n}\n");
    text
}

#[cfg(test)]
mod tests {
    //! The choice of scenarios and the file format.
    use super::*;

    #[test]
    fn chooses_scenarios() {
        let names = |text| -> Vec<&str> { chosen(text).unwrap().iter().map(|s| s.name).collect() };
        assert_eq!(names(None), ["h1-ka-64", "h1-ka-256", "h1-close", "h1-1m", "h1-rules"]);
        assert_eq!(names(Some("h1-1m,h1-rules")), ["h1-1m", "h1-rules"]);
        assert_eq!(names(Some("all")).len(), SCENARIOS.len());
        assert!(chosen(Some("h9")).is_err());
    }

    #[test]
    fn writes_json() {
        let results = [("a", vec![("x".to_owned(), Some(1.234)), ("y".to_owned(), None)])];
        assert_eq!(json(&results), "{\n \"a\": {\n  \"x\": 1.23,\n  \"y\": null\n }\n}\n");
    }
}
