//! Pooled fixed-size buffers and chains. Never does I/O; an idle connection holds none.
