//! The workshop entrance. Never part of the product.

fn main() {}
