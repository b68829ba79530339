//! Compiled formats and captures of one proxy (sections 4.2 and 8.2).
use sample::LogFormat;

/// Compiled formats of a frontend.
#[derive(Debug, Default)]
pub struct Formats {
    /// The compiled `log-format` or predefined format; `None` without log target.
    pub log: Option<LogFormat>,
    /// `error-log-format`: for connections that fail before there is a request.
    pub error: Option<LogFormat>,
    /// Whether only requests are logged: the predefined format is that without options.
    pub requests_only: bool,
    /// The default line, which is written when the connection or the request is there (section
    /// 8.2.1).
    pub at_start: bool,
    /// `log-format-sd`: structured data of RFC 5424.
    pub structured_data: Option<LogFormat>,
    /// `unique-id-format`.
    pub unique_id: Option<LogFormat>,
}

/// Captures of a frontend, for its logs.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Captured {
    /// Slots of the request: `capture request header`, `declare capture request`, rules.
    pub request: Vec<sample::CaptureSlot>,
    /// Slots of the response.
    pub response: Vec<sample::CaptureSlot>,
    /// `capture cookie`: a prefix of `name=value` and the longest text kept, in bytes.
    pub cookie: Option<(String, usize)>,
}
