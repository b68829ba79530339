//! Providers of the linked library, and the keywords that it does not support.

/// Loads an implementation of algorithms for the rest of the process (`ssl-provider`).
pub use ffi::load_provider;
/// Says which implementations are preferred (`ssl-propquery`).
pub use ffi::set_default_properties as prefer_providers;
/// Sets the directory from which later providers are loaded (`ssl-provider-path`).
pub use ffi::set_provider_path;
use std::fmt;

/// A keyword that the library of this build does not support.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnavailableKeyword(String);

impl fmt::Display for UnavailableKeyword {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "'{}' is not available in this build ({}).", self.0, ffi::NAME)
    }
}

impl std::error::Error for UnavailableKeyword {}

/// Refuses a keyword that the library does not support.
///
/// # Errors
///
/// The library does not support it.
pub fn lacks(keyword: &str) -> Result<(), UnavailableKeyword> {
    match ffi::LACKS.contains(&keyword) {
        true => Err(UnavailableKeyword(keyword.to_owned())),
        false => Ok(()),
    }
}

/// Why a keyword has no effect with the library.
pub fn needs_not(keyword: &str) -> Option<String> {
    let idle = ffi::NEEDS_NOT.contains(&keyword);
    idle.then(|| format!("'{keyword}' has no effect in this build ({}).", ffi::NAME))
}
