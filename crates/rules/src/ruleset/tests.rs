//! Tests of rule sets.
