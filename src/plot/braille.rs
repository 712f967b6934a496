//! A backend of `plotters` that draws with Braille patterns: 2 by 4 dots in a character.

use std::convert::Infallible;

use plotters::style::text_anchor::{HPos, VPos};
use plotters_backend::{BackendColor, BackendTextStyle, DrawingBackend, DrawingErrorKind};

const WIDE: u32 = 2;
const HIGH: u32 = 4;

/// One character.
#[derive(Clone, Copy, Debug, Default)]
struct Cell {
    dots: u8,
    text: Option<char>,
    colour: Option<(u8, u8, u8)>,
}

/// The canvas. It is written when it is presented.
pub(super) struct Braille<'a> {
    into: &'a mut String,
    columns: u32,
    lines: u32,
    cells: Vec<Cell>,
    is_coloured: bool,
}

impl Braille<'_> {
    pub(super) fn new(into: &mut String, columns: u32, lines: u32, is_coloured: bool) -> Braille<'_> {
        let cells = vec![Cell::default(); columns as usize * lines as usize];
        Braille { into, columns, lines, cells, is_coloured }
    }

    /// The cell of a dot.
    fn at(&mut self, (x, y): (i32, i32)) -> Option<&mut Cell> {
        let (x, y) = (u32::try_from(x).ok()? / WIDE, u32::try_from(y).ok()? / HIGH);
        let is_inside = x < self.columns && y < self.lines;
        is_inside.then(|| self.cells.get_mut((y * self.columns + x) as usize))?
    }
}

impl DrawingBackend for Braille<'_> {
    type ErrorType = Infallible;

    fn get_size(&self) -> (u32, u32) {
        (self.columns * WIDE, self.lines * HIGH)
    }

    fn ensure_prepared(&mut self) -> Result<(), DrawingErrorKind<Infallible>> {
        Ok(())
    }

    fn present(&mut self) -> Result<(), DrawingErrorKind<Infallible>> {
        self.into.clear();
        for row in self.cells.chunks(self.columns.max(1) as usize) {
            let mut line = String::new();
            let mut colour = None;
            for cell in row {
                let wanted = cell.colour.filter(|_| self.is_coloured);
                if wanted != colour {
                    match wanted {
                        Some((r, g, b)) => line.push_str(&format!("\x1b[38;2;{r};{g};{b}m")),
                        None => line.push_str("\x1b[0m"),
                    }
                    colour = wanted;
                }
                let dots = char::from_u32(0x2800 + cell.dots as u32).unwrap_or(' ');
                line.push(cell.text.unwrap_or(if cell.dots == 0 { ' ' } else { dots }));
            }
            if colour.is_some() {
                line.push_str("\x1b[0m");
            }
            self.into.push_str(line.trim_end());
            self.into.push('\n');
        }
        Ok(())
    }

    fn draw_pixel(
        &mut self,
        at: (i32, i32),
        colour: BackendColor,
    ) -> Result<(), DrawingErrorKind<Infallible>> {
        // The dots of a pattern, by column and line (Unicode, Braille Patterns).
        const DOTS: [[u8; 4]; 2] = [[0x01, 0x02, 0x04, 0x40], [0x08, 0x10, 0x20, 0x80]];
        if colour.alpha < 0.2 {
            return Ok(());
        }
        if let Some(cell) = self.at(at) {
            cell.dots |= DOTS[at.0 as usize % 2][at.1 as usize % 4];
            cell.colour = Some(colour.rgb).filter(|rgb| *rgb != (0, 0, 0));
        }
        Ok(())
    }

    fn estimate_text_size<S: BackendTextStyle>(
        &self,
        text: &str,
        _: &S,
    ) -> Result<(u32, u32), DrawingErrorKind<Infallible>> {
        Ok((text.chars().count() as u32 * WIDE, HIGH))
    }

    fn draw_text<S: BackendTextStyle>(
        &mut self,
        text: &str,
        style: &S,
        (x, y): (i32, i32),
    ) -> Result<(), DrawingErrorKind<Infallible>> {
        let width = text.chars().count() as i32 * WIDE as i32;
        let x = match style.anchor().h_pos {
            HPos::Left => x,
            HPos::Right => x - width,
            HPos::Center => x - width / 2,
        };
        let y = match style.anchor().v_pos {
            VPos::Top => y,
            VPos::Center => y - 1,
            VPos::Bottom => y - HIGH as i32,
        };
        for (n, letter) in (0..).zip(text.chars()) {
            if let Some(cell) = self.at((x.max(0) + n * WIDE as i32, y.max(0))) {
                let colour = Some(style.color().rgb).filter(|rgb| *rgb != (0, 0, 0));
                *cell = Cell { text: Some(letter), colour, ..Cell::default() };
            }
        }
        Ok(())
    }
}
