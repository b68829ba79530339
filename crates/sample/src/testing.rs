//! A world for tests: everything is a public field.
