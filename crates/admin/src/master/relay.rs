//! A command on its way to a worker and its answer on the way back.

use super::session::MasterState;
use crate::channel::{Channel, LONGEST};
use crate::cli::line::Command;
use crate::settings::Level;
use reactor::{Handle, Socket};
use std::io::{self, IoSlice};

/// Bytes of an answer that are passed on in one go.
const BATCH: usize = 16 * 1024;

/// The text for the worker: first the session's level, without an answer.
pub(super) fn request(command: &Command, state: &MasterState) -> String {
    let mut text = String::new();
    if state.expert {
        text.push_str("expert-mode on -;");
    }
    if state.experimental {
        text.push_str("experimental-mode on -;");
    }
    match state.level {
        Level::Admin => {}
        Level::Operator => text.push_str("operator -;"),
        Level::User => text.push_str("user -;"),
    }
    let words: Vec<String> = command.words.iter().map(|word| escaped(word)).collect();
    text.push_str(&words.join(" "));
    match &command.payload {
        Some(payload) => text.push_str(&format!(" <<\n{payload}\n")),
        None => text.push('\n'),
    }
    text
}

/// A word as it has to be typed.
fn escaped(word: &str) -> String {
    let mut out = String::new();
    for letter in word.chars() {
        if matches!(letter, ' ' | '\t' | ';' | '\\' | '<') {
            out.push('\\');
        }
        out.push(letter);
    }
    out
}

/// Sends the request, and to the client all that comes back.
///
/// # Errors
/// The client is gone. When the worker ends, its answer ends.
pub(super) async fn run(
    client: &mut Channel,
    worker: Handle,
    request: &str,
    command: &Command,
) -> io::Result<()> {
    let far = Socket::adopt(&client.thread, worker);
    far.assign_to_current_task();
    if send(client, &far, request.as_bytes()).await.is_err() {
        return Ok(());
    }
    // Only commands that run until the client sends something need further input.
    let listens = command.words.first().is_some_and(|word| word == "show")
        && command.words.get(1).is_some_and(|word| word == "events");
    if !listens {
        let _ = far.shutdown_write();
    }
    let mut buffer = vec![0; BATCH];
    loop {
        match far.recv(&mut buffer) {
            Ok(0) => return Ok(()),
            Ok(count) => {
                client.output.extend_from_slice(&buffer[..count]);
                client.flush(None).await?;
            }
            Err(error) if error.kind() != io::ErrorKind::WouldBlock => return Ok(()),
            Err(_) => {
                far.want_read();
                if listens && heard(client)? {
                    let _ = far.shutdown_write();
                } else if listens {
                    client.socket.want_read();
                }
                client.thread.scheduler().wait(None).await;
            }
        }
    }
}

/// Whether the client has sent something, or has closed.
fn heard(client: &mut Channel) -> io::Result<bool> {
    let mut buffer = [0; 4096];
    match client.socket.recv(&mut buffer) {
        Ok(count) => {
            let room = LONGEST.saturating_sub(client.input.len());
            client.input.extend_from_slice(&buffer[..count.min(room)]);
            Ok(true)
        }
        Err(error) if error.kind() == io::ErrorKind::WouldBlock => Ok(false),
        Err(error) => Err(error),
    }
}

async fn send(client: &Channel, far: &Socket, bytes: &[u8]) -> io::Result<()> {
    let mut sent = 0;
    while sent < bytes.len() {
        match far.send(&[IoSlice::new(&bytes[sent..])], false) {
            Ok(count) => sent += count,
            Err(error) if error.kind() != io::ErrorKind::WouldBlock => return Err(error),
            Err(_) => {
                far.want_write();
                client.thread.scheduler().wait(None).await;
            }
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::line::{Line, Parser};
    use proptest::prelude::*;

    fn command(words: &[String]) -> Command {
        Command { words: words.to_vec(), payload: None }
    }

    #[test]
    fn rights_go_first() {
        let state = MasterState { expert: true, level: Level::User, ..MasterState::default() };
        let text = request(&command(&["show".into(), "a b;".into()]), &state);
        assert_eq!(text, "expert-mode on -;user -;show a\\ b\\;\n");
        let payload = Command { words: vec!["x".into()], payload: Some("1\n2\n".into()) };
        let state = MasterState { level: Level::Admin, ..MasterState::default() };
        assert_eq!(request(&payload, &state), "x <<\n1\n2\n\n");
    }

    proptest! {
        #[test]
        fn words_arrive_as_they_were(words in prop::collection::vec("[^\r\n]{1,8}", 1..5)) {
            let state = MasterState { level: Level::Admin, ..MasterState::default() };
            let text = request(&command(&words), &state);
            let line = Parser::default().line(text.trim_end_matches('\n').as_bytes());
            let Line::Commands(read) = line else { panic!("{line:?}") };
            prop_assert_eq!(read.collect::<Vec<_>>(), vec![command(&words)]);
        }
    }
}
