//! Functions of AWS-LC by the names that they have in OpenSSL.

pub(crate) use openssl_sys::{
    ERR_clear_error, OCSP_RESPONSE_print, OCSP_resp_count, SSL_CTX_set_msg_callback,
    SSL_CTX_set_timeout, SSL_clear_options, SSL_get_peer_signature_type_nid, SSL_has_pending,
    SSL_set_options, X509_CRL_get_signature_nid, X509_CRL_get_version, X509_NAME_oneline,
    X509_NAME_print_ex, X509_STORE_CTX_get0_cert, X509_STORE_add_crl, X509_get_version,
    d2i_X509_AUX, i2d_OCSP_CERTID,
};
