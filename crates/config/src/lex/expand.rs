//! Environment and pseudo variables inside double quotes (section 2.3).
use super::{LexError, Lexer, MAX_LINE};

/// The text between `$` and the end of the reference.
struct Reference<'a> {
    name: &'a str,
    default: Option<&'a str>,
    list: bool,
    /// Bytes of the line that the reference covers, `$` included.
    len: usize,
}

impl<'a> Lexer<'a, '_> {
    /// Parses the variable reference whose `$` is at the current position.
    pub(super) fn variable(&mut self) -> Result<(), LexError> {
        let reference = self.reference()?;
        let value = self.value_of(&reference)?;
        if self.produced + value.len() > MAX_LINE {
            return Err(LexError::at(self.pos, "line too long after expansion"));
        }
        let at = self.pos;
        if reference.list {
            self.produce_list(&value, at + reference.len)?;
        } else {
            value.bytes().for_each(|byte| self.produce(byte, at));
        }
        self.pos = at + reference.len;
        Ok(())
    }

    /// `${X[*]}`: each space starts a new word.
    fn produce_list(&mut self, value: &str, end: usize) -> Result<(), LexError> {
        let at = self.pos;
        for (index, part) in value.split_ascii_whitespace().enumerate() {
            if index > 0 {
                self.finish(end)?;
                self.own();
            }
            part.bytes().for_each(|byte| self.produce(byte, at));
        }
        Ok(())
    }

    fn value_of(&self, reference: &Reference<'_>) -> Result<String, LexError> {
        let around = self.around;
        Ok(match reference.name {
            ".FILE" => around.file.to_owned(),
            ".LINE" => around.line.to_string(),
            ".SECTION" => around.section.to_owned(),
            name => around.env.get(name).or(reference.default).unwrap_or("").to_owned(),
        })
    }

    fn reference(&self) -> Result<Reference<'a>, LexError> {
        let braced = self.peek(1) == Some(b'{');
        let name_at = self.pos + 1 + usize::from(braced);
        let rest = self.line.get(name_at..).unwrap_or("");
        let name = self.name(rest, name_at)?;
        let mut tail = &rest[name.len()..];
        if !braced {
            return Ok(Reference { name, default: None, list: false, len: 1 + name.len() });
        }
        let unmatched =
            || LexError::at(self.pos + 1, "unmatched brace in environment variable name");
        let list = tail.starts_with("[*]");
        if list {
            tail = &tail[3..];
        }
        let mut default = None;
        if let Some(after) = tail.strip_prefix('-') {
            let end = after.find('}').ok_or_else(unmatched)?;
            default = Some(&after[..end]);
            tail = &after[end..];
        }
        let after = tail.strip_prefix('}').ok_or_else(unmatched)?;
        Ok(Reference { name, default, list, len: self.line.len() - after.len() - self.pos })
    }

    /// The longest variable name at the start of `rest`, which stands at `at`.
    fn name(&self, rest: &'a str, at: usize) -> Result<&'a str, LexError> {
        let dot = usize::from(rest.starts_with('.'));
        let letters = |b: u8| b.is_ascii_alphanumeric() || b == b'_';
        let len = dot + rest[dot..].bytes().take_while(|b| letters(*b)).count();
        let name = &rest[..len];
        let pseudo = matches!(name, ".FILE" | ".LINE" | ".SECTION");
        let plain = name.bytes().next().is_some_and(|b| b == b'_' || b.is_ascii_alphabetic());
        if pseudo || plain {
            return Ok(name);
        }
        Err(LexError::at(at, "forbidden first char in environment variable name"))
    }
}
