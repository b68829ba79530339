//! Names of HAProxy 2.7 that exist whether or not they are implemented here. Data only; never a parser.

/// One `class name` per line, sorted; classes are `acl`, `converter` and `fetch`.
const KEYWORDS: &str = include_str!("../data/keywords-2.7.txt");

/// The names of one class.
fn names(class: &str) -> impl Iterator<Item = &'static str> {
    let class = class.to_owned();
    KEYWORDS.lines().filter_map(move |line| {
        let (kind, name) = line.split_once(' ')?;
        (kind == class).then_some(name)
    })
}

/// Fetch methods of HAProxy 2.7.
pub(crate) fn fetches() -> impl Iterator<Item = &'static str> {
    names("fetch")
}

/// Converters of HAProxy 2.7.
pub(crate) fn converters() -> impl Iterator<Item = &'static str> {
    names("converter")
}

/// Derived ACL keywords of HAProxy 2.7, such as `path_beg`.
pub(crate) fn acls() -> impl Iterator<Item = &'static str> {
    names("acl")
}

/// Whether a fetch or converter came with HAProxy's third version.
#[cfg(test)]
pub(crate) fn is_of_third(name: &str) -> bool {
    name.contains("glitch")
}

/// Beginnings of names, and the area that they wait for.
const AREAS: &[(&str, &str)] = &[
    ("51d.", "device detection"),
    ("da-csv-conv", "device detection"),
    ("fcgi.", "FastCGI"),
    ("in_table", "stick tables"),
    ("sc0_", "stick tables"),
    ("sc1_", "stick tables"),
    ("sc2_", "stick tables"),
    ("sc_", "stick tables"),
    ("src_", "stick tables"),
    ("table_", "stick tables"),
];

/// The area that an unimplemented keyword belongs to, in parentheses.
pub(crate) fn reason(name: &str) -> String {
    let area = AREAS.iter().find(|(start, _)| name.starts_with(start));
    area.map_or_else(String::new, |(_, area)| format!(" ({area})"))
}
