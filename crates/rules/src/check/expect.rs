//! Compares a server's answer with an expectation (`expect`).

use super::pattern::{Pattern, Unusable};
use super::protocol::Finding;
use super::send::written;
use sample::regex::effort;
use sample::{Expr, Facts, LogFormat, Value};

/// The message of a check whose regular expressions take too long.
const OUT_OF_STEPS: &[u8] = b"regular expressions have used all steps of a check";

/// How a check ends, in the manual's words.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Status {
    /// `L4OK`
    L4Ok,
    /// `L4TOUT`
    L4Timeout,
    /// `L4CON`
    L4Connection,
    /// `L6OK`
    L6Ok,
    /// `L6TOUT`
    L6Timeout,
    /// `L6RSP`
    L6Response,
    /// `L7OK`
    L7Ok,
    /// `L7OKC`
    L7OkConditional,
    /// `L7TOUT`
    L7Timeout,
    /// `L7RSP`
    L7Response,
    /// `L7STS`
    L7Status,
}

impl Status {
    /// Every status that an `expect` line may set, with its name.
    pub(super) const NAMES: &[(&'static str, Status)] = &[
        ("L4OK", Status::L4Ok),
        ("L4TOUT", Status::L4Timeout),
        ("L4CON", Status::L4Connection),
        ("L6OK", Status::L6Ok),
        ("L6TOUT", Status::L6Timeout),
        ("L6RSP", Status::L6Response),
        ("L7OK", Status::L7Ok),
        ("L7OKC", Status::L7OkConditional),
        ("L7TOUT", Status::L7Timeout),
        ("L7RSP", Status::L7Response),
        ("L7STS", Status::L7Status),
    ];
}

/// An `expect` step.
#[derive(Debug)]
pub struct Expect {
    /// `min-recv`; `None` when not set or -1.
    pub(super) min_recv: Option<usize>,
    pub(super) ok: Status,
    /// `error-status`, or the status that suits the match.
    pub(super) error: Option<Status>,
    /// `tout-status`
    pub(super) timeout: Status,
    pub(super) on_success: Option<LogFormat>,
    pub(super) on_error: Option<LogFormat>,
    /// `status-code`
    pub(super) code: Option<Expr>,
    /// `!`
    pub(super) negated: bool,
    pub(super) pattern: Pattern,
}

/// The bytes received from the server.
#[derive(Clone, Copy, Debug)]
pub struct Received<'a> {
    /// The bytes; of a response, those of its body.
    pub bytes: &'a [u8],
    /// Whether nothing can follow.
    pub ended: bool,
    /// Whether the bytes follow the head of a response, which the facts know.
    pub http: bool,
}

/// The judgement on the received bytes.
#[derive(Debug, PartialEq, Eq)]
pub enum ExpectResult {
    /// More is needed.
    More,
    /// As expected; with what is worth telling.
    Passed(Option<Vec<u8>>),
    /// Not as expected: the check is over.
    Failed(Failure),
}

/// Why a check failed.
#[derive(Debug, PartialEq, Eq)]
pub struct Failure {
    /// Its status.
    pub status: Status,
    /// The reason for the report; a comment may follow.
    pub info: Vec<u8>,
    /// A code that the protocol gave.
    pub code: Option<u32>,
    /// The server sent nothing at all.
    pub empty: bool,
}

impl Failure {
    fn new(status: Status, info: impl Into<Vec<u8>>) -> Self {
        Self { status, info: info.into(), code: None, empty: false }
    }
}

impl From<Failure> for ExpectResult {
    fn from(failure: Failure) -> Self {
        Self::Failed(failure)
    }
}

impl From<Unusable> for ExpectResult {
    fn from(unusable: Unusable) -> Self {
        Failure::new(Status::L7Response, unusable.words()).into()
    }
}

impl Expect {
    pub(super) fn new(pattern: Pattern) -> Self {
        Self {
            min_recv: None,
            ok: Status::L7Ok,
            error: None,
            timeout: Status::L7Timeout,
            on_success: None,
            on_error: None,
            code: None,
            negated: false,
            pattern,
        }
    }

    /// The default expectation: a 2xx or 3xx status.
    pub(super) fn usual_status() -> Self {
        Self::new(Pattern::Status(vec![(200, 399)]))
    }

    /// The pattern that is looked for.
    pub fn pattern(&self) -> &Pattern {
        &self.pattern
    }

    /// The status of a check whose last step this is, when it passed.
    pub fn ok_status(&self) -> Status {
        self.ok
    }

    /// The status of a check that waited too long for it.
    pub fn timeout_status(&self) -> Status {
        self.timeout
    }

    /// `status-code`, evaluated.
    pub fn code(&self, facts: &dyn Facts) -> Option<u32> {
        let value = self.code.as_ref()?.eval(facts).ok()?;
        match value {
            Value::Int(code) => u32::try_from(code).ok(),
            text => {
                let text = text.to_str()?;
                let digits = text.iter().take_while(|byte| byte.is_ascii_digit()).count();
                std::str::from_utf8(&text[..digits]).ok()?.parse().ok()
            }
        }
    }

