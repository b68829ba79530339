//! Starts the sampling of the dashboard's charts, which show the last minutes.
//!
//! One point per second: of the whole process, and of the first [`PROXIES`] proxies. A point of a
//! proxy takes 40 bytes, so 600 of each take 770 kB; what percentiles are computed from takes at
//! most 1.3 MB beside that.

pub mod sampler;

use engine::state::runtime::Shared;
pub use sampler::Sampler;
use std::sync::Arc;

/// Starts the sampling for a process with `tune.history`.
pub fn keep(shared: &Arc<Shared>) {
    if shared.history.seconds > 0 {
        let mut sampler = Sampler::new(shared);
        let (due, work) = (sampler.due(), &shared.work);
        let job =
            move |worker: &engine::state::worker::Worker, now| sampler.step(&worker.shared, now);
        let _ = work.add(0, work.all_threads(), due, Box::new(job));
    }
}
