//! Codecs between bytes and `htx`. No I/O, no clock, no connection state beyond one message.
#![forbid(unsafe_code)]
