//! Which implementations OpenSSL takes algorithms from.

use super::raw;
use openssl::provider::Provider;
use std::ffi::{CStr, CString, c_int, c_void};

/// Loads one for the rest of the process. The library's own stays, as where a system's
/// configuration of the library names it.
///
/// # Errors
/// The library's words.
pub fn load_provider(name: &str) -> Result<(), String> {
    let loaded = Provider::load(None, name);
    // Dropping the providers would unload them.
    let _ = Provider::load(None, "default").map(std::mem::forget);
    loaded.map(std::mem::forget).map_err(|error| {
        let first = error.errors().iter().find_map(|it| it.data().or_else(|| it.reason()));
        first.unwrap_or("no memory").to_owned()
    })
}

/// Sets the directory from which later providers are loaded. `false`: it cannot be a path.
pub fn set_provider_path(path: &str) -> bool {
    Provider::set_default_search_path(None, path).is_ok()
}

/// Sets what implementations must be like, or had better be, in the whole process. `false`: the
/// query is not understood.
pub fn set_default_properties(query: &str) -> bool {
    let Ok(query) = CString::new(query) else { return false };
    // SAFETY: without a library context the usual one is meant, which the library guards by locks
    // of its own; the text is terminated, and is copied.
    unsafe { raw::EVP_set_default_properties(std::ptr::null_mut(), query.as_ptr()) == 1 }
}

/// The names of the providers that the library has loaded.
pub fn providers() -> Vec<String> {
    extern "C" fn note(provider: *mut openssl_sys::OSSL_PROVIDER, argument: *mut c_void) -> c_int {
        // SAFETY: the argument is the list below, to which there is no other reference during the
        // call.
        let names = unsafe { &mut *argument.cast::<Vec<String>>() };
        // SAFETY: the provider is valid during the call; its name is a terminated text of its own.
        let name = unsafe {
            let name = raw::OSSL_PROVIDER_get0_name(provider);
            (!name.is_null()).then(|| CStr::from_ptr(name).to_string_lossy().into_owned())
        };
        names.extend(name);
        1
    }
    let mut names: Vec<String> = Vec::new();
    let argument = std::ptr::from_mut(&mut names).cast::<c_void>();
    // SAFETY: without a library context the usual one is meant; `note` gets the list that it
    // expects, during this call only.
    unsafe { raw::OSSL_PROVIDER_do_all(std::ptr::null_mut(), Some(note), argument) };
    names
}
