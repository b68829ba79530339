//! Names of services that `use-service` knows: what the proxy answers by itself.

/// A service.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Service {
    /// `prometheus-exporter`: the figures of the statistics in Prometheus' text format.
    Prometheus,
}

impl Service {
    /// All services by the name that the configuration uses.
    pub const TABLE: &[(&'static str, Service)] = &[("prometheus-exporter", Service::Prometheus)];

    /// Its name in logs, where they name a server.
    pub fn log_name(self) -> &'static str {
        match self {
            Service::Prometheus => "<PROMEX>",
        }
    }

    /// The service of that name.
    pub fn named(name: &str) -> Option<Service> {
        Self::TABLE.iter().find(|(known, _)| *known == name).map(|(_, service)| *service)
    }
}
