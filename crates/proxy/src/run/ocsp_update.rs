//! Updates of OCSP responses (`ocsp-update`): a task of the first thread asks the responders that
//! certificates name, one after another.

use engine::state::worker::Worker;
use observability::logging::log;
use reactor::Class;
use std::rc::Rc;
use std::sync::Arc;
use stdx::Tick;
use tls::Runtime;
use tls::runtime::{StapleQuery, UpdateStatus};
use transaction::call::http_call::{CallError, HttpCall, HttpRequest};

/// Certificates that have come at run time are found within so many seconds.
const LOOK: i64 = 60;
/// Milliseconds that a responder may be silent, and that an update may last.
const SILENCE_MS: u32 = 10_000;
const MOST_MS: u32 = 30_000;
/// The most bytes of a response.
const MOST_BYTES: usize = 64 << 10;
/// Bytes read at once.
const PIECE: usize = 4 << 10;
/// The type of responses (RFC 6960 appendix A.2).
const RESPONSE_TYPE: &[u8] = b"application/ocsp-response";
/// The type of queries.
const REQUEST_TYPE: &[u8] = b"application/ocsp-request";

/// Starts the task, where a certificate has `ocsp-update`.
pub(crate) fn start(worker: &Rc<Worker>) {
    if worker.thread.index == 0
        && let Some(runtime) = worker.shared.stapled.get()
    {
        let task = run(worker.clone(), runtime.clone());
        worker.thread.scheduler().spawn(Class::Normal, task);
    }
}

async fn run(worker: Rc<Worker>, runtime: Arc<Runtime>) {
    while !worker.shared.is_stopping() {
        let now = seconds(&worker);
        let (due, next) = runtime.due_updates(now);
        if !due.is_empty() {
            for query in due {
                update(&worker, &runtime, &query).await;
            }
            continue;
        }
        let pause = next.map_or(LOOK, |next| (next - now).clamp(1, LOOK));
        let until = worker.thread.tick().plus_ms(pause as u32 * 1_000);
        while !until.is_due(worker.thread.tick()) && !worker.shared.is_stopping() {
            worker.thread.scheduler().wait(Some(until)).await;
        }
    }
}

/// Seconds since 1970.
fn seconds(worker: &Worker) -> i64 {
    (worker.thread.wall() / 1_000_000_000) as i64
}

/// Fetches a response, gives it to its certificates and writes a log line.
pub async fn update(worker: &Rc<Worker>, runtime: &Runtime, query: &StapleQuery) -> UpdateStatus {
    let answer = fetch(worker, query).await;
    let answer = answer.as_deref().map_err(|status| *status);
    let (status, failures, successes) = runtime.finish_update(query, answer, seconds(worker));
    let line = format!(
        "<OCSP-UPDATE> {} {} \"{}\" {failures} {successes}",
        query.path,
        status.number(),
        status.text()
    );
    let line = log::without_controls(line.as_bytes());
    log::send(worker, &worker.shared.settings.logs, log::level::NOTICE, &line);
    status
}

/// The content of the responder's answer.
async fn fetch(worker: &Rc<Worker>, query: &StapleQuery) -> Result<Vec<u8>, UpdateStatus> {
    let until = worker.thread.tick().plus_ms(MOST_MS);
    let mut call = HttpCall::start(worker, request(query)).map_err(|_| UpdateStatus::Http)?;
    let head = loop {
        match call.poll_response().map_err(|_| UpdateStatus::Http)? {
            Some(head) => break head,
            None => wait(worker, &call, until).await?,
        }
    };
    if head.status() != 200 {
        return Err(UpdateStatus::Http);
    }
    let kind = head.all(b"content-type").next().map(|field| field.value.to_ascii_lowercase());
    if !kind.is_some_and(|kind| kind.starts_with(RESPONSE_TYPE)) {
        return Err(UpdateStatus::ContentType);
    }
    let (mut body, mut piece) = (Vec::new(), [0; PIECE]);
    loop {
        match call.poll_receive(&mut piece) {
            Ok(Some(0)) => return Ok(body),
            Ok(Some(count)) if body.len() + count > MOST_BYTES => return Err(UpdateStatus::Check),
            Ok(Some(count)) => body.extend_from_slice(&piece[..count]),
            Ok(None) => wait(worker, &call, until).await?,
            Err(CallError::Truncated) => return Err(UpdateStatus::Http),
            Err(_) => return Err(UpdateStatus::Http),
        }
    }
}

fn request(query: &StapleQuery) -> HttpRequest {
    let mut headers = vec![(b"accept".to_vec(), RESPONSE_TYPE.to_vec())];
    let is_get = query.body.is_empty();
    if !is_get {
        headers.push((b"content-type".to_vec(), REQUEST_TYPE.to_vec()));
    }
    HttpRequest {
        method: if is_get { b"GET".to_vec() } else { b"POST".to_vec() },
        url: query.url.clone().into_bytes(),
        headers,
        body: query.body.clone(),
        timeout: Some(SILENCE_MS),
        ..HttpRequest::default()
    }
}

/// Waits until the call has more; an error when it has lasted too long, or the process stops.
async fn wait(worker: &Worker, call: &HttpCall, until: Tick) -> Result<(), UpdateStatus> {
    if call.is_due(Some(until)) || worker.shared.is_stopping() {
        return Err(UpdateStatus::Http);
    }
    call.wait(Some(until)).await;
    Ok(())
}
