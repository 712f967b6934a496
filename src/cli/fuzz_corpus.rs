//! `rdmawire fuzz-corpus`: mutated frames, to test parsers and devices.

use std::{
    collections::HashSet,
    fmt::Write as _,
    fs::{self, File},
    io::{BufWriter, Write as _},
    path::{Path, PathBuf},
};

use anyhow::{Context, bail};
use clap::{Args, ValueEnum};
use serde::Serialize;

use super::{Outcome, input, signals};
use rdmawire::{
    capture::{self, Interface, Record, Sink, Source, Temporary, Time},
    craft::mutate::{Base, Mutant, Mutants},
    dissect::{Dissection, dissect},
    grammar::print::several,
    opcode::Opcode,
    wire::Kind,
};

/// Write frames that are wrong on purpose: fields at their boundaries, headers that contradict the operation code, wrong
/// lengths, packets cut at every header, wrong padding and CRCs. The ICRC is right unless it is the mutated field.
///
/// Each frame is a file, named by its mutation. manifest.json says for each how a correct parser must handle it. The same
/// seed gives the same files.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  rdmawire fuzz-corpus -o corpus
  rdmawire fuzz-corpus --from x.pcap --format aflseed -o seeds")]
pub(super) struct FuzzCorpus {
    /// The directory to write. It must be empty or not exist, without --force.
    #[arg(short, long, value_name = "DIR")]
    output: PathBuf,
    /// Write into a directory that is not empty. Files of the same name are replaced, others stay.
    #[arg(long)]
    force: bool,
    /// Mutate frames of this capture instead of the built-in ones: one frame of each shape.
    #[arg(long, value_name = "FILE")]
    from: Option<PathBuf>,
    /// The seed of everything random.
    #[arg(long, default_value_t = 0)]
    seed: u64,
    /// How many frames.
    #[arg(long, default_value_t = 1000)]
    count: u32,
    /// The form of the files. raw: the frame's bytes; pcap: a capture of one frame; aflseed: different frames of at most
    /// 4 KiB in seeds/, and a dictionary.
    #[arg(long, value_enum, default_value_t)]
    format: Form,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
enum Form {
    /// The frame's bytes.
    #[default]
    Raw,
    /// A capture of one frame.
    Pcap,
    /// For AFL and similar fuzzers.
    Aflseed,
}

/// A frame in the manifest.
#[derive(Serialize)]
struct Entry<'a> {
    file: &'a str,
    base: &'a str,
    mutation: &'a str,
    link_type: u16,
    bytes: usize,
    wire_bytes: u32,
    verdict: String,
    must: String,
}

/// Most frames that are taken from a capture.
const MAX_BASES: usize = 1024;
/// The longest seed: AFL works better with short files.
const LONGEST_SEED: usize = 4096;

impl FuzzCorpus {
    pub(super) fn run(self) -> anyhow::Result<Outcome> {
        let name = self.output.display();
        let target = fs::canonicalize(&self.output).unwrap_or_else(|_| self.output.clone());
        let is_empty = match fs::read_dir(&target) {
            Ok(mut entries) => entries.next().is_none(),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => true,
            Err(error) => return Err(error).context(name.to_string()),
        };
        if !is_empty && !self.force {
            bail!("{name}: is not empty; --force writes into it anyway");
        }
        let (bases, all_read) = match &self.from {
            Some(path) => shapes(path)?,
            None => (Base::all(), true),
        };
        // Written into a new directory first, so an error leaves nothing behind.
        signals::watch();
        let (folder, ()) =
            Temporary::beside(&target, |folder| fs::create_dir(folder)).with_context(|| name.to_string())?;
        let folder = folder.path();
        let done = self.fill(folder, bases).and_then(|()| {
            if !is_empty {
                return move_into(folder, &target);
            }
            // An empty directory is replaced, if the system allows it.
            fs::rename(folder, &target).or_else(|_| {
                fs::remove_dir(&target)?;
                fs::rename(folder, &target)
            })?;
            Ok(())
        });
        done.with_context(|| name.to_string())?;
        Ok(if all_read { Outcome::Done } else { Outcome::Failed })
    }

