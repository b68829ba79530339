//! The names that servers of a backend have or have had.

use std::collections::HashMap;
use std::sync::Arc;
use stdx::AppendList;
use stdx::Mutex;

/// Names by number.
#[derive(Debug, Default)]
pub(crate) struct Names {
    list: AppendList<Arc<str>>,
    numbers: Mutex<HashMap<Arc<str>, u32>>,
}

impl Names {
    /// The number of a name, the same one each time.
    pub(crate) fn number(&self, name: &str) -> u32 {
        let mut numbers = self.numbers.lock();
        if let Some(number) = numbers.get(name) {
            return *number;
        }
        let name: Arc<str> = name.into();
        let number = self.list.push(name.clone()) as u32;
        numbers.insert(name, number);
        number
    }

    /// The name of a number.
    pub(crate) fn name(&self, number: u32) -> &Arc<str> {
        &self.list[number as usize]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_come_again_keep_their_number() {
        let names = Names::default();
        assert_eq!(["a", "b", "a"].map(|name| names.number(name)), [0, 1, 0]);
        assert_eq!((&**names.name(1), names.list.len()), ("b", 2));
    }
}
