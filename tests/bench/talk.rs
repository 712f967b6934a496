//! Traffic of every operation code, as queue pairs use them.

use std::collections::VecDeque;

use rdmawire::opcode::{Direction, Opcode, Operation, PayloadRule, Position, Service};

use super::{BACK, MESSAGE, Packet, THERE, good};

/// Two queue pairs of some service: a fifth of them of each. One sends messages of all kinds in turns, the other answers.
pub(super) struct Talk {
    qp: u32,
    service: Service,
    psn: u32,
    /// Messages so far.
    messages: u32,
    /// What is left of the one at hand, its answer included.
    due: VecDeque<Packet>,
}

impl Talk {
    pub(super) fn of(qp: u32) -> Talk {
        const SERVICES: [Service; 5] = [Service::Rc, Service::Uc, Service::Rd, Service::Ud, Service::Xrc];
        let service = SERVICES[qp as usize % SERVICES.len()];
        Talk { qp, service, psn: qp.wrapping_mul(77_777), messages: qp, due: VecDeque::new() }
    }

    pub(super) fn next(&mut self, payload: usize) -> Packet {
        loop {
            if let Some(packet) = self.due.pop_front() {
                return packet;
            }
            self.begin(payload);
        }
    }

    /// A message, what answers it, and behind some a notification of congestion.
    fn begin(&mut self, payload: usize) {
        let (service, turn, psn) = (self.service, self.messages as usize, self.psn);
        self.messages = self.messages.wrapping_add(1);
        let first = pick(turn, |code| {
            let begins = matches!(code.position(), Position::First | Position::Only);
            code.service() == service && code.direction() == Direction::Request && begins
        });
        let operation = first.operation();
        let of_message = |turn, position| {
            pick(turn, |code| {
                (code.service(), code.operation(), code.position()) == (service, operation, position)
            })
        };
        let packets = if first.position() == Position::First { MESSAGE } else { 1 };
        for n in 0..packets {
            let opcode = match n {
                0 => first,
                _ if n + 1 < packets => of_message(0, Position::Middle),
                _ => of_message(turn / 3, Position::Last),
            };
            let asked = if operation == Some(Operation::ReadRequest) { MESSAGE } else { packets };
            self.push(opcode, THERE, psn.wrapping_add(n), asked, payload);
        }
        self.psn = psn.wrapping_add(self.answer(operation, psn, payload).max(packets));
        if turn % 64 == 0 {
            let opcode = if turn % 128 == 0 { Opcode::CN } else { Opcode::CNP };
            self.push(opcode, BACK, 0, 0, 0);
        }
    }

    /// How many packets the answer has.
    fn answer(&mut self, to: Option<Operation>, psn: u32, payload: usize) -> u32 {
        if !self.service.is_reliable() {
            return 0;
        }
        let (operation, packets) = match to {
            Some(Operation::ReadRequest) => (Operation::ReadResponse, MESSAGE),
            Some(Operation::Flush | Operation::AtomicWrite) => (Operation::ReadResponse, 1),
            Some(Operation::CompareSwap | Operation::FetchAdd) => (Operation::AtomicAcknowledge, 1),
            _ => (Operation::Acknowledge, 1),
        };
        for n in 0..packets {
            let position = match n {
                _ if packets == 1 => Position::Only,
                0 => Position::First,
                _ if n + 1 < packets => Position::Middle,
                _ => Position::Last,
            };
            let opcode = pick(0, |code| {
                (code.service(), code.operation(), code.position())
                    == (self.service, Some(operation), position)
            });
            self.push(opcode, BACK, psn.wrapping_add(n), 0, if packets > 1 { payload } else { 0 });
        }
        packets
    }

    /// `asked`: full packets that a RETH says.
    fn push(&mut self, opcode: Opcode, to: u32, psn: u32, asked: u32, full: usize) {
        let payload = match opcode.payload_rule() {
            PayloadRule::None => 0,
            PayloadRule::Eight => 8,
            _ => full,
        };
        let asked = if opcode.payload_rule() == PayloadRule::Eight { 8 } else { asked * full as u32 };
        let packet = Packet::new(opcode.code, to + self.qp, psn & 0xff_ffff);
        self.due.push_back(Packet { payload, asked, aeth: Some(good(packet.psn)), ..packet });
    }
}

/// One of the operation codes that are wanted.
fn pick(turn: usize, is_wanted: impl Fn(Opcode) -> bool) -> Opcode {
    let wanted = || Opcode::of_transport(rdmawire::wire::Transport::Ib).filter(|&code| is_wanted(code));
    let (n, one) = (wanted().count(), |turn| wanted().nth(turn));
    one(turn % n.max(1)).expect("there is one for every service that asks")
}
