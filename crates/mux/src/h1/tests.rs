//! Tests of the HTTP/1 machine: single rules, whole exchanges through both sides, arbitrary bytes.

mod exchange;
mod lengths;
mod machine;
mod rules;
mod speed;
mod upgrades;
