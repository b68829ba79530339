//! Tasks, classes, budgets, timers and wake reasons of one thread. Never names a file descriptor and never reads a clock.
