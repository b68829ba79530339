//! An incremental parser of trailer sections (RFC 9112 section 7.1.2) that consumes complete lines.

use htx::Fields;

use super::Limits;
use super::error::{Reason, SyntaxError};
use super::field::{self, Parsed};
use super::line::{self, NoLine};

/// An incremental trailer parser, for one message.
#[derive(Clone, Copy, Debug, Default)]
pub struct TrailersParser {
    bytes: u32,
    lines: u16,
    gap: u16,
}

/// Result of parsing some bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TrailersStep {
    /// Bytes consumed from the front of the input; the rest has to be passed again.
    pub consumed: usize,
    /// Whether the section is complete.
    pub done: bool,
}

impl TrailersParser {
    /// Parses every complete line into `fields`, which the caller cleared before the first call.
    pub fn parse(
        &mut self,
        input: &[u8],
        limits: Limits,
        fields: &mut Fields,
    ) -> Result<TrailersStep, SyntaxError> {
        let mut at = 0;
        loop {
            let line = match line::find(input, at, at) {
                Ok(line) => line,
                Err(NoLine::Bad(error)) => return Err(error),
                Err(NoLine::Incomplete { .. }) => {
                    self.check_size(input.len() - at, limits, at)?;
                    return Ok(TrailersStep { consumed: at, done: false });
                }
            };
            let gap = (self.lines > 0).then_some(self.gap);
            let parsed = field::parse(input, line, gap, limits, fields)?;
            self.bytes += self.check_size(line.next - at, limits, at)?;
            at = line.next;
            match parsed {
                Parsed::End => return Ok(TrailersStep { consumed: at, done: true }),
                Parsed::Field { gap } => self.gap = gap,
            }
            self.lines += 1;
            if self.lines > limits.header_lines {
                return Err(Reason::TooManyLines.at(line.start));
            }
        }
    }

    /// The size of a line, if the section's limit allows it.
    fn check_size(&self, bytes: usize, limits: Limits, at: usize) -> Result<u32, SyntaxError> {
        match u32::try_from(bytes) {
            Ok(bytes) if bytes <= limits.head_bytes.saturating_sub(self.bytes) => Ok(bytes),
            _ => Err(Reason::TooLarge.at(at)),
        }
    }
}
