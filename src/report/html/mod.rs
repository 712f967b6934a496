//! Reports as one HTML page: it needs no other file and no network, and it is safe to open.
//!
//! Text of the page is written here, by `maud`, which escapes it. Long tables are data for the page's script, which writes them as
//! text too. So a name in a capture never becomes HTML, and a policy in the page's head forbids scripts other than its own.

mod list;
mod lists;
mod sections;
mod tables;

use std::{
    borrow::Cow,
    collections::{BTreeMap, BTreeSet},
    io::{self, Write},
};

use maud::{DOCTYPE, Markup, PreEscaped, html};
use serde::Serialize;
use sha2::{Digest, Sha256};

use super::{
    View,
    chart::Picture,
    clean, json,
    set::{Set, Totals, names},
    units::{bytes, several, utc},
};

/// The columns of a page's tables but that of flows, whose columns are figures: the table, the label, and what it means.
pub fn columns() -> Vec<(&'static str, [Cow<'static, str>; 2])> {
    tables::columns()
}

/// uPlot 1.6.32, unchanged from npm.
const PLOT_SCRIPT: &str = include_str!("vendor/uplot.min.js");
const PLOT_STYLE: &str = include_str!("vendor/uplot.min.css");
const SCRIPT: &str = include_str!("page.js");
const STYLE: &str = include_str!("page.css");

/// How a page was made.
#[derive(Clone, Debug, Default)]
pub struct Made {
    /// The command that made it.
    pub command: String,
    /// When, in nanoseconds since 1970-01-01 UTC.
    pub at_ns: Option<i64>,
    /// The files that were read.
    pub files: Vec<MadeOf>,
}

impl Made {
    /// A page of captures' parts. Before several parts, there is a table of them.
    ///
    /// # Errors
    /// What `out` fails with.
    pub fn page(&self, articles: &[Article], out: &mut dyn Write) -> io::Result<()> {
        let name = |totals: &Totals| clean(&totals.files.join(", ")).into_owned();
        let title = match articles {
            [one] => name(&one.totals),
            all => several(all.len() as u64, "capture"),
        };
        write!(out, "{}", head(&title).into_string().trim_end_matches("</html>"))?;
        write!(out, "<body><a class=\"skip\" href=\"#main\">Skip to the report</a><main id=\"main\">")?;
        let mut short = Vec::new();
        if articles.len() != 1 {
            let set = Set::of_summaries(articles.iter().map(|one| one.totals.clone()).collect());
            short = names(&set.summaries);
            write!(out, "{}", sections::overview(&set, &short).into_string())?;
        }
        for (at, article) in articles.iter().enumerate() {
            let name = match short.get(at) {
                Some(short) => clean(short).into_owned(),
                None => name(&article.totals),
            };
            let (open, close) = ("<article class=\"capture\" id=\"c", "</article>");
            write!(out, "{open}{at}\"><h1>{}</h1>", html!((name)).into_string())?;
            write!(out, "{}", article.html.0)?;
            write!(out, "<script type=\"application/json\">{}</script>{close}", article.island)?;
        }
        write!(out, "{}</main>", self.colophon().into_string())?;
        write!(out, "<script>{PLOT_SCRIPT}</script><script>{SCRIPT}</script></body></html>")
    }

    fn colophon(&self) -> Markup {
        html! {
            footer { section aria-labelledby="made" {
                h2 #made { "How this page was made" }
                dl.facts {
                    dt { "Program" } dd { "rdmawire " (env!("CARGO_PKG_VERSION")) }
                    dt { "Command" } dd { code { (clean(&self.command)) } }
                    @if let Some(at) = self.at_ns { dt { "Time" } dd { (utc(at)) } }
                }
                div.scroll tabindex="0" role="region" aria-label="Files" { table {
                    caption { "Files that were read" }
                    thead { tr { th scope="col" { "file" } th.n scope="col" { "size" } th scope="col" { "SHA-256" } } }
                    tbody { @for file in &self.files { tr {
                        th scope="row" { (clean(&file.name)) }
                        @match &file.known {
                            Some((size, hash)) => { td.n { (bytes(*size)) } td { code { (hash) } } }
                            None => { td {} td { "a stream: not known" } }
                        }
                    } } }
                } }
                p.quiet { "Times are UTC. Frames count from 1. The pictures are drawn by uPlot (MIT licence). The page loads nothing from anywhere." }
            } }
        }
    }
}

/// A file that a page was made of.
#[derive(Clone, Debug, Default)]
pub struct MadeOf {
    /// Its name.
    pub name: String,
    /// Its size in bytes and its SHA-256 in hexadecimal digits; `None` for a stream, which cannot be read twice.
    pub known: Option<(u64, String)>,
}

/// Frames as lines, by their numbers.
pub type Lines = BTreeMap<u64, String>;

/// A capture's part of a page.
#[derive(Clone, Debug)]
pub struct Article {
    /// Its row in the table of captures.
    totals: Totals,
    html: Markup,
    /// The data of its tables and pictures: JSON that cannot end its element.
    island: String,
}

