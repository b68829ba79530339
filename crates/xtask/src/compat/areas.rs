//! The area that a missing name belongs to, from the table that the program reads.

/// The table below the root.
pub(crate) const PATH: &str = "docs/compat/areas.txt";

/// The lines of the table.
pub(crate) struct Areas(Vec<(String, String, String)>);

impl Areas {
    /// Reads `class/name area` lines.
    pub(crate) fn parse(text: &str) -> Self {
        let lines = text.lines().filter(|line| !line.starts_with('#'));
        let line = |line: &str| {
            let (pattern, area) = line.split_once(' ')?;
            let (class, name) = pattern.split_once('/')?;
            Some((class.to_owned(), name.to_owned(), area.to_owned()))
        };
        Self(lines.filter_map(line).collect())
    }

    /// The area of a name.
    pub(crate) fn of(&self, class: &str, name: &str) -> Option<&str> {
        let fits = |(classes, names, _): &&(String, String, String)| {
            matches(classes, class) && matches(names, name)
        };
        self.0.iter().find(fits).map(|(_, _, area)| area.as_str())
    }
}

/// Whether a text fits a pattern in which `*` stands for anything.
fn matches(pattern: &str, text: &str) -> bool {
    let mut parts = pattern.split('*');
    let Some(mut rest) = text.strip_prefix(parts.next().unwrap_or("")) else { return false };
    let Some(last) = parts.next_back() else { return rest.is_empty() };
    for part in parts {
        let Some(at) = rest.find(part) else { return false };
        rest = &rest[at + part.len()..];
    }
    rest.ends_with(last)
}

#[cfg(test)]
mod tests {
    //! The first line that fits counts.
    use super::*;

    #[test]
    fn the_first_line_counts() {
        let areas = Areas::parse("# x\n*/a* first\nbind/* second\n");
        assert_eq!(areas.of("bind", "ab"), Some("first"));
        assert_eq!(areas.of("bind", "b"), Some("second"));
        assert_eq!(areas.of("option", "b"), None);
    }
}
