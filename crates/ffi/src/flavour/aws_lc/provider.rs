//! Providers of algorithms, which AWS-LC does not have.

/// Loads none.
///
/// # Errors
/// Always.
pub fn load_provider(_: &str) -> Result<(), String> {
    Err("AWS-LC has no providers".to_owned())
}

/// Sets the directory from which later providers are loaded. `false`: nowhere.
pub fn set_provider_path(_: &str) -> bool {
    false
}

/// Sets the properties of implementations to select. `false`: there is no choice.
pub fn set_default_properties(_: &str) -> bool {
    false
}

/// The names of the providers that the library has loaded.
pub fn providers() -> Vec<String> {
    Vec::new()
}
