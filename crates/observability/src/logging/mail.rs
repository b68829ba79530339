//! Mails about servers (configuration manual, section 3.6): a queue per mailer, and the
//! conversation by SMTP.
//!
//! The first mail of an empty queue starts a task on the thread that has it; the task ends with the
//! last mail.

use engine::io::byte_client::{ByteClient, ByteClientError};
use engine::state::mail_queue::LONGEST;
use engine::state::runtime::Proxy;
use engine::state::worker::Worker;
use reactor::{Address, Class};
use sample::calendar::Date;
use settings::Mail;
use std::net::SocketAddr;
use std::rc::Rc;
use std::sync::Arc;

/// Mails a message to the operators of a proxy, if they receive mails of this level.
pub fn send_alert(worker: &Worker, proxy: &Proxy, level: u8, text: &str) {
    let Some(mail) = proxy.settings.mail.as_ref().filter(|mail| level <= mail.level) else {
        return;
    };
    // A sentence in the log, a subject in the mail; and nothing that would end a line of it.
    let text = text.strip_suffix('.').unwrap_or(text);
    let text: Arc<str> = text.replace(|c: char| c.is_control(), " ").into();
    for (outbox, to) in proxy.outboxes.iter().zip(&mail.mailers) {
        if outbox.put(&text)
            && let Some(worker) = worker.handle()
            && let Some(proxy) =
                worker.shared.proxies.get(proxy.index).map(|section| section.proxy.clone())
        {
            let run = empty(worker.clone(), proxy, *to);
            worker.thread.scheduler().spawn(Class::Bulk, run);
        }
    }
}

/// Sends the queued mails of one mailer.
async fn empty(worker: Rc<Worker>, proxy: Arc<Proxy>, to: SocketAddr) {
    let Some(mail) = &proxy.settings.mail else { return };
    let place = mail.mailers.iter().position(|mailer| *mailer == to);
    let Some(outbox) = place.and_then(|place| proxy.outboxes.get(place)) else { return };
    while let Some(text) = outbox.take() {
        // A mail that did not get through is lost, as with HAProxy: the log has it too.
        let _ = send(&worker, mail, to, &text).await;
    }
}

/// Cause of a mail that was not sent.
#[derive(Debug)]
enum Failure {
    /// The connection.
    Trouble,
    /// The mailer sent an unexpected reply.
    Refused,
}

impl From<ByteClientError> for Failure {
    fn from(_: ByteClientError) -> Self {
        Self::Trouble
    }
}

/// One SMTP conversation (RFC 5321, its minimum).
async fn send(worker: &Rc<Worker>, mail: &Mail, to: SocketAddr, text: &str) -> Result<(), Failure> {
    let mut line = ByteClient::new(worker, mail.timeout_ms, None);
    line.connect(&Address::Inet(to), true).await?;
    expect_code(&mut line, "220").await?;
    let date = Date::new(i64::from(worker.second()), worker.local_offset());
    let letter = letter(mail, text, date);
    let steps = [
        (format!("HELO {}\r\n", mail.hostname), "250"),
        (format!("MAIL FROM:<{}>\r\n", mail.from), "250"),
        (format!("RCPT TO:<{}>\r\n", mail.to), "250"),
        ("DATA\r\n".to_owned(), "354"),
        (letter, "250"),
        ("QUIT\r\n".to_owned(), "221"),
    ];
    for (said, code) in steps {
        line.send(said.as_bytes()).await?;
        expect_code(&mut line, code).await?;
    }
    Ok(())
}

/// Header, body, and the dot that ends both.
pub fn letter(mail: &Mail, text: &str, date: Date) -> String {
    let mut stamp = Vec::new();
    date.write_strftime("%a, %d %b %Y %T %z (%Z)", &mut stamp);
    let stamp = String::from_utf8_lossy(&stamp);
    let dot = if text.starts_with('.') { "." } else { "" };
    let Mail { from, to, .. } = mail;
    format!(
        "From: {from}\r\nTo: {to}\r\nDate: {stamp}\r\nSubject: [HAProxy Alert] {text}\r\n\r\n\
         {dot}{text}\r\n\r\n.\r\n"
    )
}

/// Waits for a whole reply, which may have many lines, and checks its code.
async fn expect_code(line: &mut ByteClient, code: &str) -> Result<(), Failure> {
    loop {
        line.read()?;
        match reply(line.received()) {
            Some(said) if said == code.as_bytes() => {
                line.forget();
                return Ok(());
            }
            Some(_) => return Err(Failure::Refused),
            None if line.has_ended() || line.received().len() > LONGEST => {
                return Err(Failure::Refused);
            }
            None => line.wait_for_more().await?,
        }
    }
}

/// The code of a reply, once its last line has arrived: the line without a hyphen behind the code.
pub fn reply(bytes: &[u8]) -> Option<&[u8]> {
    let mut rest = bytes;
    loop {
        let end = rest.iter().position(|byte| *byte == b'\n')?;
        let (line, tail) = rest.split_at(end + 1);
        if line.get(3) != Some(&b'-') {
            return Some(&line[..line.len().min(3)]);
        }
        rest = tail;
    }
}
