//! The reasons for which a task was woken.

bitflags::bitflags! {
    /// Reasons gathered since the task last ran.
    #[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Hash)]
    pub struct Wake: u8 {
        /// The task has just been spawned.
        const INIT = 1;
        /// The task's deadline has passed.
        const TIMER = 1 << 1;
        /// A descriptor that the task is interested in became ready.
        const IO = 1 << 2;
        /// The process received a signal.
        const SIGNAL = 1 << 3;
        /// Another task or thread has sent a message to the task.
        const MESSAGE = 1 << 4;
        /// A resource that it waited for (a buffer, a slot) was released.
        const RESOURCE = 1 << 5;
        /// Anything else, also a wake-up through a plain [`std::task::Waker`].
        const OTHER = 1 << 6;
    }
}
