//! Functions of OpenSSL that its bindings lack.

use openssl_sys::{
    BIO, OCSP_BASICRESP, OCSP_CERTID, OCSP_RESPONSE, OSSL_LIB_CTX, OSSL_PARAM, OSSL_PROVIDER, SSL,
    SSL_CTX, SSL_SESSION, X509, X509_CRL, X509_NAME, X509_STORE, X509_STORE_CTX,
};
use std::ffi::{c_char, c_int, c_long, c_uchar, c_ulong, c_void};

/// The callback for each message.
pub(crate) type Watcher =
    unsafe extern "C" fn(c_int, c_int, c_int, *const c_void, usize, *mut SSL, *mut c_void);

/// The callback for each provider.
pub(crate) type EachProvider = extern "C" fn(*mut OSSL_PROVIDER, *mut c_void) -> c_int;

/// An entry of a table of functions (`OSSL_DISPATCH`).
#[repr(C)]
pub(crate) struct Dispatch {
    number: c_int,
    function: *const c_void,
}

// SAFETY: the pointer is that of a function, which threads may share.
unsafe impl Sync for Dispatch {}

impl Dispatch {
    /// The last entry.
    pub(crate) const END: Self = Self { number: 0, function: std::ptr::null() };

    /// An entry; `function` is a function of the type that goes with the number.
    pub(crate) const fn of(number: c_int, function: *const c_void) -> Self {
        Self { number, function }
    }
}

unsafe extern "C" {
    pub(crate) fn ERR_clear_error();
    pub(crate) fn EVP_set_default_properties(
        library: *mut OSSL_LIB_CTX,
        query: *const c_char,
    ) -> c_int;
    pub(crate) fn OCSP_RESPONSE_print(
        out: *mut BIO,
        response: *mut OCSP_RESPONSE,
        flags: c_ulong,
    ) -> c_int;
    pub(crate) fn OCSP_resp_count(response: *mut OCSP_BASICRESP) -> c_int;
    pub(crate) fn OSSL_PARAM_construct_utf8_string(
        key: *const c_char,
        text: *mut c_char,
        size: usize,
    ) -> OSSL_PARAM;
    pub(crate) fn OSSL_PROVIDER_do_all(
        library: *mut OSSL_LIB_CTX,
        each: Option<EachProvider>,
        argument: *mut c_void,
    ) -> c_int;
    pub(crate) fn OSSL_PROVIDER_get0_name(provider: *const OSSL_PROVIDER) -> *const c_char;
    pub(crate) fn SSL_CTX_set_msg_callback(ctx: *mut SSL_CTX, watcher: Option<Watcher>);
    pub(crate) fn SSL_CTX_set_timeout(ctx: *mut SSL_CTX, seconds: c_long) -> c_long;
    pub(crate) fn SSL_SESSION_get0_alpn_selected(
        session: *const SSL_SESSION,
        name: *mut *const c_uchar,
        length: *mut usize,
    );
    pub(crate) fn SSL_SESSION_get_max_fragment_length(session: *const SSL_SESSION) -> u8;
    pub(crate) fn SSL_SESSION_get_ticket_lifetime_hint(session: *const SSL_SESSION) -> c_ulong;
    pub(crate) fn SSL_clear_options(ssl: *mut SSL, options: u64) -> u64;
    pub(crate) fn SSL_get_cipher_list(ssl: *const SSL, place: c_int) -> *const c_char;
    pub(crate) fn SSL_get_early_data_status(ssl: *const SSL) -> c_int;
    pub(crate) fn SSL_get_peer_signature_type_nid(ssl: *const SSL, nid: *mut c_int) -> c_int;
    pub(crate) fn SSL_has_pending(ssl: *const SSL) -> c_int;
    pub(crate) fn SSL_set_quic_tls_cbs(
        ssl: *mut SSL,
        table: *const Dispatch,
        argument: *mut c_void,
    ) -> c_int;
    pub(crate) fn SSL_set_quic_tls_early_data_enabled(ssl: *mut SSL, enabled: c_int) -> c_int;
    pub(crate) fn SSL_set_quic_tls_transport_params(
        ssl: *mut SSL,
        parameters: *const c_uchar,
        length: usize,
    ) -> c_int;
    pub(crate) fn SSL_set_read_ahead(ssl: *mut SSL, reads: c_int);
    pub(crate) fn SSL_set_options(ssl: *mut SSL, options: u64) -> u64;
    pub(crate) fn X509_CRL_get_signature_nid(crl: *const X509_CRL) -> c_int;
    pub(crate) fn X509_CRL_get_version(crl: *const X509_CRL) -> c_long;
    pub(crate) fn X509_NAME_oneline(
        name: *const X509_NAME,
        buffer: *mut c_char,
        size: c_int,
    ) -> *mut c_char;
    pub(crate) fn X509_NAME_print_ex(
        out: *mut BIO,
        name: *const X509_NAME,
        indent: c_int,
        flags: c_ulong,
    ) -> c_int;
    pub(crate) fn X509_STORE_CTX_get0_cert(context: *const X509_STORE_CTX) -> *mut X509;
    pub(crate) fn X509_STORE_add_crl(store: *mut X509_STORE, crl: *mut X509_CRL) -> c_int;
    pub(crate) fn X509_get_version(certificate: *const X509) -> c_long;
    pub(crate) fn d2i_X509_AUX(
        certificate: *mut *mut X509,
        from: *mut *const c_uchar,
        length: c_long,
    ) -> *mut X509;
    pub(crate) fn i2d_OCSP_CERTID(id: *const OCSP_CERTID, out: *mut *mut c_uchar) -> c_int;
}
