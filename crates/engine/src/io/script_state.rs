//! Waits of tasks that run scripts: for their state, for a turn, for a time, for a socket, for a response.

use crate::io::script_socket;
use crate::state::backend::queue::Waiter;
use crate::state::worker::Worker;
use reactor::{Class, Wake};
use sample::regex::effort;
use script::{Answer, Cell, Request, Turn};
use stdx::Tick;

/// The state of scripts, once no other thread uses it.
pub async fn enter<'c>(worker: &Worker, cell: &'c Cell) -> Turn<'c> {
    loop {
        let waiter = Waiter::current(&worker.thread);
        if let Some(turn) = cell.enter(move || waiter.mailbox.wake(waiter.task, Wake::RESOURCE)) {
            // The steps of patterns are those of no message.
            effort::open(0);
            return turn;
        }
        worker.thread.scheduler().wait(None).await;
    }
}

/// Carries out the operation that a script waits for. Bytes of a client are refused: the caller has
/// none.
pub async fn meet(worker: &Worker, request: Request) -> Answer {
    match request {
        Request::Slice | Request::Yield => worker.thread.next_turn(Class::Bulk).await,
        Request::Sleep(span) => sleep(worker, span).await,
        Request::Http(request) => return worker.script_request(*request).await,
        Request::Socket(id, call) => return script_socket::serve(worker, id, call).await,
        Request::Send(_) | Request::Receive(_) | Request::Line => {
            return Answer::Failed("there is no client here".to_owned());
        }
    }
    Answer::Done
}

/// Waits for `span` milliseconds.
async fn sleep(worker: &Worker, span: u64) {
    let thread = &worker.thread;
    let until: Tick = thread.tick().plus_ms(u32::try_from(span).unwrap_or(u32::MAX));
    while !until.is_due(thread.tick()) {
        thread.scheduler().wait(Some(until)).await;
    }
}
