//! Commands that scripts have registered (`core.register_cli`).

use super::call::{Call, Reply};
use crate::channel::{Channel, LONGEST};
use engine::io::script_state::{self, enter};
use engine::state::worker::Worker;
use script::{Answer, Cell, Command, Host, Private, Request, Script, Step, Subject};
use std::borrow::Cow;
use std::io;
use std::rc::Rc;

/// A call of such a command.
pub(super) struct ScriptCommand {
    command: Command,
    /// All words, beginning with those of the command.
    words: Vec<String>,
}

/// The commands of scripts.
pub(super) fn all(call: &Call<'_>) -> Vec<Command> {
    let scripts = call.shared().scripts.get();
    scripts.map_or_else(Vec::new, |scripts| scripts.commands.clone())
}

/// The command of a script that these words call.
pub(super) fn find(call: &Call<'_>) -> Option<Reply> {
    let matching = all(call).into_iter().filter(|it| it.matches(call.words).is_some());
    let command = matching.max_by_key(|command| command.words.len())?;
    Some(Reply::Script(ScriptCommand { command, words: call.words.to_vec() }))
}

/// The session as a script sees it: it keeps values, and has no transaction.
#[derive(Default)]
struct CommandHost(Private);

impl Host for CommandHost {
    fn private(&mut self) -> Option<&mut Private> {
        Some(&mut self.0)
    }
}

impl ScriptCommand {
    /// Runs the script to its end; its output is part of the answer.
    pub(super) async fn run(
        self,
        worker: &Rc<Worker>,
        channel: &mut Channel,
        patience: Option<u32>,
    ) -> io::Result<()> {
        let Some(scripts) = worker.shared.scripts.get().cloned() else { return Ok(()) };
        let cell = scripts.cell(self.command.per_thread, worker.thread.index);
        let Some(cell) = cell else { return Ok(()) };
        let mut host = CommandHost::default();
        let args: Vec<Cow<'_, [u8]>> = self.words.iter().map(|it| it.as_bytes().into()).collect();
        let (mut step, mut script) = enter(worker, cell).await.start(
            script::Call::Command(self.command.words),
            Subject::AppletTcp,
            &args,
            scripts.timeouts.task,
            &mut host,
        );
        while let (Step::Waits(request), Some(script)) = (&step, &mut script) {
            let answer = meet(worker, channel, patience, request.clone()).await?;
            step = resume(worker, cell, (script, answer), &mut host).await;
        }
        if let Step::Failed(fault) = step {
            let number = if self.command.per_thread { worker.thread.index as u32 + 1 } else { 0 };
            let name = self.command.words.replace(' ', ".");
            script::alert(&format!("Lua cli '<lua.cli.{name}>': {}", fault.text(number)));
        }
        Ok(())
    }
}

async fn resume(
    worker: &Worker,
    cell: &Cell,
    (script, answer): (&mut Script, Answer),
    host: &mut CommandHost,
) -> Step {
    enter(worker, cell).await.resume(script, answer, host)
}

/// Carries out the operation that the script waits for.
async fn meet(
    worker: &Worker,
    channel: &mut Channel,
    patience: Option<u32>,
    request: Request,
) -> io::Result<Answer> {
    Ok(match request {
        Request::Send(bytes) => {
            channel.output.extend_from_slice(&bytes);
            channel.flush(patience).await?;
            Answer::Number(bytes.len() as i64)
        }
        Request::Receive(size) => {
            let size = size.unwrap_or(LONGEST);
            while channel.input.len() < size && channel.read(patience).await? {}
            take(channel, size)
        }
        Request::Line => {
            let end = |input: &[u8]| input.iter().position(|byte| *byte == b'\n');
            while end(&channel.input).is_none()
                && channel.input.len() < LONGEST
                && channel.read(patience).await?
            {}
            let size = end(&channel.input).map_or(channel.input.len(), |end| end + 1);
            take(channel, size)
        }
        request => script_state::meet(worker, request).await,
    })
}

/// The first bytes that the client has sent behind the command.
fn take(channel: &mut Channel, size: usize) -> Answer {
    let rest = channel.input.split_off(channel.input.len().min(size));
    Answer::Bytes(std::mem::replace(&mut channel.input, rest))
}
