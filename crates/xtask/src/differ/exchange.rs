//! The bytes that the client and the origin send in one exchange.

/// One client connection and the origin's answers to its requests.
#[derive(Clone, Debug)]
pub(super) struct Exchange {
    pub(super) number: usize,
    /// Index into [`super::setup::VARIANTS`].
    pub(super) variant: usize,
    /// The client's bytes, with a pause before each piece but the first.
    pub(super) client: Vec<Vec<u8>>,
    /// Whether the client then ends its side of the stream.
    pub(super) half_close: bool,
    /// One per request, in order; the last one is repeated for further requests.
    pub(super) answers: Vec<Answer>,
    /// Methods of the requests, in order: what the answers' lengths depend on.
    pub(super) methods: Vec<String>,
    /// The malformation, on either side; nothing in a valid exchange.
    pub(super) flaws: Vec<String>,
    /// The message that is, and whether it is an answer.
    pub(super) spoilt: (Vec<u8>, bool),
}

/// The origin's reaction to one request.
#[derive(Clone, Debug, Default)]
pub(super) struct Answer {
    /// The origin's bytes, with a pause before each piece but the first.
    pub(super) pieces: Vec<Vec<u8>>,
    /// The origin answers before it has received the request's body.
    pub(super) early: bool,
    /// The origin closes the connection after its answer.
    pub(super) close: bool,
}

/// A message in parts that can be spoilt one by one.
#[derive(Clone, Debug, Default)]
pub(super) struct SentMessage {
    pub(super) start: Vec<u8>,
    /// Lines without their ends.
    pub(super) fields: Vec<Vec<u8>>,
    /// Between the lines.
    pub(super) eol: &'static [u8],
    /// As sent, framing included.
    pub(super) body: Vec<u8>,
}

impl SentMessage {
    pub(super) fn new(start: impl Into<Vec<u8>>) -> Self {
        Self { start: start.into(), fields: Vec::new(), eol: b"\r\n", body: Vec::new() }
    }

    pub(super) fn field(&mut self, line: impl Into<Vec<u8>>) {
        self.fields.push(line.into());
    }

    /// Takes all fields with this name away; the name is in lower case and ends with its colon.
    pub(super) fn without(&mut self, name: &str) {
        self.fields.retain(|line| !line.to_ascii_lowercase().starts_with(name.as_bytes()));
    }

    pub(super) fn bytes(&self) -> Vec<u8> {
        let mut out = self.start.clone();
        for line in &self.fields {
            out.extend_from_slice(self.eol);
            out.extend_from_slice(line);
        }
        out.extend_from_slice(self.eol);
        out.extend_from_slice(self.eol);
        out.extend_from_slice(&self.body);
        out
    }
}

/// Bytes as a person reads them, cut to a length.
pub(super) fn shown(bytes: &[u8], most: usize) -> String {
    let cut = &bytes[..bytes.len().min(most)];
    let more =
        if cut.len() < bytes.len() { format!("... ({})", bytes.len()) } else { String::new() };
    format!("\"{}\"{more}", cut.escape_ascii())
}
