//! Text from the error stream of an application, for logs.

/// Bytes that a request may have waiting for its reader. Further ones are dropped and counted.
pub const CAPACITY: usize = 4_096;

/// Error text of one request.
#[derive(Debug, Default)]
pub(super) struct ErrorText {
    text: Vec<u8>,
    dropped: u64,
}

impl ErrorText {
    /// Appends text, of which control characters other than line feeds become question marks so
    /// that they cannot control the terminal of a log's reader. Carriage returns are removed.
    pub(super) fn push(&mut self, text: &[u8]) {
        for &byte in text.iter().filter(|&&byte| byte != b'\r') {
            if self.text.len() == CAPACITY {
                self.dropped += 1;
                continue;
            }
            let is_text = byte == b'\n' || byte == b'\t' || !byte.is_ascii_control();
            self.text.push(if is_text { byte } else { b'?' });
        }
    }

    /// The next line without its end; an incomplete one only if `ended`, or when the buffer is
    /// full. Returns whether there was a line.
    pub(super) fn take_line(&mut self, ended: bool, line: &mut Vec<u8>) -> bool {
        let end = self.text.iter().position(|&byte| byte == b'\n');
        let ended = ended || self.text.len() == CAPACITY;
        let (len, taken) = match end {
            Some(end) => (end, end + 1),
            None if ended && !self.text.is_empty() => (self.text.len(), self.text.len()),
            None => return false,
        };
        line.clear();
        line.extend_from_slice(&self.text[..len]);
        self.text.drain(..taken);
        true
    }

    /// Appends the text to another one, as lines. Returns whether there was text.
    pub(super) fn move_to(&self, other: &mut Self) -> bool {
        if self.text.is_empty() {
            return false;
        }
        other.push(&self.text);
        other.push(b"\n");
        true
    }

    pub(super) fn dropped(&self) -> u64 {
        self.dropped
    }

    pub(super) fn clear(&mut self) {
        self.text.clear();
        self.dropped = 0;
    }
}
