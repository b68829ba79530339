//! `httpclient`: an HTTP request of the operator, with the response as it comes.

use super::call::{Call, Reply};
use htx::{Head, Method};
use proxy::{CallError, HttpCall, HttpRequest};
use std::io;
use stdx::Tick;

/// Bytes of a body that are read at once.
const PIECE: usize = 16 << 10;

/// `httpclient <method> <URI>`, perhaps with a body as its payload.
pub(super) fn request(call: &mut Call<'_>) -> Reply {
    let (method, url) = (call.word(1), call.word(2));
    if method.is_empty() || url.is_empty() {
        return Reply::error("Can't start the HTTP client: not enough parameters.");
    }
    if matches!(Method::of(method.as_bytes()), Method::Other | Method::Connect) {
        return failed();
    }
    // The end of the last line belongs to the command.
    let payload = call.payload.unwrap_or_default();
    Reply::Http(Box::new(HttpRequest {
        method: method.into(),
        url: url.into(),
        body: payload.strip_suffix('\n').unwrap_or(payload).into(),
        ..HttpRequest::default()
    }))
}

/// The request cannot be made.
pub(super) fn failed() -> Reply {
    Reply::error("Can't start the HTTP client.")
}

/// The response as it is shown.
pub(super) struct ResponseStream {
    call: HttpCall,
    has_head: bool,
}

impl ResponseStream {
    pub(super) fn new(call: HttpCall) -> Self {
        Self { call, has_head: false }
    }

    /// Appends the next part of the message; `false` at the end, of a truncated response as well.
    ///
    /// # Errors
    /// No bytes arrive by the deadline.
    pub(super) async fn next(
        &mut self,
        out: &mut Vec<u8>,
        deadline: Option<Tick>,
    ) -> io::Result<bool> {
        loop {
            match self.poll(out) {
                Ok(Some(more)) => return Ok(more),
                Ok(None) => {}
                Err(_) => return Ok(false),
            }
            if self.call.is_due(deadline) {
                return Err(io::ErrorKind::TimedOut.into());
            }
            self.call.wait(deadline).await;
        }
    }

    fn poll(&mut self, out: &mut Vec<u8>) -> Result<Option<bool>, CallError> {
        if !self.has_head {
            let head = self.call.poll_response()?;
            return Ok(head.map(|head| {
                self.has_head = true;
                write_head(&head, out);
                true
            }));
        }
        let mut piece = [0; PIECE];
        Ok(self.call.poll_receive(&mut piece)?.map(|count| {
            out.extend_from_slice(&piece[..count]);
            count > 0
        }))
    }
}

/// The status line ends with a line feed alone, as HAProxy writes it.
fn write_head(head: &Head, out: &mut Vec<u8>) {
    out.extend_from_slice(b"HTTP/1.1 ");
    out.extend_from_slice(head.status().to_string().as_bytes());
    out.push(b' ');
    out.extend_from_slice(head.reason());
    out.push(b'\n');
    for field in head.fields() {
        for part in [field.name, b": ", field.value, b"\r\n"] {
            out.extend_from_slice(part);
        }
    }
    out.extend_from_slice(b"\r\n");
}
