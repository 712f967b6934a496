//! The interfaces of the capture: each taps a link, which has a speed.

/// What is known of them. Every speed is in bit/s; 0 means that it is not known.
#[derive(Clone, Debug, Default, crate::stored::Stored)]
pub(crate) struct Interfaces {
    /// The speed of all links, where the user gives it: it goes before what the capture says.
    given_bps: Option<u64>,
    /// By number.
    all: Vec<Interface>,
    common_bps: Option<u64>,
}

#[derive(Clone, Debug, Default, crate::stored::Stored)]
struct Interface {
    name: String,
    /// The file that it is of, where several are merged.
    file: String,
    speed_bps: Option<u64>,
}

fn known(text: &str) -> Option<&str> {
    Some(text).filter(|text| !text.is_empty())
}

impl Interfaces {
    /// With the speed of all links, where the user gives it.
    pub(super) fn new(given_bps: Option<u64>) -> Interfaces {
        let given_bps = given_bps.filter(|&bps| bps > 0);
        Interfaces { given_bps, all: Vec::new(), common_bps: given_bps }
    }

    /// The capture tells of an interface.
    pub(crate) fn set(&mut self, number: u16, name: String, speed_bps: Option<u64>) {
        let interface = self.entry(number);
        (interface.name, interface.speed_bps) = (name, speed_bps.filter(|&bps| bps > 0));
        self.common_bps = self.given_bps.or_else(|| {
            let first = self.all.first()?.speed_bps;
            first.filter(|_| self.all.iter().all(|other| other.speed_bps == first))
        });
    }

    /// The file that an interface is of.
    pub(crate) fn set_file(&mut self, number: u16, file: &str) {
        self.entry(number).file = file.to_owned();
    }

    fn entry(&mut self, number: u16) -> &mut Interface {
        let at = number as usize;
        if self.all.len() <= at {
            self.all.resize(at + 1, Interface::default());
        }
        &mut self.all[at]
    }

    /// How many the capture told of.
    pub(crate) fn len(&self) -> usize {
        self.all.len()
    }

    /// The name as the capture has it, empty of one without; `None` beyond all that the capture told of.
    pub(crate) fn told_name(&self, number: u16) -> Option<&str> {
        self.all.get(number as usize).map(|interface| &*interface.name)
    }

    /// The name; of one without, that of its file, if it is the only one of several files; else `if3`.
    pub(crate) fn name(&self, number: u16) -> String {
        let told = self.told_name(number).and_then(known).map(str::to_owned);
        told.or_else(|| self.only_of_its_file(number)).unwrap_or_else(|| format!("if{number}"))
    }

    fn only_of_its_file(&self, number: u16) -> Option<String> {
        let file = self.file(number)?;
        let (mut same, mut others) = (0, 0);
        self.all.iter().for_each(|one| *(if one.file == file { &mut same } else { &mut others }) += 1);
        let base = file.rsplit(['/', '\\']).next().unwrap_or(file);
        let stem = base.split('.').next().and_then(known)?;
        (same == 1 && others > 0).then(|| stem.to_owned())
    }

    /// The file that an interface is of, where several were merged.
    pub(crate) fn file(&self, number: u16) -> Option<&str> {
        self.all.get(number as usize).and_then(|interface| known(&interface.file))
    }

    /// The speed of an interface's link.
    pub(crate) fn speed_bps(&self, number: u16) -> Option<u64> {
        self.given_bps.or_else(|| self.all.get(number as usize)?.speed_bps)
    }

    /// The speed of all links, where they have one and the same.
    #[inline(always)]
    pub(crate) fn common_bps(&self) -> Option<u64> {
        self.common_bps
    }
}