    /// Compares the received bytes with the expectation. `number` is that of the step.
    pub fn judge(&self, got: Received<'_>, number: usize, facts: &dyn Facts) -> ExpectResult {
        let judgement = self.look(got, number, facts);
        // An expression that was given up fails the check, whether a match is wanted or not.
        match effort::is_exhausted() {
            true => self.failed(Status::L7Response, facts, || OUT_OF_STEPS.to_vec()),
            false => judgement,
        }
    }

    fn look(&self, got: Received<'_>, number: usize, facts: &dyn Facts) -> ExpectResult {
        if let Some(head) = facts.response().filter(|_| got.http) {
            return match self.pattern.is_in_head(head, facts) {
                Ok(Some(found)) if found != self.negated => self.passed(facts),
                Ok(Some(_)) => self.failed(Status::L7Status, facts, || head.reason().to_vec()),
                Ok(None) => self.judge_body(got, facts),
                Err(unusable) => unusable.into(),
            };
        }
        if got.bytes.is_empty() {
            return if got.ended { self.empty(number) } else { ExpectResult::More };
        }
        if let Pattern::Protocol(protocol) = &self.pattern {
            return match protocol.look(got.bytes, got.ended) {
                Finding::More => ExpectResult::More,
                Finding::Passed(info) => ExpectResult::Passed(info),
                Finding::Failed { status, code, info } => {
                    Failure { code, ..Failure::new(status, info) }.into()
                }
            };
        }
        self.judge_bytes(got, facts, |this, unwanted| {
            let verb = if unwanted { "matched unwanted" } else { "did not match" };
            let what = match this.pattern() {
                Pattern::Text(text) => format!("'{}'", String::from_utf8_lossy(text)),
                Pattern::Binary(_) => "(binary)".to_owned(),
                other => format!("({other})"),
            };
            format!("TCPCHK {verb} content {what} at step {number}")
        })
    }

    fn judge_body(&self, got: Received<'_>, facts: &dyn Facts) -> ExpectResult {
        match (got.bytes.is_empty(), got.ended) {
            (true, false) => ExpectResult::More,
            (true, true) => {
                let info = "HTTP content check could not find a response body";
                Failure::new(self.error.unwrap_or(Status::L7Response), info).into()
            }
            (false, _) => self.judge_bytes(got, facts, |_, unwanted| match unwanted {
                true => "HTTP check matched unwanted content".to_owned(),
                false => "HTTP content check did not match".to_owned(),
            }),
        }
    }

    fn judge_bytes(
        &self,
        got: Received<'_>,
        facts: &dyn Facts,
        words: impl FnOnce(&Self, bool) -> String,
    ) -> ExpectResult {
        // Longer patterns need more bytes; as measured, although the manual differs.
        let enough = self.min_recv.map(|min| self.pattern.len().map_or(min, |len| len.max(min)));
        if !got.ended && enough.is_some_and(|enough| got.bytes.len() < enough) {
            return ExpectResult::More;
        }
        let found = match self.pattern.is_in(got.bytes, facts) {
            Ok(found) => found,
            Err(unusable) => return unusable.into(),
        };
        // A missing pattern may still arrive, for `expect` and for `expect !` alike.
        if !found && !got.ended && enough.is_none() {
            return ExpectResult::More;
        }
        match found != self.negated {
            true => self.passed(facts),
            false => {
                self.failed(Status::L7Response, facts, || words(self, self.negated).into_bytes())
            }
        }
    }

    fn passed(&self, facts: &dyn Facts) -> ExpectResult {
        ExpectResult::Passed(self.on_success.as_ref().map(|format| written(format, facts)))
    }

    fn failed(
        &self,
        usual: Status,
        facts: &dyn Facts,
        words: impl FnOnce() -> Vec<u8>,
    ) -> ExpectResult {
        let told = self.on_error.as_ref().map(|format| written(format, facts));
        let info = told.unwrap_or_else(words);
        let failure = Failure::new(self.error.unwrap_or(usual), info);
        Failure { code: self.code(facts), ..failure }.into()
    }

    fn empty(&self, number: usize) -> ExpectResult {
        let status = self.error.unwrap_or(Status::L7Response);
        let info = format!("TCPCHK got an empty response at step {number}");
        Failure { empty: true, ..Failure::new(status, info) }.into()
    }

    /// The statuses looked for and whether they are unwanted, if that is all.
    pub(super) fn as_plain_status(&self) -> Option<(Vec<(u16, u16)>, bool)> {
        match &self.pattern {
            Pattern::Status(ranges) => Some((ranges.clone(), self.negated)),
            _ => None,
        }
    }

    /// Whether the step has no texts or statuses other than the defaults.
    pub(super) fn is_silent(&self, comment: Option<&str>) -> bool {
        let formats = self.on_success.is_some() || self.on_error.is_some() || self.code.is_some();
        let usual =
            self.ok == Status::L7Ok && self.error.is_none() && self.timeout == Status::L7Timeout;
        usual && !formats && comment.is_none()
    }
}
