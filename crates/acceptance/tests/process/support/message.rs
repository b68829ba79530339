//! Messages as the tests see them: as plain as possible, so that the tests share no mistake with
//! the program.

/// A message taken from a connection.
#[derive(Clone, Debug, Default)]
pub(crate) struct Message {
    /// Head and body as received.
    pub(crate) raw: Vec<u8>,
    /// The first line, without its end.
    pub(crate) start: String,
    /// Names and values as received.
    pub(crate) headers: Vec<(String, String)>,
    /// The payload, without framing.
    pub(crate) body: Vec<u8>,
    /// Trailer lines as received.
    pub(crate) trailers: Vec<String>,
}

impl Message {
    /// Reads the head that `text` consists of.
    pub(crate) fn of_head(text: &[u8]) -> Self {
        let string = String::from_utf8_lossy(text);
        let mut lines = string.split("\r\n");
        let start = lines.next().unwrap_or_default().to_owned();
        let split = |line: &str| {
            let (name, value) = line.split_once(':').unwrap_or((line, ""));
            (name.to_owned(), value.trim().to_owned())
        };
        let headers = lines.filter(|line| !line.is_empty()).map(split).collect();
        Self { raw: text.to_vec(), start, headers, ..Self::default() }
    }

    /// The status of a response, 0 for none.
    pub(crate) fn status(&self) -> u16 {
        self.start.split(' ').nth(1).and_then(|word| word.parse().ok()).unwrap_or(0)
    }

    /// The target of a request.
    pub(crate) fn target(&self) -> &str {
        self.start.split(' ').nth(1).unwrap_or_default()
    }

    /// The first value of a name, whatever its case.
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        let named = |(key, _): &&(String, String)| key.eq_ignore_ascii_case(name);
        self.headers.iter().find(named).map(|(_, value)| value.as_str())
    }

    /// All values of a name.
    pub(crate) fn all<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a str> {
        let named = move |(key, _): &&(String, String)| key.eq_ignore_ascii_case(name);
        self.headers.iter().filter(named).map(|(_, value)| value.as_str())
    }

    /// The payload as text.
    pub(crate) fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }
}

/// A complete response with a length.
pub(crate) fn reply(status: &str, body: &str) -> String {
    format!("HTTP/1.1 {status}\r\nContent-Length: {}\r\n\r\n{body}", body.len())
}
