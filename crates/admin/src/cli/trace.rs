//! `trace` and `show trace`: the traced events, and the sink that gets them (management.txt
//! 9.3).

use super::call::{Call, Reply, Severity};
use super::events::STREAMS;
use engine::state::records::anon::Anon;
use engine::state::records::trace::state::{Phase, TraceState};
use engine::state::records::trace::words::{CRITERIA, Event, Level, Source, Verbosity};
use engine::state::runtime::Shared;
use std::fmt::Write as _;
use std::sync::Arc;

const STATES: &str = "Supported trace sources and states (.=stopped, w=waiting, R=running) :\n";

/// The actions on a source.
#[rustfmt::skip]
const KEYWORDS: [(&str, &str); 8] = [
    ("event", "list/enable/disable source-specific event reporting"),
    ("level", "list/set trace reporting level"),
    ("lock", "automatic lock on thread/connection/stream/..."),
    ("pause", "pause and automatically restart after a specific event"),
    ("sink", "list/set event sinks"),
    ("start", "start immediately or after a specific event"),
    ("stop", "stop immediately or after a specific event"),
    ("verbosity", "list/set trace output verbosity"),
];

/// `trace [<source>|0] [<keyword> [<argument>]]`
pub(super) fn set(call: &mut Call<'_>) -> Reply {
    let shared = call.shared().clone();
    let source = match call.word(1) {
        "" => return sources(&shared),
        "0" => {
            shared.traces.stop_all();
            return Reply::Bare(Severity::Notice, "All traces now stopped".to_owned());
        }
        name => match Source::find(name) {
            Some(source) => source,
            None => return refusal("No such trace source"),
        },
    };
    let words = (call.word(2), call.word(3));
    hide(&shared, source, call.state.anon, words);
    match words {
        ("", _) => listed("Supported commands:\n".to_owned(), |out| {
            for (name, about) in KEYWORDS {
                line(out, format_args!("  {name:<10}: {about}"));
            }
        }),
        ("event", name) => events(&shared, source, None, name),
        ("start", name) => events(&shared, source, Some(Phase::Running), name),
        ("stop", name) => events(&shared, source, Some(Phase::Stopped), name),
        ("pause", name) => events(&shared, source, Some(Phase::Waiting), name),
        ("level", name) => level(&shared, source, name),
        ("lock", name) => lock(&shared, source, name),
        ("sink", name) => sink(&shared, source, name),
        ("verbosity", name) => verbosity(&shared, source, name),
        _ => refusal("Unknown trace keyword"),
    }
}

/// Makes a trace anonymous when a session in anonymous mode changes it; a session that starts the
/// trace sets the mode anew.
fn hide(shared: &Shared, source: Source, anon: Anon, words: (&str, &str)) {
    let changes = !words.1.is_empty();
    if changes && (anon.key().is_some() || words.0 == "start") {
        shared.traces.with(source, |state| state.anon = anon);
    }
}

/// `show trace [<source>]`
pub(super) fn show(call: &mut Call<'_>) -> Reply {
    let shared = call.shared();
    let name = call.word(2);
    if name.is_empty() {
        let mut out = STATES.to_owned();
        for source in Source::ALL {
            shared.traces.with(source, |state| {
                let (mark, dropped) = (mark(state.phase()), state.dropped);
                let (sink, about) = (sink_name(state), source.about());
                let name = source.name();
                line(
                    &mut out,
                    format_args!(" [{mark}] {name:<10} -> {sink} [drp {dropped}]  [{about}]"),
                );
            });
        }
        return Reply::Dump(out);
    }
    let Some(source) = Source::find(name) else { return refusal("No such trace source") };
    Reply::Dump(shared.traces.with(source, |state| status(source, state)))
}

/// The state of one source.
fn status(source: Source, state: &TraceState) -> String {
    let mut out = format!("Trace status for {}:\n", source.name());
    let sink = sink_name(state);
    line(&mut out, format_args!("  - sink: {sink} [{} dropped]", state.dropped));
    line(&mut out, format_args!("  - event name   :     report    start    stop    pause"));
    for (event, name, _) in source.events() {
        let [report, start, stop, pause] =
            [state.report, state.start, state.stop, state.pause].map(|set| sign(set, *event));
        line(
            &mut out,
            format_args!(
                "    {name:<12} :        {report}        {start}        {stop}       {pause}"
            ),
        );
    }
    out
}

fn sources(shared: &Shared) -> Reply {
    let mut out = STATES.to_owned();
    line(
        &mut out,
        format_args!(" [.] {:<10} : not a source, will immediately stop all traces", "0"),
    );
    for source in Source::ALL {
        let mark = shared.traces.with(source, |state| mark(state.phase()));
        line(&mut out, format_args!(" [{mark}] {:<10} : {}", source.name(), source.about()));
    }
    Reply::Dump(out)
}

/// The set of events that are reported, or that bring the trace into a phase.
fn set_of(state: &mut TraceState, phase: Option<Phase>) -> &mut u32 {
    match phase {
        None => &mut state.report,
        Some(Phase::Running) => &mut state.start,
        Some(Phase::Stopped) => &mut state.stop,
        Some(Phase::Waiting) => &mut state.pause,
    }
}

