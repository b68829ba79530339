//! A transaction for tests: everything is a field.
