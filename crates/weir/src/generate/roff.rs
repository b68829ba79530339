//! The little of roff that man pages need (man(7)).

/// A page under construction.
#[derive(Debug)]
pub(super) struct Page(String);

impl Page {
    /// A page of a name and a section, with a line about it.
    pub(super) fn new(name: &str, section: u8, about: &str) -> Self {
        let version = env!("CARGO_PKG_VERSION");
        let title = name.to_uppercase();
        let mut page = Self(format!(".TH \"{title}\" {section} \"\" \"weir {version}\"\n"));
        page.section("Name");
        page.line(&format!("{} \\- {}", escaped(name), escaped(about)));
        page
    }

    fn line(&mut self, text: &str) {
        self.0.push_str(text);
        self.0.push('\n');
    }

    pub(super) fn section(&mut self, title: &str) {
        self.line(&format!(".SH \"{}\"", escaped(&title.to_uppercase())));
    }

    pub(super) fn subsection(&mut self, title: &str) {
        self.line(&format!(".SS \"{}\"", escaped(title)));
    }

    pub(super) fn paragraph(&mut self, text: &str) {
        self.line(".PP");
        self.line(&escaped(text));
    }

    /// An entry of a list: a word, its arguments, and its description.
    pub(super) fn entry(&mut self, word: &str, arguments: &str, text: &str) {
        self.line(".TP");
        let arguments = match arguments {
            "" => String::new(),
            some => format!(" {}", escaped(some)),
        };
        self.line(&format!("\\fB{}\\fR{arguments}", escaped(word)));
        self.line(&escaped(text));
    }

    pub(super) fn finish(self) -> String {
        self.0
    }
}

/// A text in which nothing is a request or an escape.
fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    if text.starts_with(['.', '\'']) {
        out.push_str("\\&");
    }
    for letter in text.chars() {
        match letter {
            '\\' => out.push_str("\\e"),
            '-' => out.push_str("\\-"),
            '"' => out.push_str("\\(dq"),
            '\n' => out.push(' '),
            other => out.push(other),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_stay_texts() {
        assert_eq!(escaped(".TH \\n -x\n\"y\""), "\\&.TH \\en \\-x \\(dqy\\(dq");
        let mut page = Page::new("a", 8, "b");
        page.entry("-f", "<file>", "'reads'");
        assert_eq!(
            page.finish().lines().skip(1).collect::<Vec<_>>(),
            [".SH \"NAME\"", "a \\- b", ".TP", "\\fB\\-f\\fR <file>", "\\&'reads'"]
        );
    }
}
