//! The results of health checks, in the words and numbers of the statistics.

/// The outcome class of a check, with the numbers of `show servers state` (srv_check_result).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
#[repr(u8)]
pub enum Verdict {
    /// No result yet.
    #[default]
    Unknown = 0,
    /// A valid response that says nothing about health.
    Neutral = 1,
    /// The check failed.
    Failed = 2,
    /// The server is fully up.
    Passed = 3,
    /// The server works but asks for no new sessions.
    Conditional = 4,
}

/// Status of a check: management.txt 9.1, `check_status`. The numbers are srv_check_status.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
#[repr(u8)]
pub enum CheckStatus {
    /// Nothing known.
    Unknown = 0,
    /// No check has ended yet.
    #[default]
    Initializing = 1,
    /// An agent has answered without a word about the state.
    Checked = 3,
    /// Traffic has failed too often (`observe`).
    HealthAnalysis = 4,
    /// Our own socket failed.
    SocketError = 5,
    /// Layer 4 passed, and the check has no other layer.
    L4Ok = 6,
    /// No connection in time.
    L4Timeout = 7,
    /// The connection was refused or no route led there.
    L4Connection = 8,
    /// The TLS handshake passed and nothing above was asked.
    L6Ok = 9,
    /// No TLS handshake in time.
    L6Timeout = 10,
    /// The TLS handshake failed.
    L6Response = 11,
    /// No answer in time.
    L7Timeout = 12,
    /// The answer was not understood.
    L7Response = 13,
    /// Layer 7 passed.
    L7Ok = 15,
    /// Layer 7 passed on a condition: 404 with `disable-on-404`.
    L7OkConditional = 16,
    /// Layer 7 answered with a failure.
    L7Status = 17,
    /// An external program failed.
    ProcessError = 18,
    /// An external program took too long.
    ProcessTimeout = 19,
    /// An external program passed.
    ProcessOk = 20,
}

impl CheckStatus {
    /// The status of this number; `None` for numbers that Weir does not use.
    pub fn from_number(number: u8) -> Option<Self> {
        use CheckStatus::*;
        let all = [
            Unknown,
            Initializing,
            Checked,
            HealthAnalysis,
            SocketError,
            L4Ok,
            L4Timeout,
            L4Connection,
            L6Ok,
            L6Timeout,
            L6Response,
            L7Timeout,
            L7Response,
            L7Ok,
            L7OkConditional,
            L7Status,
            ProcessError,
            ProcessTimeout,
            ProcessOk,
        ];
        let found = all.into_iter().find(|status| *status as u8 == number);
        found.or((number <= ProcessOk as u8).then_some(Unknown))
    }

    /// The code of the `check_status` column, such as `L4OK`.
    pub fn code(self) -> &'static str {
        self.row().0
    }

    /// The description of the `check_desc` column and of log lines.
    pub fn description(self) -> &'static str {
        self.row().1
    }

    /// The verdict on the server that follows from this status.
    pub fn verdict(self) -> Verdict {
        self.row().2
    }

    fn row(self) -> (&'static str, &'static str, Verdict) {
        use Verdict::{Conditional, Failed, Passed, Unknown};
        match self {
            Self::Unknown => ("UNK", "Unknown", Unknown),
            Self::Initializing => ("INI", "Initializing", Unknown),
            Self::Checked => ("CHECKED", "No status change", Verdict::Neutral),
            Self::HealthAnalysis => ("HANA", "Health analyze", Failed),
            Self::SocketError => ("SOCKERR", "Socket error", Failed),
            Self::L4Ok => ("L4OK", "Layer4 check passed", Passed),
            Self::L4Timeout => ("L4TOUT", "Layer4 timeout", Failed),
            Self::L4Connection => ("L4CON", "Layer4 connection problem", Failed),
            Self::L6Ok => ("L6OK", "Layer6 check passed", Passed),
            Self::L6Timeout => ("L6TOUT", "Layer6 timeout", Failed),
            Self::L6Response => ("L6RSP", "Layer6 invalid response", Failed),
            Self::L7Timeout => ("L7TOUT", "Layer7 timeout", Failed),
            Self::L7Response => ("L7RSP", "Layer7 invalid response", Failed),
            Self::L7Ok => ("L7OK", "Layer7 check passed", Passed),
            Self::L7OkConditional => ("L7OKC", "Layer7 check conditionally passed", Conditional),
            Self::L7Status => ("L7STS", "Layer7 wrong status", Failed),
            Self::ProcessError => ("PROCERR", "External check error", Failed),
            Self::ProcessTimeout => ("PROCTOUT", "External check timeout", Failed),
            Self::ProcessOk => ("PROCOK", "External check passed", Passed),
        }
    }
}

/// One finished check.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CheckResult {
    /// How it ended.
    pub status: CheckStatus,
    /// The layer 5-7 code, if the protocol has one; the exit status of a program, -1 if a signal
    /// ended it.
    pub code: Option<i32>,
    /// The duration of the check in milliseconds.
    pub duration_ms: u64,
    /// The received text or the error; empty if there is none.
    pub info: String,
}

/// Bytes of [`CheckResult::info`] that are kept.
const MOST_INFO: usize = 1_024;

impl CheckResult {
    /// The same, with the text of a server or an agent made safe to print: control characters are
    /// encoded, since they could end a line or control a terminal, and the length is limited.
    #[must_use]
    pub fn fit_to_show(mut self) -> Self {
        let mut shown = String::with_capacity(self.info.len());
        for character in self.info.chars() {
            if shown.len() >= MOST_INFO {
                break;
            }
            match character.is_control() {
                true => shown.push_str(&format!("#{:02X}", u32::from(character))),
                false => shown.push(character),
            }
        }
        self.info = shown;
        self
    }

    /// The duration in milliseconds; observed traffic has none.
    pub fn took_ms(&self) -> Option<u64> {
        (self.status != CheckStatus::HealthAnalysis).then_some(self.duration_ms)
    }
}
