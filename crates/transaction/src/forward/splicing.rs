//! Whether the payload of a transaction goes through pipes.

use engine::state::session::transaction::Transaction;
use settings::splice::SpliceOptions;
use transport::splice::Splicing;

/// Whether each direction is spliced: to the server, to the client.
pub(crate) fn of(tx: &Transaction) -> [Splicing; 2] {
    if tx.worker.shared.settings.splice.pipes == 0 {
        return [Splicing::Never; 2];
    }
    let (front, back) = (tx.client.proxy.settings.splice, tx.side().settings.splice);
    let either = |wish: fn(SpliceOptions) -> bool| wish(front) || wish(back);
    let auto = either(|it| it.auto);
    let decide = |always| match (always, auto) {
        (true, _) => Splicing::Always,
        (false, true) => Splicing::Bulk,
        (false, false) => Splicing::Never,
    };
    [decide(either(|it| it.request)), decide(either(|it| it.response))]
}
