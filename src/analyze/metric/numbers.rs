//! Numbers for addresses.

use foldhash::fast::RandomState;
use hashbrown::HashMap;

use crate::{analyze::model::Address, heap::heap};

/// Addresses and their numbers, from 0 on, as many as are told apart.
#[derive(Clone, Debug, Default, crate::stored::Stored)]
pub(super) struct Numbers {
    most: usize,
    known: HashMap<Address, u32, RandomState>,
    addresses: Vec<Address>,
}

heap! { Numbers { known, addresses } Address {} }

impl Numbers {
    /// For so many addresses at most.
    pub(super) fn new(most: usize) -> Numbers {
        Numbers { most, ..Numbers::default() }
    }

    /// The number of an address, which it gets now if it has none; `None` where there are too many.
    pub(super) fn of(&mut self, address: Address) -> Option<u32> {
        if let Some(&number) = self.known.get(&address) {
            return Some(number);
        }
        if self.addresses.len() >= self.most {
            return None;
        }
        let number = self.addresses.len() as u32;
        self.addresses.push(address);
        self.known.insert(address, number);
        Some(number)
    }

    /// The address with this number, as text.
    pub(super) fn name(&self, number: u32) -> String {
        self.addresses.get(number as usize).map_or_else(String::new, Address::to_string)
    }

    /// The address with this number.
    pub(super) fn address(&self, number: u32) -> Option<Address> {
        self.addresses.get(number as usize).copied()
    }

    /// How many there are.
    pub(super) fn len(&self) -> usize {
        self.addresses.len()
    }
}
