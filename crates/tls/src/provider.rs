//! Implementations of algorithms that the process loads besides the library's own. Never unloads one.

use openssl::provider::Provider;

/// Loads one for the rest of the process (`ssl-provider`). The library's own stays, as where a
/// system's configuration of the library names it.
///
/// # Errors
/// The library's words.
pub fn load_provider(name: &str) -> Result<(), String> {
    let loaded = Provider::load(None, name);
    // Dropping them would unload them.
    let _ = Provider::load(None, "default").map(std::mem::forget);
    loaded.map(std::mem::forget).map_err(|error| {
        let first = error.errors().iter().find_map(|it| it.data().or_else(|| it.reason()));
        first.unwrap_or("no memory").to_owned()
    })
}

/// Says where those are looked for that are loaded from now on (`ssl-provider-path`). `false`: it
/// cannot be a path.
pub fn set_provider_path(path: &str) -> bool {
    Provider::set_default_search_path(None, path).is_ok()
}

/// Says which implementations are preferred (`ssl-propquery`). `false`: the query is not
/// understood.
pub fn prefer_providers(query: &str) -> bool {
    ffi::set_default_properties(query)
}
