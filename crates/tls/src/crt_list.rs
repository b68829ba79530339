//! Certificate lists: a certificate in each line, with options and the names that it is for (manual
//! section 5.1 `crt-list`). Never reads a file.

use crate::options::{Given, Options};

/// A name that a certificate is for, as written: `name`, `*.name`, `!name`.
pub type Filter = String;

/// A certificate of a bind line.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Listed {
    /// Its file, a directory, or the beginning of a bundle.
    pub path: String,
    /// What it says of its connections.
    pub options: Options,
    /// The names that it is for; those in it, if there are none.
    pub filters: Vec<Filter>,
    /// The list that it stands in, and its line there, from 1; an empty name on the bind line.
    pub list: (String, u32),
}

/// Reads the text of the list `name`.
///
/// # Errors
/// What is wrong, and in which line.
pub fn parse(name: &str, text: &str) -> Result<Vec<Listed>, String> {
    let mut found = Vec::new();
    for (number, line) in (1..).zip(text.lines()) {
        let told = |message: String| format!("parsing [{name}:{number}]: {message}");
        if let Some(mut listed) = parse_line(line).map_err(told)? {
            listed.list = (name.to_owned(), number);
            found.push(listed);
        }
    }
    Ok(found)
}

/// Reads one line; `None` if it is empty or a comment.
pub(crate) fn parse_line(line: &str) -> Result<Option<Listed>, String> {
    let line = line.trim();
    if line.is_empty() || line.starts_with('#') {
        return Ok(None);
    }
    parse_entry(line).map(Some)
}

/// Reads what a line says.
pub(crate) fn parse_entry(line: &str) -> Result<Listed, String> {
    let line = line.trim();
    let (path, rest) = line.split_once(char::is_whitespace).unwrap_or((line, ""));
    let mut rest = rest.trim_start();
    let path = match path.split_once('[') {
        // The bracket may follow at once.
        Some((path, _)) => {
            rest = line[path.len()..].trim_start();
            path
        }
        None => path,
    };
    if path.is_empty() {
        return Err("missing certificate path".to_owned());
    }
    let mut options = Options::default();
    if let Some(inner) = rest.strip_prefix('[') {
        let (inner, after) = inner.split_once(']').ok_or("file name must be followed by ']'")?;
        if inner.contains('[') {
            return Err("too many '['".to_owned());
        }
        parse_options(&mut options, inner)?;
        rest = after;
    }
    let filters: Vec<_> =
        rest.split_whitespace().take_while(|word| !word.starts_with('#')).collect();
    let optioned = line[path.len()..].trim_start().starts_with('[');
    filters.iter().try_for_each(|name| without_brackets(name, optioned))?;
    Ok(Listed {
        path: path.to_owned(),
        options,
        filters: filters.into_iter().map(str::to_owned).collect(),
        list: Default::default(),
    })
}

/// Options in the wrong place would else be names that no client asks for.
fn without_brackets(name: &str, optioned: bool) -> Result<(), String> {
    match name.find(['[', ']']).map(|at| name.as_bytes()[at]) {
        None => Ok(()),
        Some(b'[') if optioned => Err("too many '['".to_owned()),
        Some(b'[') => Err("options must stand before the names".to_owned()),
        Some(_) if optioned => Err("too many ']'".to_owned()),
        Some(_) => Err("missing '['".to_owned()),
    }
}

fn parse_options(options: &mut Options, text: &str) -> Result<(), String> {
    let mut words = text.split_whitespace();
    while let Some(name) = words.next() {
        let option =
            Given::find_listed(name).ok_or_else(|| format!("unknown ssl keyword {name}"))?;
        let value = if option.has_value { words.next().unwrap_or("") } else { "" };
        option.read(options, value)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::options::Verify;

    #[test]
    fn lines_have_options_and_names() {
        let text = "# a list\n\na.pem\nb.pem [verify optional] *.b !c.b\nc.pem[no-ca-names] # x\n";
        let list = parse("l", text).unwrap();
        let paths: Vec<_> = list.iter().map(|listed| listed.path.as_str()).collect();
        assert_eq!(paths, ["a.pem", "b.pem", "c.pem"]);
        assert_eq!(list[1].options.verify, Some(Verify::Optional));
        assert_eq!(list[1].filters, ["*.b", "!c.b"]);
        assert!(list[2].options.no_ca_names && list[2].filters.is_empty());
        assert_eq!(list[2].list, ("l".to_owned(), 5));
    }

    #[test]
    fn mistakes_name_their_line() {
        let told = parse("l", "a.pem\nb.pem [foo bar] x").unwrap_err();
        assert_eq!(told, "parsing [l:2]: unknown ssl keyword foo");
        assert!(parse("l", "a.pem [verify none").is_err());
        assert!(parse("l", "a.pem [no-tlsv13]").is_err());
    }

    #[test]
    fn brackets_stand_around_options_alone() {
        for (line, why) in [
            ("a.pem [verify none] [x]", "too many '['"),
            ("a.pem [verify [none]", "too many '['"),
            ("a.pem [verify none]]", "too many ']'"),
            ("a.pem x]", "missing '['"),
            ("a.pem x [verify required]", "options must stand before the names"),
        ] {
            assert_eq!(parse("l", line).unwrap_err(), format!("parsing [l:1]: {why}"), "{line}");
        }
        let list = parse("l", "a.pem[verify none]x # [y]").unwrap();
        assert_eq!(list[0].filters, ["x"]);
    }

    #[test]
    fn words_change_what_a_line_says() {
        for words in
            ["alpn h2", "ca-file a.pem", "ca-verify-file a.pem", "crl-file c.pem", "no-ca-names"]
        {
            let list = parse("l", &format!("a.pem [{words}]\nb.pem\n")).unwrap();
            assert_ne!(list[0].options, list[1].options, "{words}");
        }
    }
}
