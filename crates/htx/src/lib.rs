//! The version-free HTTP message: start line, headers, trailers. Never does I/O and never knows a wire format.
#![forbid(unsafe_code)]
