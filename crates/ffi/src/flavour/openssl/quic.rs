//! Handshakes of QUIC connections with OpenSSL 3.5 and later (`SSL_set_quic_tls_cbs`).

use super::raw::{self, Dispatch};
use crate::quic::{Exchange, Level, TrafficSecret};
use foreign_types::ForeignTypeRef as _;
use openssl::error::ErrorStack;
use openssl::ssl::{Ssl, SslRef};
use openssl_sys::SSL;
use std::ffi::{c_int, c_uchar, c_void};
use std::ptr::NonNull;

/// Whether the library has handshakes for QUIC.
pub const HAS_QUIC: bool = true;

/// A session whose messages go through callbacks.
///
/// Invariant: the library has the address of `exchange` and of the bytes of `parameters` for as
/// long as `ssl` lives, so they are freed after it. The callbacks use `exchange` while a function
/// of the library runs in `advance` or `handle_late`, which borrow `self` exclusively; everything
/// else reaches it through `exchange()` between those calls.
pub(crate) struct QuicSession {
    /// `None` once it was taken: its holder keeps the rest until the session is freed.
    ssl: Option<Ssl>,
    exchange: NonNull<Exchange>,
    /// Kept alive, because the library has its address.
    parameters: Box<[u8]>,
}

// SAFETY: the pointer is the only thing that is not `Send`. It is owned by the session, and no
// callback runs but in calls that borrow the session exclusively, on the thread that has it.
unsafe impl Send for QuicSession {}
// SAFETY: shared references give access to `ssl` alone, which is `Sync`.
unsafe impl Sync for QuicSession {}

impl QuicSession {
    pub(crate) fn new(ssl: Ssl, parameters: Vec<u8>, early: bool) -> Result<Self, ErrorStack> {
        let exchange = Box::new(Exchange::default());
        let exchange = NonNull::from(Box::leak(exchange));
        let parameters = parameters.into_boxed_slice();
        let session = Self { ssl: Some(ssl), exchange, parameters };
        let pointer = session.ssl().as_ptr();
        let bytes = &session.parameters;
        // SAFETY: the session is valid, the table ends with an entry of zeros, and the argument and
        // the parameters outlive the session object (see the invariant of the type).
        let set = unsafe {
            raw::SSL_set_quic_tls_cbs(pointer, CALLBACKS.as_ptr(), exchange.as_ptr().cast()) == 1
                && raw::SSL_set_quic_tls_transport_params(pointer, bytes.as_ptr(), bytes.len()) == 1
                && (!early || raw::SSL_set_quic_tls_early_data_enabled(pointer, 1) == 1)
        };
        if set { Ok(session) } else { Err(ErrorStack::get()) }
    }

    pub(crate) fn ssl(&self) -> &SslRef {
        self.ssl.as_deref().expect("the session object was not taken")
    }

    /// Takes the session object, which must be freed before the rest.
    pub(crate) fn take_ssl(&mut self) -> Option<Ssl> {
        self.ssl.take()
    }

    pub(crate) fn exchange(&mut self) -> &mut Exchange {
        // SAFETY: the exclusive borrow of the owner, and no callback runs (see the invariant).
        unsafe { self.exchange.as_mut() }
    }

    pub(crate) fn advance(&mut self) -> Result<bool, ErrorStack> {
        self.unbind_early_data()?;
        let ssl = self.ssl().as_ptr();
        // SAFETY: the session is valid, and no reference to the exchange is alive.
        let result = unsafe { openssl_sys::SSL_do_handshake(ssl) };
        let goes_on = self.judge(result)?;
        // A server that accepts early data returns behind its own Finished, and reads the client's
        // when it is asked for data.
        if goes_on && !self.ssl().is_init_finished() {
            self.handle_late()?;
        }
        Ok(self.ssl().is_init_finished())
    }

    /// Has tickets say that early data has no bound but the windows of the transport: every other
    /// number is an error (RFC 9001 section 4.6.1). The first message sets one, the last makes
    /// them.
    fn unbind_early_data(&mut self) -> Result<(), ErrorStack> {
        match self.ssl.as_mut().filter(|ssl| ssl.max_early_data() > 0) {
            Some(ssl) => ssl.set_max_early_data(u32::MAX),
            None => Ok(()),
        }
    }

    pub(crate) fn handle_late(&mut self) -> Result<(), ErrorStack> {
        let ssl = self.ssl().as_ptr();
        let mut byte = 0u8;
        // SAFETY: as in `advance`. Messages come through the callbacks; there is no data to read.
        let result = unsafe { openssl_sys::SSL_read(ssl, (&raw mut byte).cast(), 0) };
        self.judge(result).map(drop)
    }

    /// The meaning of a result of the library.
    fn judge(&mut self, result: c_int) -> Result<bool, ErrorStack> {
        if result > 0 {
            return Ok(true);
        }
        // SAFETY: the session is valid.
        let error = unsafe { openssl_sys::SSL_get_error(self.ssl().as_ptr(), result) };
        match error {
            openssl_sys::SSL_ERROR_WANT_READ | openssl_sys::SSL_ERROR_WANT_WRITE
                if self.exchange().output.alert.is_none() =>
            {
                Ok(false)
            }
            _ => Err(ErrorStack::get()),
        }
    }
}

