//! Connections to servers that carry many streams: one task and many requests each.
//!
//! A thread's trunks stay with it. `http-reuse` decides which requests may use one (manual section
//! 4.2): while a stream is under way and the policy is `safe`, those of the same client alone.

use buf::Buf;
use engine::io::stream_pump::{Pump, PumpOutcome};
use engine::state::backend::trunk::Trunk;
use engine::state::worker::Worker;
use observability::logging::log::{self, level};
use observability::telemetry::trace::points as trace;
use reactor::{Class, Tick, Wake};
use std::rc::Rc;
use transport::channel::Link;
use transport::socket::Transport;
use transport::streams::StreamMux;

/// Puts an established connection into service: other requests may use it, and a task drives it.
pub fn serve(worker: &Rc<Worker>, trunk: &Rc<Trunk>, link: Link) {
    // The cell is empty: only this statement sets it.
    let _ = trunk.link.set(link);
    worker.trunks.add(trunk);
    let driver = run(worker.clone(), trunk.clone());
    let task = worker.thread.scheduler().spawn(Class::Normal, driver);
    trunk.session.set_driver(task);
    worker.thread.scheduler().wake(task, Wake::MESSAGE);
}

/// Drives a trunk until it is over.
async fn run(worker: Rc<Worker>, trunk: Rc<Trunk>) {
    let Some(socket) = trunk.transport() else { return };
    socket.own();
    if let Some(stats) = trunk.stats() {
        stats.open();
    }
    let is_fcgi = trunk.session.inspect(StreamMux::is_fcgi);
    if is_fcgi {
        trace::application(&worker, &trunk, &trace::FCGI_OPENED);
    }
    let mut pump = Pump::new(&trunk.session, Buf::empty(), worker.thread.tick());
    drive(&worker, &trunk, &mut pump, socket).await;
    trunk.stir();
    worker.trunks.remove(&trunk);
    // A server of HTTP/2 learns that nothing has failed (RFC 9113 section 6.8).
    trunk.session.act_for_driver(StreamMux::begin_shutdown);
    drop(trunk.session.flush(socket));
    pump.close(&worker, socket).await;
    log_error_lines(&worker, &trunk);
    if is_fcgi {
        trace::application(&worker, &trunk, &trace::FCGI_CLOSED);
    }
    if let Some(stats) = trunk.stats() {
        stats.close();
        stats.count(&trunk.session.act_for_driver(StreamMux::take_counters));
    }
}

async fn drive(worker: &Rc<Worker>, trunk: &Trunk, pump: &mut Pump, socket: &Transport) {
    let thread = worker.thread.clone();
    loop {
        let turn = pump.turn(worker, socket, |_| ());
        if let Some(stats) = trunk.stats() {
            stats.count(&trunk.session.act_for_driver(StreamMux::take_counters));
        }
        log_error_lines(worker, trunk);
        if turn == PumpOutcome::Over {
            return;
        }
        if turn == PumpOutcome::More {
            thread.scheduler().yield_as(Class::Bulk).await;
            continue;
        }
        let idle = trunk.is_idle();
        if idle && (!trunk.lie_down() || !trunk.is_kept(worker)) {
            return;
        }
        let deadline = deadline(trunk, pump, idle);
        if deadline.is_some_and(|deadline| deadline.is_due(thread.tick())) {
            return;
        }
        pump.want(socket);
        thread.scheduler().wait(deadline).await;
    }
}

/// Logs the error output of an application (`log-stderr`).
fn log_error_lines(worker: &Worker, trunk: &Trunk) {
    let application = trunk.backend.back.settings.fcgi.as_ref();
    let Some(application) = application.filter(|_| trunk.session.inspect(StreamMux::is_fcgi))
    else {
        return;
    };
    let mut line = worker.take_scratch();
    while trunk.session.update(|mux| mux.take_error_line(&mut line)) {
        trace::application(worker, trunk, &trace::FCGI_ERROR_LINE);
        log::send(worker, &application.logs, level::ERR, &line);
    }
    worker.give_scratch(line);
}

/// The time at which the connection is closed: idle for `pool-purge-delay`, or with a server that
/// has read nothing for `timeout server`.
fn deadline(trunk: &Trunk, pump: &Pump, idle: bool) -> Option<Tick> {
    if idle {
        return Some(trunk.idle_since.get().plus_ms(trunk.server.settings.pool_purge));
    }
    let span = trunk.backend.settings.timeouts.server.filter(|_| pump.is_stalled())?;
    Some(pump.moved.plus_ms(span))
}
