//! Every system call and socket option. The only crate that speaks to the kernel; it never decides policy.
