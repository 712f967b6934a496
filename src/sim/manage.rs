//! Connection management: REQ, REP, RTU before a connection, DREQ, DREP after it.

use super::engine::{Sim, Transmission};
use crate::opcode::Opcode;

/// The state of a connection's handshake.
#[derive(Clone, Copy, Debug)]
pub(super) struct Management {
    pub(super) flows: [u32; 2],
    pub(super) closing: bool,
}

/// A connection management message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Manage {
    /// Request for communication.
    Req = 0,
    Rep = 1,
    /// Ready to use.
    Rtu = 2,
    /// Disconnect request.
    Dreq = 3,
    /// Disconnect reply.
    Drep = 4,
}

impl Manage {
    pub(super) fn of(code: u8) -> Manage {
        [Manage::Req, Manage::Rep, Manage::Rtu, Manage::Dreq, Manage::Drep][code.min(4) as usize]
    }
}

/// Connection management.
impl Sim {
    /// Sends a message of the handshake. `end` 0 is the active side.
    pub(super) fn manage(&mut self, connection: u32, end: usize, what: Manage) {
        let Some(management) = self.cm[connection as usize] else { return };
        let flow = management.flows[end];
        let host = self.run.flows[flow as usize].src;
        let psn = &mut self.gsi_psn[host as usize];
        *psn += 1;
        let psn = *psn - 1;
        let t = Transmission {
            psn,
            // What it manages, and which message of the handshake it is.
            message: connection,
            syndrome: what as u8,
            payload: 256,
            ..Transmission::new(flow, Opcode::UD_SEND_ONLY, 0xc000 | (connection & 0x3fff) as u16)
        };
        self.control(host, t);
    }

    /// A message of the handshake arrived.
    pub(super) fn on_manage(&mut self, tx: u32) {
        let t = self.run.transmissions[tx as usize];
        let connection = t.message;
        if self.is_dead(self.run.flows[t.flow as usize].dst) {
            return;
        }
        match Manage::of(t.syndrome) {
            Manage::Req => self.manage(connection, 1, Manage::Rep),
            Manage::Rep => {
                self.manage(connection, 0, Manage::Rtu);
                self.establish(2 * connection);
            }
            Manage::Rtu => self.establish(2 * connection + 1),
            Manage::Dreq => self.manage(connection, 1, Manage::Drep),
            Manage::Drep => {}
        }
    }

    /// Sends DREQ once both ends are done.
    pub(super) fn close(&mut self, connection: u32) {
        let ends = [2 * connection, 2 * connection + 1];
        if ends.iter().all(|&qp| self.qps[qp as usize].is_idle() && self.qps[qp as usize].begun)
            && let Some(management) = &mut self.cm[connection as usize]
            && !management.closing
        {
            management.closing = true;
            self.manage(connection, 0, Manage::Dreq);
        }
    }
}
