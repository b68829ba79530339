//! One check: connects, sends, receives, closes. Never keeps anything of it.
//!
//! One wake-up per phase: each step is tried first and waited for only if it has to be. A
//! connection without a request ends with a reset before the server's program hears of it; after a
//! response the connection is closed the same way, unless the server closed it first.

use super::checker::Checker;
use super::rule;
use super::verdict::{self, Answer};
use crate::runtime::{Proxy, Server};
use crate::settings::{Back, Check, HttpCheck};
use balance::{CheckResult, CheckStatus};
use buf::Buf;
use reactor::{Socket, Tick};
use std::io::{self, IoSlice};

/// Checks a server once; the result carries how long it took.
pub(super) async fn run(
    checker: &Checker,
    proxy: &Proxy,
    settings: &Back,
    server: &Server,
) -> CheckResult {
    let thread = &checker.worker.thread;
    let began = checker.worker.millis();
    let timeouts = &proxy.settings.timeouts;
    let inter = server.settings.balance.intervals.inter;
    let limits = rule::limits(inter, timeouts.connect, timeouts.check);
    let address = &server.settings.check_address;
    let socket = match settings.check {
        Check::Connect => Socket::connect_unheard(thread, address),
        Check::Http(_) => Socket::connect(thread, address),
    };
    let result = match socket {
        Err(error) => verdict::unconnected(&error),
        Ok(socket) => exchange(checker, &settings.check, socket, limits).await,
    };
    CheckResult { duration_ms: checker.worker.millis() - began, ..result }
}

async fn exchange(
    checker: &Checker,
    check: &Check,
    socket: Socket,
    (connect_ms, answer_ms): (u32, Option<u32>),
) -> CheckResult {
    let thread = socket.thread().clone();
    let deadline = thread.tick().plus_ms(connect_ms);
    let request = match check {
        Check::Connect => &[][..],
        Check::Http(http) => &http.request,
    };
    let mut sent = match stand(&socket, request, deadline).await {
        Ok(sent) => sent,
        Err(result) => return result,
    };
    let Check::Http(http) = check else {
        socket.reset_on_close();
        return verdict::plain(CheckStatus::L4Ok, "");
    };
    let deadline = answer_ms.map_or(deadline, |span| thread.tick().plus_ms(span));
    let mut input = Buf::empty();
    let result = loop {
        if let Some(result) = step(checker, http, &socket, &mut sent, &mut input) {
            break result;
        }
        if deadline.is_due(thread.tick()) {
            break verdict::plain(CheckStatus::L7Timeout, "");
        }
        if sent < http.request.len() {
            socket.want_write();
        }
        socket.want_read();
        thread.scheduler().pause(Some(deadline)).await;
    };
    checker.worker.release(input);
    if !socket.is_closed() {
        socket.reset_on_close();
    }
    result
}

/// Waits until the connection stands, which the first write tells; returns how much it took.
async fn stand(socket: &Socket, request: &[u8], deadline: Tick) -> Result<usize, CheckResult> {
    let thread = socket.thread().clone();
    loop {
        match socket.send(&[IoSlice::new(request)], false) {
            Ok(sent) => return Ok(sent),
            Err(error) if is_transient(&error) => {}
            Err(error) => return Err(verdict::unconnected(&error)),
        }
        if deadline.is_due(thread.tick()) {
            return Err(verdict::plain(CheckStatus::L4Timeout, ""));
        }
        socket.want_write();
        thread.scheduler().pause(Some(deadline)).await;
    }
}

/// Writes and reads what can be; the result, once there is one.
fn step(
    checker: &Checker,
    http: &HttpCheck,
    socket: &Socket,
    sent: &mut usize,
    input: &mut Buf,
) -> Option<CheckResult> {
    while *sent < http.request.len() {
        match socket.send(&[IoSlice::new(&http.request[*sent..])], false) {
            Ok(count) => *sent += count,
            Err(error) if is_transient(&error) => break,
            // The server may have answered before it closed.
            Err(_) => *sent = http.request.len(),
        }
    }
    while socket.is_readable() {
        if input.capacity() == 0 {
            *input = checker.worker.buffers.take();
        }
        let (result, full) = match socket.recv(input.space()) {
            Ok(count) => {
                input.filled(count);
                (Ok(count == 0), input.room() == 0)
            }
            Err(error) if is_transient(&error) => continue,
            Err(error) => (Err(error), false),
        };
        let ended = match result {
            Ok(ended) => ended || full,
            Err(error) => return Some(verdict::broken(&error)),
        };
        let head = &mut checker.head.borrow_mut();
        if let Answer::Final(result) = verdict::http(http, input.data(), ended, head) {
            return Some(result);
        }
    }
    None
}

fn is_transient(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted)
}
