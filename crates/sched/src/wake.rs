//! Why a task was woken. Never decides what happens then.

bitflags::bitflags! {
    /// The reasons gathered since the task last ran.
    #[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Hash)]
    pub struct Wake: u8 {
        /// It has just been created.
        const INIT = 1;
        /// Its deadline has passed.
        const TIMER = 1 << 1;
        /// A descriptor that it is interested in became ready.
        const IO = 1 << 2;
        /// The process received a signal.
        const SIGNAL = 1 << 3;
        /// Another task or thread has something for it.
        const MESSAGE = 1 << 4;
        /// A resource that it waited for (a buffer, a slot) was released.
        const RESOURCE = 1 << 5;
        /// Anything else, also a wake-up through a plain [`std::task::Waker`].
        const OTHER = 1 << 6;
    }
}
