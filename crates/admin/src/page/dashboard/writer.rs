//! A writer of JSON (RFC 8259) that knows where commas go.

use crate::stats::Value;
use std::fmt::{Display, Write as _};
use stdx::json::quote;

/// JSON under construction.
#[derive(Debug, Default)]
pub(super) struct Json {
    out: String,
    /// A member precedes in the same object or array.
    follows: bool,
}

impl Json {
    fn comma(&mut self) {
        if std::mem::replace(&mut self.follows, true) {
            self.out.push(',');
        }
    }

    /// A name in an object; its value comes next.
    pub(super) fn key(&mut self, name: &str) -> &mut Self {
        self.comma();
        quote(name, &mut self.out);
        self.out.push(':');
        self.follows = false;
        self
    }

    /// A number or a truth value.
    pub(super) fn plain(&mut self, value: impl Display) {
        self.comma();
        // Writing to a string cannot fail.
        let _ = write!(self.out, "{value}");
    }

    pub(super) fn text(&mut self, text: &str) {
        self.comma();
        quote(text, &mut self.out);
    }

    /// A figure of the statistics.
    pub(super) fn value(&mut self, value: &Value) {
        match value {
            Value::Empty => self.plain("null"),
            Value::Text(text) => self.text(text),
            number => self.plain(number),
        }
    }

    pub(super) fn object(&mut self, fill: impl FnOnce(&mut Self)) {
        self.nested(['{', '}'], fill);
    }

    pub(super) fn array(&mut self, fill: impl FnOnce(&mut Self)) {
        self.nested(['[', ']'], fill);
    }

    fn nested(&mut self, ends: [char; 2], fill: impl FnOnce(&mut Self)) {
        self.open(ends[0]);
        fill(self);
        self.close(ends[1]);
    }

    /// Begins an object or an array that another piece will end.
    pub(super) fn open(&mut self, bracket: char) {
        self.comma();
        self.out.push(bracket);
        self.follows = false;
    }

    /// Ends it.
    pub(super) fn close(&mut self, bracket: char) {
        self.out.push(bracket);
        self.follows = true;
    }

    /// Appends the output of `fill` to `out`.
    pub(super) fn onto(&mut self, out: &mut String, fill: impl FnOnce(&mut Self)) {
        std::mem::swap(&mut self.out, out);
        fill(self);
        std::mem::swap(&mut self.out, out);
    }

    pub(super) fn finish(self) -> String {
        self.out
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commas_separate_values() {
        let mut json = Json::default();
        json.object(|json| {
            json.key("a").plain(1);
            json.key("b\"").array(|json| {
                json.text("x\n");
                json.object(|_| {});
                json.value(&Value::Empty);
            });
            json.key("c").plain(true);
        });
        assert_eq!(json.finish(), r#"{"a":1,"b\"":["x\n",{},null],"c":true}"#);
    }
}
