//! What the messages of queue pairs are, where a set-up says it.

use std::{collections::HashMap, hash::RandomState};

use crate::{
    dissect::{Address, Dissection},
    opcode::{Opcode, Service},
    upper::{Application, Protocol},
    wire::{Bth, CmRej, CmRep, CmReq, Qpn},
};

/// The protocol of queue pairs, as the connection manager set them up: for messages that do not say what they are, such as responses of NVMe.
#[derive(Debug, Default)]
pub struct Uppers {
    /// Requests, by who asked and the number that the asker gave them.
    requests: HashMap<(Address, u32), (u32, Option<Protocol>), RandomState>,
    /// By host and queue pair.
    of: HashMap<(Address, u32), Protocol, RandomState>,
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
        if self.of.is_empty() || opcode.service() != Service::Rc || !opcode.begins_send() {
            return d;
        }
        let Some([_, to]) = d.addresses() else { return d };
        self.of.get(&(to, bth.dest_qp().0)).map_or(d, |&protocol| d.with_upper(protocol))
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
            self.requests.insert((from, req.local_comm_id().0), (req.local_qpn().0, protocol));
            return None;
        }
        if let Some(rej) = d.get::<CmRej>() {
            return self.requests.get(&(to, rej.remote_comm_id().0))?.1;
        }
        let rep = d.get::<CmRep>()?;
        let &(qp, asked) = self.requests.get(&(to, rep.remote_comm_id().0))?;
        let protocol = asked.or_else(|| d.application_by_private_data()?.protocol());
        for end in [(to, qp), (from, rep.local_qpn().0)] {
            match protocol {
                Some(protocol) if self.of.len() < Self::MOST => drop(self.of.insert(end, protocol)),
                // The queue pair is another connection's now.
                _ => drop(self.of.remove(&end)),
            }
        }
        protocol
    }
}