impl Drop for QuicSession {
    fn drop(&mut self) {
        if let Some(ssl) = self.ssl.take() {
            let both = openssl_sys::SSL_SENT_SHUTDOWN | openssl_sys::SSL_RECEIVED_SHUTDOWN;
            // A session that ends without a word may be resumed.
            // SAFETY: the session is valid.
            unsafe { openssl_sys::SSL_set_shutdown(ssl.as_ptr(), both) };
        }
        // SAFETY: the pointer is that of the box that `new` leaked, and the session object, the
        // only other holder of it, is gone.
        drop(unsafe { Box::from_raw(self.exchange.as_ptr()) });
    }
}

/// The functions that the library calls, by number (`openssl/core_dispatch.h`).
static CALLBACKS: [Dispatch; 7] = [
    Dispatch::of(2001, send as SendMessage as *const c_void),
    Dispatch::of(2002, show as ShowInput as *const c_void),
    Dispatch::of(2003, release as ReleaseInput as *const c_void),
    Dispatch::of(2004, secret as YieldSecret as *const c_void),
    Dispatch::of(2005, take as TakeParameters as *const c_void),
    Dispatch::of(2006, alert as SendAlert as *const c_void),
    Dispatch::END,
];

type SendMessage =
    unsafe extern "C" fn(*mut SSL, *const c_uchar, usize, *mut usize, *mut c_void) -> c_int;
type ShowInput =
    unsafe extern "C" fn(*mut SSL, *mut *const c_uchar, *mut usize, *mut c_void) -> c_int;
type ReleaseInput = unsafe extern "C" fn(*mut SSL, usize, *mut c_void) -> c_int;
type YieldSecret =
    unsafe extern "C" fn(*mut SSL, u32, c_int, *const c_uchar, usize, *mut c_void) -> c_int;
type TakeParameters = unsafe extern "C" fn(*mut SSL, *const c_uchar, usize, *mut c_void) -> c_int;
type SendAlert = unsafe extern "C" fn(*mut SSL, c_uchar, *mut c_void) -> c_int;

/// The exchange of the session for which a callback runs.
///
/// # Safety
/// `argument` is the pointer that `QuicSession::new` has given to the library, in a callback.
unsafe fn exchange<'a>(argument: *mut c_void) -> &'a mut Exchange {
    // SAFETY: the exchange lives as long as the session, and a callback runs alone (see the
    // invariant of `QuicSession`).
    unsafe { &mut *argument.cast::<Exchange>() }
}

/// Bytes that the library lends for the length of a call.
///
/// # Safety
/// `bytes` points to `len` bytes, or `len` is 0.
unsafe fn lent<'a>(bytes: *const c_uchar, len: usize) -> &'a [u8] {
    if len == 0 {
        return &[];
    }
    // SAFETY: as the caller says.
    unsafe { std::slice::from_raw_parts(bytes, len) }
}

unsafe extern "C" fn send(
    _: *mut SSL,
    bytes: *const c_uchar,
    len: usize,
    consumed: *mut usize,
    argument: *mut c_void,
) -> c_int {
    // SAFETY: the library's promises for this callback.
    let (exchange, bytes) = unsafe { (exchange(argument), lent(bytes, len)) };
    let level = exchange.level.unwrap_or(Level::Initial);
    match exchange.output.messages.last_mut().filter(|(last, _)| *last == level) {
        Some((_, message)) => message.extend_from_slice(bytes),
        None => exchange.output.messages.push((level, bytes.to_vec())),
    }
    // SAFETY: the library gives the address of a number.
    unsafe { *consumed = len };
    1
}

unsafe extern "C" fn show(
    _: *mut SSL,
    bytes: *mut *const c_uchar,
    len: *mut usize,
    argument: *mut c_void,
) -> c_int {
    // SAFETY: the library's promise for this callback.
    let exchange = unsafe { exchange(argument) };
    let front = exchange.input.front();
    // SAFETY: the library gives the addresses of a pointer and of a number. The chunk stays in
    // place until `release`, because its bytes are in a box of their own that only `release`
    // removes.
    unsafe {
        *bytes = front.map_or(std::ptr::null(), |chunk| chunk.as_ptr());
        *len = front.map_or(0, |chunk| chunk.len());
    }
    1
}

unsafe extern "C" fn release(_: *mut SSL, _: usize, argument: *mut c_void) -> c_int {
    // SAFETY: the library's promise for this callback. The library releases the bytes that `show`
    // has returned as a whole.
    unsafe { exchange(argument) }.input.pop_front();
    1
}

unsafe extern "C" fn secret(
    _: *mut SSL,
    level: u32,
    direction: c_int,
    bytes: *const c_uchar,
    len: usize,
    argument: *mut c_void,
) -> c_int {
    // SAFETY: the library's promises for this callback.
    let (exchange, bytes) = unsafe { (exchange(argument), lent(bytes, len)) };
    let level = match level {
        1 => Level::Early,
        2 => Level::Handshake,
        3 => Level::Application,
        _ => return 0,
    };
    let writes = direction == 1;
    if writes {
        exchange.level = Some(level);
    }
    exchange.output.secrets.push(TrafficSecret { level, writes, bytes: bytes.to_vec() });
    1
}

unsafe extern "C" fn take(
    _: *mut SSL,
    bytes: *const c_uchar,
    len: usize,
    argument: *mut c_void,
) -> c_int {
    // SAFETY: the library's promises for this callback.
    let (exchange, bytes) = unsafe { (exchange(argument), lent(bytes, len)) };
    exchange.output.parameters = Some(bytes.to_vec());
    1
}

unsafe extern "C" fn alert(_: *mut SSL, code: c_uchar, argument: *mut c_void) -> c_int {
    // SAFETY: the library's promise for this callback.
    unsafe { exchange(argument) }.output.alert = Some(code);
    1
}
