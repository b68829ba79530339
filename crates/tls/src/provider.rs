//! Providers of the linked library, and the keywords that it does not support.

/// Loads an implementation of algorithms for the rest of the process (`ssl-provider`).
pub use ffi::load_provider;
/// Says which implementations are preferred (`ssl-propquery`).
pub use ffi::set_default_properties as prefer_providers;
/// Says where those are looked for that are loaded from now on (`ssl-provider-path`).
pub use ffi::set_provider_path;

/// Refuses a keyword that the library does not support.
///
/// # Errors
///
/// The message for the user.
pub fn lacks(keyword: &str) -> Result<(), String> {
    match ffi::LACKS.contains(&keyword) {
        true => Err(format!("'{keyword}' is not available in this build ({}).", ffi::NAME)),
        false => Ok(()),
    }
}

/// Why a keyword has no effect with the library.
pub fn needs_not(keyword: &str) -> Option<String> {
    let idle = ffi::NEEDS_NOT.contains(&keyword);
    idle.then(|| format!("'{keyword}' has no effect in this build ({}).", ffi::NAME))
}
