//! Tests of traces: events that start, pause, stop and filter them.

use engine::state::records::trace::Traces;
use engine::state::records::trace::place::TracePlace;
use engine::state::records::trace::state::{Phase, TraceState};
use engine::state::records::trace::words::{CRITERIA, Criterion, Event, Level, Source};

/// A trace of streams that reports every event.
fn running() -> TraceState {
    let mut state = TraceState::new(Source::Stream);
    state.level = Level::Developer;
    state.enter(Phase::Running);
    state
}

fn place(client: u64, backend: Option<usize>) -> TracePlace {
    TracePlace {
        client: Some(client),
        backend,
        frontend: Some(0),
        stream: Some(0),
        ..TracePlace::default()
    }
}

fn hears(state: &mut TraceState, event: Event) -> bool {
    state.on_event(event, Level::User, &place(1, None))
}

#[test]
fn no_event_is_reported_before_the_start_and_after_the_stop() {
    let mut state = TraceState::new(Source::Stream);
    state.start = Event::New.bit();
    assert!(!hears(&mut state, Event::New), "events start nothing that was stopped");
    state.enter(Phase::Running);
    assert!(hears(&mut state, Event::New) && hears(&mut state, Event::End));
    state.enter(Phase::Stopped);
    assert!(!hears(&mut state, Event::New));
}

#[test]
fn levels_and_events_select_reports() {
    let mut state = running();
    state.level = Level::User;
    let place = place(1, None);
    assert!(state.on_event(Event::New, Level::Error, &place));
    assert!(!state.on_event(Event::New, Level::Proto, &place));
    state.report = Event::End.bit();
    assert!(!hears(&mut state, Event::New));
    assert!(hears(&mut state, Event::End));
}

#[test]
fn events_start_pause_and_stop() {
    let mut state = running();
    state.enter(Phase::Waiting);
    state.start = Event::New.bit();
    state.pause = Event::End.bit();
    state.stop = Event::Error.bit();
    assert!(!hears(&mut state, Event::Analysed));
    // The event that starts the trace is reported, and so is the one that ends it.
    assert!(hears(&mut state, Event::New));
    assert!(hears(&mut state, Event::End));
    assert_eq!(state.phase(), Phase::Waiting);
    assert!(!hears(&mut state, Event::Analysed));
    assert!(hears(&mut state, Event::New) && hears(&mut state, Event::Error));
    assert_eq!(state.phase(), Phase::Stopped);
    assert!(!hears(&mut state, Event::New));
}

#[test]
fn unreported_events_start_and_stop_a_trace() {
    let mut state = running();
    state.level = Level::User;
    state.enter(Phase::Waiting);
    state.report = Event::End.bit();
    state.start = Event::New.bit();
    assert!(!state.on_event(Event::New, Level::Developer, &place(1, None)));
    assert_eq!(state.phase(), Phase::Running);
    // A trace without reported events neither starts nor stops.
    state.enter(Phase::Waiting);
    state.report = 0;
    assert!(!hears(&mut state, Event::New));
    assert_eq!(state.phase(), Phase::Waiting);
}

#[test]
fn it_sticks_to_the_first_that_it_meets() {
    let mut state = running();
    state.lock_on(Criterion::Session);
    assert!(state.on_event(Event::New, Level::User, &place(1, None)));
    assert!(!state.on_event(Event::New, Level::User, &place(2, None)));
    assert!(state.on_event(Event::End, Level::User, &place(1, None)));
    // The same number on another thread belongs to another stream.
    let elsewhere = TracePlace { thread: 1, ..place(1, None) };
    assert!(!state.on_event(Event::New, Level::User, &elsewhere));
    state.lock_on(Criterion::Session);
    assert!(state.on_event(Event::New, Level::User, &place(2, None)));
    assert!(!state.on_event(Event::New, Level::User, &place(1, None)));
}

#[test]
fn a_place_that_is_not_known_yet_is_waited_for() {
    let mut state = running();
    state.lock_on(Criterion::Backend);
    assert!(state.on_event(Event::New, Level::User, &place(1, None)));
    assert!(state.on_event(Event::Routed, Level::User, &place(1, Some(3))));
    assert!(!state.on_event(Event::Routed, Level::User, &place(2, Some(4))));
    assert!(!state.on_event(Event::New, Level::User, &place(2, None)));
    assert!(state.on_event(Event::End, Level::User, &place(2, Some(3))));
}

#[test]
fn a_pause_unlocks_the_trace() {
    let mut state = running();
    state.lock_on(Criterion::Session);
    (state.start, state.pause) = (Event::New.bit(), Event::End.bit());
    assert!(state.on_event(Event::New, Level::User, &place(1, None)));
    assert!(
        !state.on_event(Event::End, Level::User, &place(2, None)),
        "not the one that it watches"
    );
    assert!(state.on_event(Event::End, Level::User, &place(1, None)));
    assert!(state.on_event(Event::New, Level::User, &place(2, None)));
    assert!(!state.on_event(Event::New, Level::User, &place(1, None)));
}

#[test]
fn every_criterion_tells_places_apart() {
    let one = TracePlace {
        thread: 0,
        frontend: Some(1),
        bind: 2,
        backend: Some(3),
        slot: Some(4),
        client: Some(5),
        stream: Some(6),
        check: Some([7, 8]),
    };
    let other = TracePlace {
        thread: 1,
        frontend: Some(2),
        backend: Some(4),
        client: Some(6),
        check: Some([8, 8]),
        ..one
    };
    for (criterion, name, _) in CRITERIA {
        let apart = one.of(criterion) != other.of(criterion);
        assert_eq!(apart, criterion != Criterion::Nothing, "{name}");
        assert!(Source::ALL.iter().any(|source| source.knows(criterion)), "{name}");
    }
}

#[test]
fn trace_points_are_active_only_for_running_or_waiting_traces() {
    let traces = Traces::default();
    assert!(!traces.any());
    traces.with(Source::H1, |state| state.enter(Phase::Waiting));
    traces.with(Source::Check, |state| state.enter(Phase::Running));
    assert!(traces.any());
    traces.with(Source::H1, |state| state.report = 0);
    assert!(traces.any());
    traces.with(Source::Check, |state| state.stop = Event::Failed.bit());
    assert!(traces.any());
    let place = TracePlace::default();
    traces.with(Source::Check, |state| state.on_event(Event::Failed, Level::Error, &place));
    assert!(!traces.any(), "an event that stops the last one counts like a command");
    traces.with(Source::H1, |state| state.report = 1);
    assert!(traces.any());
    traces.stop_all();
    assert!(!traces.any());
}

#[test]
fn names_of_events_are_unique() {
    for source in Source::ALL {
        assert_eq!(Source::find(source.name()), Some(source));
        let events = source.events();
        assert_eq!(source.all_events().count_ones() as usize, events.len(), "{}", source.name());
        for (event, name, _) in events {
            let same = events.iter().filter(|(other, own, _)| own == name && other == event);
            assert_eq!(same.count(), 1, "{name}");
        }
    }
}
