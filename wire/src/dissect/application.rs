//! Whose connection the connection manager sets up.

use super::Dissection;
use crate::{
    upper::Application,
    wire::{CmReq, Kind},
};

impl Dissection<'_> {
    /// Who listens by convention where a request for a connection, by addresses of IP, wants to go.
    pub fn application_by_service(&self) -> Option<Application> {
        let req = self.get::<CmReq>()?;
        Application::of_service(req.service_id()).filter(|_| self.has(Kind::IpCm))
    }

    /// The private data of a message of the connection manager, without RDMA-CM's header.
    pub fn private_data(&self) -> Option<&[u8]> {
        let layers = self.layers();
        let is_private =
            |kind| matches!(kind, Kind::CmPrivate | Kind::NvmeCmReq | Kind::NvmeCmRep | Kind::NvmeCmRej);
        let first = layers.iter().find(|layer| is_private(layer.kind))?;
        let last = layers.iter().rfind(|layer| is_private(layer.kind))?;
        self.frame().get(first.at as usize..(last.at + last.len) as usize)
    }

    /// Whose private data a message of the connection manager has.
    pub fn application_by_private_data(&self) -> Option<Application> {
        Application::of_private_data(self.private_data()?)
    }
}
