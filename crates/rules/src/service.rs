//! Names of the services of `use-service`, with which the proxy answers by itself.

/// A service that a script has registered; it lives as long as the process.
#[derive(PartialEq, Eq, Debug)]
pub struct ScriptService {
    /// Its name in the script.
    pub name: Box<str>,
    /// Its name in logs.
    pub log_name: Box<str>,
    /// Whether each thread has a state of its own for it.
    pub per_thread: bool,
}

/// A service.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Service {
    /// `prometheus-exporter`: the figures of the statistics in Prometheus' text format.
    Prometheus,
    /// `lua.NAME`
    Script(&'static ScriptService),
}

impl Service {
    /// All services by the name that the configuration uses.
    pub const TABLE: &[(&'static str, Service)] = &[("prometheus-exporter", Service::Prometheus)];

    /// The name of the service in logs, in place of a server's.
    pub fn log_name(self) -> &'static str {
        match self {
            Service::Prometheus => "<PROMEX>",
            Service::Script(service) => &service.log_name,
        }
    }

    /// The service of a script.
    pub fn of_script(name: &str, per_thread: bool) -> Service {
        let log_name = format!("<lua.{name}>").into();
        // One per line of the configuration.
        let service = ScriptService { name: name.into(), log_name, per_thread };
        Service::Script(Box::leak(Box::new(service)))
    }

    /// The service of that name.
    pub fn named(name: &str) -> Option<Service> {
        Self::TABLE.iter().find(|(known, _)| *known == name).map(|(_, service)| *service)
    }
}
