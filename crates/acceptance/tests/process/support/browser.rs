//! A real browser without a window: Chromium, controlled over its debugging pipe.

use super::{Directory, Moment, pass};
use std::io::{BufRead as _, BufReader, Write as _};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::Duration;

/// How long a browser may take to notice something on a busy machine.
const PATIENCE: Duration = Duration::from_secs(40);

/// No window, no processes that ask for outside services, and a profile of its own.
const FLAGS: &str = "--headless --no-sandbox --disable-gpu --disable-quic --no-first-run \
    --disable-background-networking --disable-component-update --disable-sync \
    --disable-dev-shm-usage --remote-debugging-pipe";

/// A browser with one page.
pub(crate) struct Browser {
    process: Child,
    commands: ChildStdin,
    answers: BufReader<ChildStdout>,
    session: String,
    number: u32,
    _profile: Directory,
}

/// Keys that are not letters: name, code, and the text that they type.
const KEYS: [(&str, u32, &str); 6] = [
    ("Tab", 9, ""),
    ("Enter", 13, "\\r"),
    ("Escape", 27, ""),
    (" ", 32, " "),
    ("ArrowLeft", 37, ""),
    ("ArrowDown", 40, ""),
];

impl Browser {
    /// Starts the browser; a note and `None` where there is none (Debian's package is `chromium`).
    pub(crate) fn start() -> Option<Self> {
        let known = Command::new("sh").args(["-c", "command -v chromium"]).output().ok()?;
        if !known.status.success() {
            println!("skipped: no chromium; on Debian: apt-get install chromium");
            return None;
        }
        let profile = Directory::new();
        // The pipe's ends are descriptors 3 and 4.
        let words =
            format!("exec chromium {FLAGS} --user-data-dir=\"$0\" about:blank 3<&0 4>&1 1>&2");
        let mut process = Command::new("sh")
            .args(["-c", &words])
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
    pub(crate) fn open(&mut self, address: &str, size: (u32, u32)) {
        self.resize(size);
        self.call("Page.navigate", &format!("{{\"url\":\"{address}\"}}"));
    }

    /// Loads the page again; returns when the new one is there.
    pub(crate) fn reload(&mut self) {
        self.run("window.isOld = true; location.reload()");
        self.wait_until("!window.isOld && document.readyState == 'complete'");
    }

    /// Gives the window another size.
    pub(crate) fn resize(&mut self, (width, height): (u32, u32)) {
        let size = format!(
            "{{\"width\":{width},\"height\":{height},\"deviceScaleFactor\":1,\"mobile\":false}}"
        );
        self.call("Emulation.setDeviceMetricsOverride", &size);
    }

    /// The scheme that the user prefers: `light` or `dark`.
    pub(crate) fn scheme(&mut self, name: &str) {
        let feature = format!("{{\"name\":\"prefers-color-scheme\",\"value\":\"{name}\"}}");
        self.call("Emulation.setEmulatedMedia", &format!("{{\"features\":[{feature}]}}"));
    }

    /// The value of an expression, or of what it promises, as a string.
    pub(crate) fn text(&mut self, expression: &str) -> String {
        let expression = escaped(&format!("(async () => String(await ({expression})))()"));
        let parameters = format!(
            "{{\"expression\":\"{expression}\",\"returnByValue\":true,\"awaitPromise\":true}}"
        );
        let answer = self.call("Runtime.evaluate", &parameters);
        word(&answer, "value").unwrap_or(answer)
    }

    /// Runs a script that is no expression.
    pub(crate) fn run(&mut self, script: &str) {
        self.call("Runtime.evaluate", &format!("{{\"expression\":\"{}\"}}", escaped(script)));
    }

    /// Waits until an expression has a value; how long it took.
    pub(crate) fn wait(&mut self, expression: &str, wanted: &str) -> Duration {
        let start = Moment::now();
        loop {
            let text = self.text(expression);
            if text == wanted {
                return start.elapsed();
            }
            assert!(start.elapsed() < PATIENCE, "{expression} is {text}, not {wanted}");
            pass(Duration::from_millis(50));
        }
    }

    /// Waits until an expression holds.
    pub(crate) fn wait_until(&mut self, expression: &str) {
        self.wait(&format!("Boolean({expression})"), "true");
    }

    /// Presses a key: a name of [`KEYS`] or a letter.
    pub(crate) fn press(&mut self, key: &str) {
        let (code, text) = KEYS
            .iter()
            .find(|(name, ..)| *name == key)
            .map_or((u32::from(key.as_bytes()[0].to_ascii_uppercase()), key), |it| (it.1, it.2));
        let known = format!("\"key\":\"{key}\",\"windowsVirtualKeyCode\":{code}");
        let typed = if text.is_empty() {
            "\"type\":\"rawKeyDown\"".to_owned()
        } else {
            format!("\"type\":\"keyDown\",\"text\":\"{text}\"")
        };
        self.call("Input.dispatchKeyEvent", &format!("{{{typed},{known}}}"));
        self.call("Input.dispatchKeyEvent", &format!("{{\"type\":\"keyUp\",{known}}}"));
    }

    /// Clicks the middle of the first element that a selector finds, as a mouse does.
    pub(crate) fn click(&mut self, selector: &str) {
        let (x, y) = self.middle(selector);
        for kind in ["mouseMoved", "mousePressed", "mouseReleased"] {
            let button = if kind == "mouseMoved" { "none" } else { "left" };
            self.call(
                "Input.dispatchMouseEvent",
                &format!(
                    "{{\"type\":\"{kind}\",\"x\":{x},\"y\":{y},\"button\":\"{button}\",\
                     \"clickCount\":1}}"
                ),
            );
        }
    }

    /// Moves the pointer over an element, at a share of its width.
    pub(crate) fn hover(&mut self, selector: &str, share: f64) {
        let at = format!(
            "(box => (box.x + box.width * {share}) + ' ' + (box.y + box.height / 2))\
             (document.querySelector('{selector}').getBoundingClientRect())"
        );
        let (x, y) = numbers(&self.text(&at));
        let parameters = format!("{{\"type\":\"mouseMoved\",\"x\":{x},\"y\":{y}}}");
        self.call("Input.dispatchMouseEvent", &parameters);
    }

    /// Taps the middle of an element with a finger, so many times in a row.
    pub(crate) fn tap(&mut self, selector: &str, times: usize) {
        let (x, y) = self.middle(selector);
        for _ in 0..times {
            let point = format!("[{{\"x\":{x},\"y\":{y}}}]");
            for (kind, points) in [("touchStart", point.as_str()), ("touchEnd", "[]")] {
                let parameters = format!("{{\"type\":\"{kind}\",\"touchPoints\":{points}}}");
                self.call("Input.dispatchTouchEvent", &parameters);
            }
        }
    }

    fn middle(&mut self, selector: &str) -> (f64, f64) {
        self.wait_until(&format!("document.querySelector('{selector}')"));
        let at = format!(
            "(it => {{ it.scrollIntoView({{ block: 'center' }}); \
             const box = it.getBoundingClientRect(); \
             return (box.x + box.width / 2) + ' ' + (box.y + box.height / 2); }})\
             (document.querySelector('{selector}'))"
        );
        numbers(&self.text(&at))
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

/// A text inside a JSON string.
fn escaped(text: &str) -> String {
    let text = text.replace('\\', "\\\\").replace('"', "\\\"");
    text.replace('\n', "\\n").replace('\r', "\\r").replace('\t', "\\t")
}

fn numbers(text: &str) -> (f64, f64) {
    let mut parts = text.split(' ').map(|part| part.parse().unwrap_or_else(|_| panic!("{text}")));
    (parts.next().expect("two numbers"), parts.next().expect("two numbers"))
}

/// The string with this name, at any depth.
fn word(json: &str, name: &str) -> Option<String> {
    let start = json.find(&format!("\"{name}\":\""))? + name.len() + 4;
    let mut letters = json[start..].chars();
    let mut text = String::new();
    loop {
        match letters.next()? {
            '"' => return Some(text),
            '\\' => match letters.next()? {
                'n' => text.push('\n'),
                't' => text.push('\t'),
                'r' => text.push('\r'),
                'u' => {
                    let digits: String = letters.by_ref().take(4).collect();
                    let code = u32::from_str_radix(&digits, 16).ok()?;
                    // Letters beyond the basic plane come as pairs, which no test looks for.
                    text.push(char::from_u32(code).unwrap_or('\u{fffd}'));
                }
                other => text.push(other),
            },
            other => text.push(other),
        }
    }
}
