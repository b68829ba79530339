//! The dependency names of a `Cargo.toml`. Reads only what the walls need; never resolves.

/// The kind of a dependency, by its section of the manifest.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum DependencyKind {
    /// Linked into the crate, or into its build script.
    Product,
    /// For tests, benchmarks and examples only.
    Development,
}

/// One declared dependency.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Dependency {
    pub(crate) name: String,
    pub(crate) kind: DependencyKind,
    /// Line, counted from 1.
    pub(crate) line: usize,
}

/// Every dependency that a manifest declares, in order.
pub(crate) fn dependencies(text: &str) -> Vec<Dependency> {
    let mut found = Vec::new();
    let mut kind = None;
    for (index, line) in text.lines().enumerate() {
        let line = line.trim();
        if let Some(section) = line.strip_prefix('[') {
            let section = section.trim_end_matches(']');
            kind = section_kind(section);
            if let (Some(kind), Some(name)) = (kind, table_name(section)) {
                found.push(Dependency { name: name.to_owned(), kind, line: index + 1 });
            }
            if table_name(section).is_some() {
                kind = None;
            }
            continue;
        }
        let Some(kind) = kind else { continue };
        let name: String =
            line.chars().take_while(|c| c.is_alphanumeric() || matches!(c, '-' | '_')).collect();
        if !name.is_empty() {
            found.push(Dependency { name, kind, line: index + 1 });
        }
    }
    found
}

fn section_kind(section: &str) -> Option<DependencyKind> {
    let parts: Vec<&str> = section.split('.').collect();
    if parts.first() == Some(&"workspace") {
        return None;
    }
    if parts.contains(&"dev-dependencies") {
        return Some(DependencyKind::Development);
    }
    let product = ["dependencies", "build-dependencies"];
    parts.iter().any(|part| product.contains(part)).then_some(DependencyKind::Product)
}

/// The name in `[dependencies.name]`.
fn table_name(section: &str) -> Option<&str> {
    let (_, name) = section.rsplit_once("dependencies.")?;
    Some(name)
}

#[cfg(test)]
mod tests {
    //! The spellings of dependencies that cargo accepts.
    use super::*;

    #[test]
    fn reads_every_spelling() {
        let text = "[package]\nname = \"x\"\n[dependencies]\na.workspace = true\nb = \"1\"\n# c\n\
                    [dependencies.d]\nversion = \"1\"\n[dev-dependencies]\ne = { path = \"e\" }\n\
                    [target.'cfg(unix)'.dependencies]\nf-g = \"1\"\n[workspace.dependencies]\nh = \"1\"\n";
        let names: Vec<(String, DependencyKind)> =
            dependencies(text).into_iter().map(|found| (found.name, found.kind)).collect();
        let product = |name: &str| (name.to_owned(), DependencyKind::Product);
        assert_eq!(
            names,
            [
                product("a"),
                product("b"),
                product("d"),
                ("e".to_owned(), DependencyKind::Development),
                product("f-g")
            ]
        );
    }
}