fn events(shared: &Shared, source: Source, phase: Option<Phase>, word: &str) -> Reply {
    // Measured: the last sign counts, and neither `none` nor `any` minds one.
    let name = word.trim_start_matches(['+', '-', '!']);
    let removes = word[..word.len() - name.len()].ends_with(['-', '!']);
    shared.traces.with(source, |state| {
        if name.is_empty() {
            return list_events(source, phase, *set_of(state, phase));
        }
        let named = source.events().iter().find(|(_, own, _)| *own == name);
        let (bits, removes) = match (name, phase, named) {
            ("now", Some(phase), _) => {
                state.enter(phase);
                return Reply::Done;
            }
            ("none", ..) => (u32::MAX, true),
            ("any", ..) => (source.all_events(), false),
            (.., Some((event, ..))) => (event.bit(), removes),
            _ => return refusal("No such trace event"),
        };
        let set = set_of(state, phase);
        *set = if removes { *set & !bits } else { *set | bits };
        Reply::Done
    })
}

fn list_events(source: Source, phase: Option<Phase>, set: u32) -> Reply {
    let title = format!("Supported events for source {} (+=enabled, -=disabled):\n", source.name());
    listed(title, |out| {
        let now = phase.map(|_| ("now", "don't wait for events, immediately change the state"));
        let all = [("none", "disable all event types"), ("any", "enable all event types")];
        for (name, about) in now.into_iter().chain(all) {
            line(out, format_args!("  - {name:<12} : {about}"));
        }
        for (event, name, about) in source.events() {
            line(out, format_args!("  {} {name:<12} : {about}", sign(set, *event)));
        }
    })
}

fn level(shared: &Shared, source: Source, word: &str) -> Reply {
    shared.traces.with(source, |state| {
        if word.is_empty() {
            let title = format!("Supported trace levels for source {}:\n", source.name());
            let all = Level::ALL.map(|(level, name, about)| (level == state.level, name, about));
            return listed(title, |out| all.into_iter().for_each(|row| choice(out, row)));
        }
        match Level::ALL.iter().find(|(_, name, _)| *name == word) {
            Some((level, ..)) => state.level = *level,
            None => return refusal("No such trace level"),
        }
        Reply::Done
    })
}

fn verbosity(shared: &Shared, source: Source, word: &str) -> Reply {
    shared.traces.with(source, |state| {
        let now = state.verbosity;
        if word.is_empty() {
            let title = format!("Supported trace verbosities for source {}:\n", source.name());
            let all = Verbosity::ALL.map(|(own, name, about)| (own == now, name, about));
            return listed(title, |out| all.into_iter().for_each(|row| choice(out, row)));
        }
        match Verbosity::ALL.iter().find(|(_, name, _)| *name == word) {
            Some((verbosity, ..)) => state.verbosity = *verbosity,
            None => return refusal("No such verbosity level"),
        }
        Reply::Done
    })
}

fn lock(shared: &Shared, source: Source, word: &str) -> Reply {
    let mut known = CRITERIA.iter().filter(|(criterion, ..)| source.knows(*criterion));
    shared.traces.with(source, |state| {
        if word.is_empty() {
            let title = format!("Supported lock-on criteria for source {}:\n", source.name());
            let now = state.criterion();
            let row = |(own, name, about): &_| (*own == now, *name, *about);
            return listed(title, |out| known.map(row).for_each(|row| choice(out, row)));
        }
        match known.find(|(_, name, _)| *name == word) {
            Some((criterion, ..)) => state.lock_on(*criterion),
            None => return refusal("Unsupported lock-on criterion"),
        }
        Reply::Done
    })
}

fn sink(shared: &Shared, source: Source, word: &str) -> Reply {
    let rings = shared.rings.iter().map(|ring| &ring.settings);
    let mut all: Vec<(&str, &str)> = vec![("none", "no sink")];
    all.extend(STREAMS);
    all.extend(rings.map(|ring| (&*ring.name, &*ring.description)));
    shared.traces.with(source, |state| {
        if word.is_empty() {
            let title = format!("Supported sinks for source {} (*=current):\n", source.name());
            let now = sink_name(state).to_owned();
            let row = |(name, about)| (now == name, name, about);
            return listed(title, |out| {
                all.into_iter().map(row).for_each(|row| choice(out, row));
            });
        }
        match all.iter().find(|(name, _)| *name == word) {
            Some(("none", _)) => state.sink = None,
            Some((name, _)) => state.sink = Some(Arc::from(*name)),
            None => return refusal("No such sink"),
        }
        Reply::Done
    })
}

fn sink_name(state: &TraceState) -> &str {
    state.sink.as_deref().unwrap_or("none")
}

fn mark(phase: Phase) -> char {
    match phase {
        Phase::Stopped => '.',
        Phase::Waiting => 'w',
        Phase::Running => 'R',
    }
}

fn sign(set: u32, event: Event) -> char {
    if set & event.bit() != 0 { '+' } else { '-' }
}

/// A line of a list with one selected item.
fn choice(out: &mut String, (chosen, name, about): (bool, &str, &str)) {
    let star = if chosen { '*' } else { ' ' };
    line(out, format_args!("  {star} {name:<10} : {about}"));
}

/// A list under a title.
fn listed(mut out: String, fill: impl FnOnce(&mut String)) -> Reply {
    fill(&mut out);
    // The answer ends the last line.
    out.pop();
    Reply::Message(Severity::Warning, out)
}

fn refusal(text: &str) -> Reply {
    Reply::error(text).bare()
}

/// Appends a line; writing to a string cannot fail.
fn line(out: &mut String, text: std::fmt::Arguments<'_>) {
    let _ = out.write_fmt(text);
    out.push('\n');
}
