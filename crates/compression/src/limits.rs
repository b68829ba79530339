//! The limits on compression: `maxcomprate`, `maxcompcpuusage`, `maxzlibmem`.

/// The limits of the `global` section.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Limits {
    /// `maxcomprate`: bytes of input per second in the whole process; 0 is no limit.
    pub rate: u64,
    /// `maxcompcpuusage`: percent of the processor; 100 is no limit.
    pub cpu_percent: u8,
    /// `maxzlibmem`: bytes of all encoders; 0 is no limit.
    pub memory: u64,
}

impl Default for Limits {
    fn default() -> Self {
        Self { rate: 0, cpu_percent: 100, memory: 0 }
    }
}

/// The state of the process.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Load {
    /// Bytes per second that encoders consume.
    pub rate: u64,
    /// Percent of its time in which this thread waits.
    pub idle_percent: u8,
    /// Bytes allocated by all encoders.
    pub memory: u64,
}

/// The limit that is reached.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum LimitReached {
    /// `maxcomprate`.
    Rate,
    /// `maxcompcpuusage`.
    Cpu,
    /// `maxzlibmem`.
    Memory,
}

impl Limits {
    /// Whether another response may be compressed, by an encoder that allocates `memory` bytes.
    /// Asked once per response: a response that has begun is compressed to its end.
    ///
    /// # Errors
    ///
    /// The limit that forbids it. The bytes of the response count as bypassed then.
    pub fn admit(&self, load: &Load, memory: usize) -> Result<(), LimitReached> {
        if let Some(reached) = self.exceeded(load) {
            return Err(reached);
        }
        let wanted = load.memory.saturating_add(memory as u64);
        if self.memory > 0 && memory > 0 && wanted > self.memory {
            return Err(LimitReached::Memory);
        }
        Ok(())
    }

    /// The limit above which levels fall.
    #[must_use]
    pub fn exceeded(&self, load: &Load) -> Option<LimitReached> {
        if self.rate > 0 && load.rate > self.rate {
            return Some(LimitReached::Rate);
        }
        let least_idle = 100_u8.saturating_sub(self.cpu_percent);
        (load.idle_percent < least_idle).then_some(LimitReached::Cpu)
    }
}

/// The level of one response: it falls by one at each flush above a limit and rises below it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct LevelControl {
    level: u8,
    max: u8,
}

impl LevelControl {
    /// A response begins at the highest level, `tune.comp.maxlevel`.
    #[must_use]
    pub fn new(max: u8) -> Self {
        Self { level: max, max }
    }

    /// The level after a flush, for [`crate::Encoder::set_level`]; `None` if it stays.
    pub fn step(&mut self, limits: &Limits, load: &Load) -> Option<u8> {
        let level = match limits.exceeded(load) {
            Some(_) => self.level.saturating_sub(1),
            None => self.level.saturating_add(1).min(self.max),
        };
        (std::mem::replace(&mut self.level, level) != level).then_some(level)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn admitted(limits: Limits, load: Load, memory: usize) -> Option<LimitReached> {
        limits.admit(&load, memory).err()
    }

    #[test]
    fn without_limits_every_load_is_admitted() {
        let load = Load { rate: u64::MAX, idle_percent: 0, memory: u64::MAX };
        assert_eq!(admitted(Limits::default(), load, 1 << 20), None);
    }

    #[test]
    fn a_rate_above_the_limit_refuses_and_the_limit_itself_does_not() {
        let limits = Limits { rate: 1000, ..Limits::default() };
        let at = |rate| Load { rate, idle_percent: 100, memory: 0 };
        assert_eq!(admitted(limits, at(1000), 0), None);
        assert_eq!(admitted(limits, at(1001), 0), Some(LimitReached::Rate));
    }

    #[test]
    fn a_busy_processor_refuses() {
        for (cpu_percent, idle_percent, refuses) in
            [(100, 0, false), (80, 20, false), (80, 19, true), (0, 99, true), (0, 100, false)]
        {
            let limits = Limits { cpu_percent, ..Limits::default() };
            let load = Load { idle_percent, ..Load::default() };
            let expected = refuses.then_some(LimitReached::Cpu);
            assert_eq!(admitted(limits, load, 0), expected, "{cpu_percent} {idle_percent}");
        }
    }

    #[test]
    fn memory_is_counted_with_the_encoder_that_asks() {
        let limits = Limits { memory: 1000, ..Limits::default() };
        let load = Load { memory: 900, ..Load::default() };
        assert_eq!(admitted(limits, load, 100), None);
        assert_eq!(admitted(limits, load, 101), Some(LimitReached::Memory));
        let full = Load { memory: 2000, ..Load::default() };
        assert_eq!(admitted(limits, full, 0), None, "an encoder without memory");
    }

    #[test]
    fn the_level_falls_to_nothing_above_a_limit_and_rises_again_below() {
        let limits = Limits { rate: 1, ..Limits::default() };
        let mut control = LevelControl::new(2);
        let (above, below) = (Load { rate: 2, ..Load::default() }, Load::default());
        let steps: Vec<_> = [below, above, above, above, below, below, below]
            .iter()
            .map(|load| control.step(&limits, load))
            .collect();
        assert_eq!(steps, [None, Some(1), Some(0), None, Some(1), Some(2), None]);
    }
}
