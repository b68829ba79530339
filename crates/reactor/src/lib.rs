//! One thread's loop: expire, run, poll. Owns the seam `Kernel`; never speaks a protocol word.
#![forbid(unsafe_code)]
