//! The names of HAProxy 2.7, class by class, as committed beside the report.

/// One name of one class.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Name {
    pub(crate) class: String,
    pub(crate) name: String,
    /// As the manual writes them.
    pub(crate) arguments: String,
}

/// The path of the table below the root.
pub(crate) const PATH: &str = "docs/compat/keywords-2.7.tsv";

/// Reads the table: a header line, then class, name, arguments and more, separated by tabs.
pub(crate) fn parse(text: &str) -> Vec<Name> {
    text.lines().skip(1).filter_map(name).collect()
}

fn name(line: &str) -> Option<Name> {
    let mut fields = line.split('\t').map(str::to_owned);
    let (class, name) = (fields.next()?, fields.next()?);
    Some(Name { class, name, arguments: fields.next().unwrap_or_default() })
}

#[cfg(test)]
mod tests {
    //! Fields by position.
    use super::*;

    #[test]
    fn reads_lines() {
        let names = parse("class\tname\targs\nacl\tbase\t= base -m str\t\t\nbalance\tfirst\n");
        assert_eq!(names.len(), 2);
        assert_eq!(
            (names[0].name.as_str(), names[0].arguments.as_str()),
            ("base", "= base -m str")
        );
        assert_eq!(names[1].class, "balance");
    }
}
