//! A real browser without a window: Chromium, controlled over its debugging pipe.

use super::{Directory, Moment, pass};
use std::io::{BufRead as _, BufReader, Write as _};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::Duration;

/// How long a browser may take to notice something on a busy machine.
const PATIENCE: Duration = Duration::from_secs(40);

/// A browser with one page.
pub(crate) struct Browser {
    process: Child,
    commands: ChildStdin,
    answers: BufReader<ChildStdout>,
    session: String,
    number: u32,
    _profile: Directory,
}

impl Browser {
    /// Starts the browser; `None` where there is none (Debian's package is `chromium`).
    pub(crate) fn start() -> Option<Self> {
        let profile = Directory::new();
        // The pipe's ends are descriptors 3 and 4.
        let words = "exec chromium --headless=new --no-sandbox --disable-gpu \
                     --remote-debugging-pipe --user-data-dir=\"$0\" about:blank 3<&0 4>&1 1>&2";
        let known = Command::new("sh").args(["-c", "command -v chromium"]).output().ok()?;
        if !known.status.success() {
            return None;
        }
        let mut process = Command::new("sh")
            .args(["-c", words])
            .arg(profile.as_path())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .expect("a shell");
        let commands = process.stdin.take().expect("a pipe");
        let answers = BufReader::new(process.stdout.take().expect("a pipe"));
        let session = String::new();
        let mut browser =
            Self { process, commands, answers, session, number: 0, _profile: profile };
        let answer = browser.call("Target.createTarget", "{\"url\":\"about:blank\"}");
        let target = word(&answer, "targetId").expect("a page");
        let parameters = format!("{{\"targetId\":\"{target}\",\"flatten\":true}}");
        let answer = browser.call("Target.attachToTarget", &parameters);
        browser.session = word(&answer, "sessionId").expect("a session");
        Some(browser)
    }

    /// Opens an address in a window of this size.
    pub(crate) fn open(&mut self, address: &str, (width, height): (u32, u32)) {
        let size = format!(
            "{{\"width\":{width},\"height\":{height},\"deviceScaleFactor\":1,\"mobile\":false}}"
        );
        self.call("Emulation.setDeviceMetricsOverride", &size);
        self.call("Page.navigate", &format!("{{\"url\":\"{address}\"}}"));
    }

    /// The value of an expression that is a string.
    pub(crate) fn text(&mut self, expression: &str) -> String {
        let expression = expression.replace('\\', "\\\\").replace('"', "\\\"");
        let parameters =
            format!("{{\"expression\":\"String({expression})\",\"returnByValue\":true}}");
        let answer = self.call("Runtime.evaluate", &parameters);
        word(&answer, "value").unwrap_or(answer)
    }

    /// Waits until an expression has a value; returns how long it took.
    pub(crate) fn wait(&mut self, expression: &str, wanted: &str) -> Duration {
        let start = Moment::now();
        loop {
            let text = self.text(expression);
            if text == wanted {
                return start.elapsed();
            }
            assert!(start.elapsed() < PATIENCE, "{expression} is {text}");
            pass(Duration::from_millis(50));
        }
    }

    fn call(&mut self, method: &str, parameters: &str) -> String {
        self.number += 1;
        let session = match self.session.as_str() {
            "" => String::new(),
            session => format!(",\"sessionId\":\"{session}\""),
        };
        let id = format!("\"id\":{}", self.number);
        let command =
            format!("{{{id},\"method\":\"{method}\",\"params\":{parameters}{session}}}\0");
        self.commands.write_all(command.as_bytes()).expect("the browser lives");
        loop {
            let mut answer = Vec::new();
            let read = self.answers.read_until(0, &mut answer).expect("the browser lives");
            assert_ne!(read, 0, "the browser is gone");
            let answer = String::from_utf8_lossy(&answer).into_owned();
            if answer.starts_with(&format!("{{{id},")) {
                return answer;
            }
        }
    }
}

impl Drop for Browser {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// The string with this name, at any depth.
fn word(json: &str, name: &str) -> Option<String> {
    let start = json.find(&format!("\"{name}\":\""))? + name.len() + 4;
    let rest = &json[start..];
    Some(rest[..rest.find('"')?].to_owned())
}