impl Article {
    /// Rows of all tables of flows of one page: they take about 200 bytes each.
    pub const ROWS: usize = 20_000;

    /// The frames that a page shows as lines where they are known: those of findings, and of the first episodes. By their numbers, which come
    /// in no order.
    pub fn frames(report: &View<'_>) -> BTreeSet<u64> {
        const MOST_EPISODES: usize = 500;
        let found = report.head.findings.iter().flat_map(|finding| finding.frames.iter().copied());
        let episodes = report.episodes.iter().take(MOST_EPISODES);
        let of_episodes = episodes.flat_map(|one| {
            [one.original_frame, one.nak_frame, Some(one.first_retransmit_frame)].into_iter().flatten()
        });
        found.chain(of_episodes).collect()
    }

    /// The part of a capture, with its pictures, and the lines of its [frames](Self::frames). Its tables of flows and connections have so many
    /// rows at most.
    ///
    /// # Errors
    /// What serialization fails with.
    pub fn of(
        report: &View<'_>,
        mut pictures: Vec<Picture>,
        lines: Lines,
        rows: usize,
    ) -> io::Result<Article> {
        for picture in &mut pictures {
            picture.title = clean(&picture.title).into_owned();
            let series = picture.charts.iter_mut().flat_map(|chart| &mut chart.series);
            series.for_each(|series| series.name = clean(&series.name).into_owned());
        }
        let tables = tables::tables(report, pictures, lines, rows);
        let mut island = Island(Vec::new());
        json::write(&mut island, &tables)?;
        let island = String::from_utf8_lossy(&island.0).into_owned();
        Ok(Article { totals: Totals::of(report), html: sections::article(report, &tables), island })
    }
}

/// As in RFC 4648.
fn base64(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let quads = bytes.chunks(3).flat_map(|chunk| {
        let word = (0..3).fold(0, |word, at| word << 8 | chunk.get(at).map_or(0, |&byte| usize::from(byte)));
        (0..4).map(move |at| if at <= chunk.len() { DIGITS[word >> (18 - 6 * at) & 63] as char } else { '=' })
    });
    quads.collect()
}

/// The page's head. Only scripts and styles with these hashes may be used, and nothing may be loaded.
fn head(title: &str) -> Markup {
    let hash = |text: &str| format!("'sha256-{}'", base64(&Sha256::digest(text)));
    let policy = format!(
        "default-src 'none'; script-src {} {}; style-src {} {}; base-uri 'none'; form-action 'none'",
        hash(PLOT_SCRIPT),
        hash(SCRIPT),
        hash(PLOT_STYLE),
        hash(STYLE)
    );
    html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta http-equiv="Content-Security-Policy" content=(policy);
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta name="color-scheme" content="light dark";
                meta name="generator" content=(concat!("rdmawire ", env!("CARGO_PKG_VERSION")));
                title { (title) " – rdmawire" }
                style { (PreEscaped(PLOT_STYLE)) }
                style { (PreEscaped(STYLE)) }
            }
        }
    }
}

/// Whether bytes are the beginning of a page that this program wrote.
pub fn is_page(first: &[u8]) -> bool {
    first.starts_with(b"<!DOCTYPE html>")
        && crate::report::has(first, "<meta name=\"generator\" content=\"rdmawire ")
}

/// JSON inside a script element. In JSON, `<` stands in strings only: as an escape it can neither end the element nor begin a comment.
struct Island(Vec<u8>);

impl Write for Island {
    fn write(&mut self, text: &[u8]) -> io::Result<usize> {
        for part in text.split_inclusive(|&byte| byte == b'<') {
            match part {
                [start @ .., b'<'] => {
                    self.0.extend_from_slice(start);
                    self.0.extend_from_slice(br"\u003c");
                }
                all => self.0.extend_from_slice(all),
            }
        }
        Ok(text.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// A table that the page's script shows, sorts and filters.
#[derive(Debug, Serialize)]
struct Table {
    columns: Vec<Head>,
    rows: Vec<Vec<Cell>>,
    /// Rows that the page does not have.
    left_out: u64,
    /// Of flows: so many rows are in trouble, and come first.
    #[serde(skip_serializing_if = "Option::is_none")]
    in_trouble: Option<u64>,
}
#[derive(Clone, Debug, Serialize)]
struct Head {
    label: Cow<'static, str>,
    /// What its cells are: `text`, `count`, `bytes`, `ns`, `time`, `bps` or `bounds`.
    unit: &'static str,
    /// What the column means.
    about: Cow<'static, str>,
}

/// A cell: text, a number, a number to sort by with its text, or nothing.
#[derive(Clone, Debug, Serialize)]
#[serde(untagged)]
enum Cell {
    Text(Cow<'static, str>),
    Number(u64),
    /// What is rounded only when it is shown.
    Decimal(f64),
    Ranked(u64, String),
    None,
}
