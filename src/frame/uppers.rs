//! What the messages of queue pairs are, where a set-up says it.

use std::{collections::HashMap, hash::RandomState};

use super::awaited::{Awaited, End, command};
use crate::{
    dissect::{Address, Dissection},
    opcode::{Opcode, Service},
    upper::{Application, Protocol},
    wire::{Bth, CmRej, CmRep, CmReq, NvmeCmReq, Qpn},
};

/// The protocol of queue pairs, as the connection manager set them up: for messages that do not say what they are, such as responses of NVMe.
#[derive(Debug, Default)]
pub struct Uppers {
    /// Requests, by who asked and the number that the asker gave them.
    requests: HashMap<(Address, u32), Request, RandomState>,
    /// By host and queue pair.
    of: HashMap<End, Known, RandomState>,
    /// Data that commands name.
    awaited: Awaited,
}

/// A request for a connection.
#[derive(Clone, Copy, Debug)]
struct Request {
    qp: u32,
    protocol: Option<Protocol>,
    is_admin: Option<bool>,
}

/// What a queue pair is for.
#[derive(Clone, Copy, Debug)]
struct Known {
    protocol: Protocol,
    opposite: End,
    /// Of NVMe: whether its queue is the admin queue.
    is_admin: Option<bool>,
}

impl Uppers {
    /// Queue pairs beyond this number are not remembered; with so many requests, they are forgotten.
    const MOST_REQUESTS: usize = 1 << 12;
    const MOST: usize = 1 << 16;

    /// The frame, with its message read as its queue pair was set up; and what it says of set-ups is remembered for later ones.
    pub fn know<'a>(&mut self, d: Dissection<'a>) -> Dissection<'a> {
        let (Some(bth), Some(opcode)) = (d.get::<Bth>(), d.opcode()) else { return d };
        if opcode == Opcode::UD_SEND_ONLY && bth.dest_qp() == Qpn(1) {
            return self.learn(&d).map_or(d, |protocol| d.with_upper(protocol));
        }
        if opcode.service() != Service::Rc {
            return d;
        }
        if !opcode.begins_send() {
            let opposite = |end| self.of.get(&end).map(|known| known.opposite);
            return self.awaited.data(&d, opcode.shape(), opposite).map_or(d, |kind| d.with_data(kind));
        }
        let Some([from, to]) = d.addresses() else { return d };
        let known = self.of.get(&(to, bth.dest_qp().0)).copied();
        let protocol = known.map_or_else(|| d.upper(), |known| Some(known.protocol));
        if protocol == Some(Protocol::Nvme)
            && let Some(sqe) = command(&d)
        {
            self.awaited.on_command(sqe, from, known.and_then(|known| known.is_admin));
        }
        known.map_or(d, |known| d.with_upper(known.protocol))
    }

    /// Remembers what a message of the connection manager says. Gives the protocol of what it answers, if that is known.
    fn learn(&mut self, d: &Dissection<'_>) -> Option<Protocol> {
        let [from, to] = d.addresses()?;
        if let Some(req) = d.get::<CmReq>() {
            let protocol = d
                .application_by_service()
                .or(d.application_by_private_data())
                .and_then(Application::protocol);
            if self.requests.len() == Self::MOST_REQUESTS {
                // Nearly all of them were answered long ago.
                self.requests.clear();
            }
            let is_admin = d.get::<NvmeCmReq>().map(|asks| asks.qid().0 == 0);
            let request = Request { qp: req.local_qpn().0, protocol, is_admin };
            self.requests.insert((from, req.local_comm_id().0), request);
            return None;
        }
        if let Some(rej) = d.get::<CmRej>() {
            return self.requests.get(&(to, rej.remote_comm_id().0))?.protocol;
        }
        let rep = d.get::<CmRep>()?;
        let &Request { qp, protocol: asked, is_admin } = self.requests.get(&(to, rep.remote_comm_id().0))?;
        let protocol = asked.or_else(|| d.application_by_private_data()?.protocol());
        let ends = [(to, qp), (from, rep.local_qpn().0)];
        for (end, opposite) in [(ends[0], ends[1]), (ends[1], ends[0])] {
            match protocol {
                Some(protocol) if self.of.len() < Self::MOST => {
                    self.of.insert(end, Known { protocol, opposite, is_admin });
                }
                // The queue pair is another connection's now.
                _ => drop(self.of.remove(&end)),
            }
        }
        protocol
    }
}