    fn fill(&self, folder: &Path, bases: Vec<Base>) -> anyhow::Result<()> {
        let mut frames = folder.to_owned();
        if self.format == Form::Aflseed {
            frames.push("seeds");
            fs::create_dir(&frames)?;
            fs::write(folder.join("roce.dict"), dictionary())?;
        }
        let mut manifest = BufWriter::new(File::create(folder.join("manifest.json"))?);
        let format = format!("{:?}", self.format).to_lowercase();
        write!(
            manifest,
            "{{\"schema\":\"rdmawire-fuzz-corpus/1\",\"seed\":{},\"format\":\"{format}\",\"frames\":[",
            self.seed
        )?;
        let (mut written, mut seen) = (0, HashSet::new());
        // Short bases have few different mutants, so there may be fewer seeds than asked for.
        let most = (self.count as usize).saturating_mul(20);
        for mutant in Mutants::new(bases, self.seed).take(most) {
            if written == self.count {
                break;
            }
            let is_whole = mutant.wire_len as usize == mutant.frame.len();
            let fits = match self.format {
                Form::Pcap => true,
                // Only a capture says how much was cut.
                Form::Raw => is_whole,
                Form::Aflseed => {
                    is_whole && mutant.frame.len() <= LONGEST_SEED && seen.insert(mutant.frame.clone())
                }
            };
            if !fits {
                continue;
            }
            let extension = if self.format == Form::Pcap { "pcap" } else { "bin" };
            let file = format!("{written:06}-{}.{extension}", mutant.name());
            self.write(&frames.join(&file), &mutant)?;
            let entry = Entry {
                file: &file,
                base: &mutant.base,
                mutation: &mutant.mutation,
                link_type: mutant.link.0,
                bytes: mutant.frame.len(),
                wire_bytes: mutant.wire_len,
                verdict: mutant.verdict.to_string(),
                must: mutant.verdict.must(),
            };
            manifest.write_all(if written > 0 { b",\n" } else { b"\n" })?;
            serde_json::to_writer(&mut manifest, &entry)?;
            written += 1;
        }
        manifest.write_all(b"\n]}\n")?;
        manifest.flush()?;
        if written < self.count {
            let written = several(written as u64, "frame");
            super::say(format_args!("{written}: there are no more different ones"));
        }
        Ok(())
    }

    fn write(&self, path: &Path, mutant: &Mutant) -> anyhow::Result<()> {
        if self.format != Form::Pcap {
            return Ok(fs::write(path, &mutant.frame)?);
        }
        let interface = Interface::new(mutant.link);
        let mut sink = capture::create(path, capture::Format::Pcap, &[interface], Default::default())?;
        let (link, wire_len, frame) = (mutant.link, mutant.wire_len, &mutant.frame[..]);
        sink.put(&Record { time: Time(0), link, interface: 0, wire_len, frame })?;
        Ok(sink.finish()?)
    }
}

/// One frame of each shape (headers, operation code and notes), and whether all frames could be read.
fn shapes(path: &Path) -> anyhow::Result<(Vec<Base>, bool)> {
    let mut reader = capture::open(path)?;
    let (mut seen, mut bases) = (HashSet::new(), Vec::new());
    let read = input::each(&mut reader, |number, record| {
        let d = dissect(record.link, record.frame, record.wire_len);
        if bases.len() < MAX_BASES && seen.insert(shape(&d)) {
            let what = d.opcode().and_then(Opcode::ident).map_or_else(
                || d.layers().last().map_or("empty", |layer| layer.kind.layer()).to_owned(),
                |ident| ident.to_lowercase().replace('_', "-"),
            );
            bases.push(Base::of(format!("frame-{number}-{what}"), &d));
        }
        Ok(())
    })?;
    read.all()?;
    let all_read = !super::warn_of_damage(reader.info());
    if bases.is_empty() {
        bail!("{}: no frame to mutate", path.display());
    }
    Ok((bases, all_read))
}

type Shape = (u16, Vec<Kind>, Option<u8>, Vec<String>);

fn shape(d: &Dissection<'_>) -> Shape {
    let kinds = d.layers().iter().map(|layer| layer.kind).collect();
    let notes = d.notes().iter().map(|note| note.id().to_string()).collect();
    (d.link().0, kinds, d.opcode().map(|opcode| opcode.code), notes)
}

/// Moves all files of a directory into another, the manifest last.
fn move_into(from: &Path, to: &Path) -> anyhow::Result<()> {
    let mut manifest = None;
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        let there = to.join(entry.file_name());
        if entry.file_type()?.is_dir() {
            fs::create_dir_all(&there)?;
            move_into(&entry.path(), &there)?;
        } else if entry.file_name() == "manifest.json" {
            manifest = Some((entry.path(), there));
        } else {
            fs::rename(entry.path(), &there).with_context(|| there.display().to_string())?;
        }
    }
    if let Some((from, to)) = manifest {
        fs::rename(from, to)?;
    }
    Ok(())
}

/// Byte strings of the frames, for fuzzers with dictionaries.
fn dictionary() -> String {
    let mut text = String::new();
    for (name, bytes) in [
        ("roce_port", 4791u16),
        ("vxlan_port", 4789),
        ("geneve_port", 6081),
        ("roce_ether_type", 0x8915),
        ("ipv4", 0x0800),
        ("ipv6", 0x86dd),
        ("vlan", 0x8100),
        ("mac_control", 0x8808),
        ("pfc", 0x0101),
        ("p_key", 0xffff),
    ] {
        let [a, b] = bytes.to_be_bytes();
        let _ = writeln!(text, "{name}=\"\\x{a:02x}\\x{b:02x}\"");
    }
    for opcode in Opcode::ALL {
        let name = opcode.ident().unwrap_or("opcode").to_lowercase();
        let _ = writeln!(text, "{name}=\"\\x{:02x}\"", opcode.code);
    }
    text
}
