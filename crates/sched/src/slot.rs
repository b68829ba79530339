//! The task table of one thread: slots of one cache line, identified by index and generation.

use crate::profile::Function;
use crate::{Class, TaskId, Wake};
use std::future::Future;
use std::pin::Pin;
use stdx::{Key, Tick};

/// The future of a task; it never leaves its thread, so it need not be `Send`.
pub(crate) type TaskFuture = Pin<Box<dyn Future<Output = ()>>>;

bitflags::bitflags! {
    /// Scheduling state of a task.
    #[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
    pub(crate) struct State: u8 {
        /// The task is in a run queue.
        const QUEUED = 1;
        /// The task's future is to be dropped instead of polled.
        const KILLED = 1 << 1;
        /// The next turn is bulk work, whatever wakes the task.
        const NEXT_BULK = 1 << 2;
        /// The next turn is heavy work if only I/O wakes the task.
        const NEXT_HEAVY = 1 << 3;
        /// The flags that apply to the next wake-up only.
        const NEXT_CLASS = Self::NEXT_BULK.bits() | Self::NEXT_HEAVY.bits();
    }
}

/// One task. The future is absent exactly while it runs.
#[repr(align(64))]
pub(crate) struct TaskSlot {
    pub(crate) future: Option<TaskFuture>,
    /// The function that the task runs.
    pub(crate) function: &'static Function,
    /// Odd while a task lives here, even while the slot is free.
    generation: u32,
    /// Index of the next free slot, while this one is free.
    next_free: u32,
    /// Time at which the task wants to be woken.
    pub(crate) deadline: Option<Tick>,
    /// Time of the task's timer in the wheel: the deadline or earlier.
    pub(crate) armed: Option<Tick>,
    pub(crate) reasons: Wake,
    pub(crate) state: State,
    /// Turns of the task so far.
    pub(crate) turns: u32,
    /// Class requested by the task's own yield.
    pub(crate) yields_to: Option<Class>,
    /// Position offset in the normal class: -1024 (first) to 1024 (last).
    pub(crate) nice: i16,
}

const NO_SLOT: u32 = u32::MAX;

impl TaskSlot {
    fn new(future: TaskFuture, function: &'static Function, generation: u32) -> Self {
        Self {
            future: Some(future),
            function,
            generation,
            next_free: NO_SLOT,
            deadline: None,
            armed: None,
            reasons: Wake::INIT,
            state: State::empty(),
            turns: 0,
            yields_to: None,
            nice: 0,
        }
    }
}

/// All tasks of a thread by id.
pub(crate) struct TaskTable {
    slots: Vec<TaskSlot>,
    free: u32,
    len: usize,
}

impl TaskTable {
    pub(crate) const fn new() -> Self {
        Self { slots: Vec::new(), free: NO_SLOT, len: 0 }
    }

    pub(crate) fn len(&self) -> usize {
        self.len
    }

    pub(crate) fn insert(&mut self, future: TaskFuture, function: &'static Function) -> TaskId {
        self.len += 1;
        if let Some(slot) = self.slots.get_mut(self.free as usize) {
            let (index, generation) = (self.free, slot.generation.wrapping_add(1));
            self.free = slot.next_free;
            *slot = TaskSlot::new(future, function, generation);
            return TaskId(Key { index, generation });
        }
        let index = u32::try_from(self.slots.len()).expect("fewer than 2^32 tasks");
        self.slots.push(TaskSlot::new(future, function, 1));
        TaskId(Key { index, generation: 1 })
    }

    /// Frees the slot of a task whose future has been taken out; its id becomes invalid.
    pub(crate) fn remove(&mut self, id: TaskId) {
        let free = self.free;
        let Some(slot) = self.get_mut(id) else { return };
        slot.generation = slot.generation.wrapping_add(1);
        slot.next_free = free;
        self.free = id.0.index;
        self.len -= 1;
    }

    #[inline]
    pub(crate) fn get(&self, id: TaskId) -> Option<&TaskSlot> {
        let slot = self.slots.get(id.0.index as usize)?;
        (slot.generation == id.0.generation).then_some(slot)
    }

    #[inline]
    pub(crate) fn get_mut(&mut self, id: TaskId) -> Option<&mut TaskSlot> {
        let slot = self.slots.get_mut(id.0.index as usize)?;
        (slot.generation == id.0.generation).then_some(slot)
    }

    /// The task in a slot.
    #[inline]
    pub(crate) fn at(&mut self, index: u32) -> Option<(TaskId, &mut TaskSlot)> {
        let slot = self.slots.get_mut(index as usize)?;
        let id = TaskId(Key { index, generation: slot.generation });
        (slot.generation % 2 == 1).then_some((id, slot))
    }

    /// All tasks alive.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (TaskId, &TaskSlot)> {
        let alive = self.slots.iter().enumerate().filter(|(_, slot)| slot.generation % 2 == 1);
        alive.map(|(index, slot)| {
            (TaskId(Key { index: index as u32, generation: slot.generation }), slot)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slot_is_one_cache_line() {
        assert_eq!((size_of::<TaskSlot>(), align_of::<TaskSlot>()), (64, 64));
    }

    #[test]
    fn a_task_id_is_invalid_after_its_task_ends() {
        let mut tasks = TaskTable::new();
        let insert = |tasks: &mut TaskTable| tasks.insert(Box::pin(async {}), Function::of::<u8>());
        let (a, b) = (insert(&mut tasks), insert(&mut tasks));
        tasks.remove(a);
        tasks.remove(a);
        assert!(tasks.get(a).is_none() && tasks.at(a.0.index).is_none());
        let c = insert(&mut tasks);
        assert_eq!((c.0.index, tasks.len()), (a.0.index, 2));
        assert!(tasks.get(a).is_none() && tasks.get(c).is_some() && c != a);
        assert_eq!(tasks.iter().map(|(id, _)| id).collect::<Vec<_>>(), [c, b]);
        assert!(tasks.get(TaskId::NONE).is_none());
    }
}
