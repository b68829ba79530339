//! Requests of scripts: the response is collected for the script.

use super::http_call::{CallError, HttpCall, HttpRequest};
use engine::io::kept_payload;
use engine::state::worker::{ScriptAnswer, Worker};
use script::{Answer, ClientRequest, ClientResponse, ScriptError};
use std::rc::Rc;

/// The most bytes of a body that a script gets.
const MAX_BODY: usize = 64 << 20;
/// Bytes read at once.
const PIECE: usize = 16 << 10;

/// The answer to a script. A drop ends the request.
pub fn answer(worker: Rc<Worker>, request: ClientRequest) -> ScriptAnswer {
    Box::pin(async move {
        match fetch(&worker, request).await {
            Ok(response) => Answer::Response(Box::new(response)),
            Err(error) => Answer::Failed(error.to_string()),
        }
    })
}

async fn fetch(worker: &Rc<Worker>, from: ClientRequest) -> Result<ClientResponse, ScriptError> {
    let ClientRequest { method, url, headers, body, to, timeout } = from;
    let request = HttpRequest { method, url, headers, body, to, timeout };
    let mut call = HttpCall::start(worker, request).map_err(message)?;
    let head = loop {
        match call.poll_response() {
            Ok(Some(head)) => break head,
            Ok(None) => call.wait(None).await,
            Err(error) => return Err(ScriptError::refused(error)),
        }
    };
    let fields = head.fields().map(|field| (field.name.to_vec(), field.value.to_vec()));
    let (status, reason) = (head.status(), head.reason().to_vec());
    let headers = fields.collect();
    let body = collect(worker, &mut call).await?;
    Ok(ClientResponse { status, reason, headers, body })
}

/// The body. As in HAProxy, a body that the server has truncated is returned without an error.
async fn collect(worker: &Worker, call: &mut HttpCall) -> Result<Vec<u8>, ScriptError> {
    let (mut body, mut piece) = (Vec::<u8>::new(), [0; PIECE]);
    let short = |_| ScriptError::refused(kept_payload::SHORT);
    loop {
        kept_payload::grow(worker, &mut body, PIECE).await.map_err(short)?;
        let received = kept_payload::wait(worker, body.len(), receive(call, &mut piece)).await;
        match received.map_err(short)? {
            Ok(0) | Err(CallError::Truncated) => {
                // The script gets a copy.
                kept_payload::admit(worker, body.len(), body.len()).await.map_err(short)?;
                return Ok(body);
            }
            Ok(count) if body.len() + count > MAX_BODY => {
                return Err(ScriptError::refused("the body of the response is too large"));
            }
            Ok(count) => body.extend_from_slice(&piece[..count]),
            Err(error) => return Err(ScriptError::refused(error)),
        }
    }
}

/// Bytes of the body; 0 at its end.
async fn receive(call: &mut HttpCall, piece: &mut [u8]) -> Result<usize, CallError> {
    loop {
        match call.poll_receive(piece)? {
            Some(count) => return Ok(count),
            None => call.wait(None).await,
        }
    }
}

/// The error for the script, in HAProxy's words where it has some.
fn message(error: CallError) -> ScriptError {
    ScriptError::Refused(match error {
        CallError::Address => "Can't use the 'dst' argument".to_owned(),
        CallError::Url => "couldn't start the httpclient".to_owned(),
        other => format!("couldn't start the httpclient: {other}"),
    })
}
