//! Drawing of a scene with `plotters`, as SVG and as text.

use plotters::{
    coord::Shift,
    prelude::*,
    style::text_anchor::{HPos, Pos, VPos},
};

use super::{Layer, Point, Scene, Shape, braille::Braille};

/// What drawing may run into: a backend that cannot draw.
type Drawn<B> = Result<(), DrawingAreaErrorKind<<B as DrawingBackend>::ErrorType>>;

/// Pixels from one row of the legend to the next.
const LEGEND_ROW: u32 = 18;

/// How large the parts of a picture are.
struct Sizes {
    margin: u32,
    /// Left of the vertical axis: at least, and for each character of its longest name.
    left: u32,
    per_character: f64,
    below: u32,
    point: u32,
    is_text: bool,
}

impl Scene {
    /// The picture as SVG, of this size in pixels. Text in it is escaped.
    ///
    /// # Errors
    /// What could not be drawn.
    pub fn svg(&self, width: u32, height: u32) -> Result<String, String> {
        let mut svg = String::new();
        let sizes = Sizes { margin: 10, left: 70, per_character: 6.2, below: 44, point: 2, is_text: false };
        {
            let area = SVGBackend::with_string(&mut svg, (width, height)).into_drawing_area();
            area.fill(&WHITE).map_err(|error| error.to_string())?;
            let mut rows = self.legend(width);
            // The picture has half of it at least.
            rows.truncate((height / 2 / LEGEND_ROW) as usize);
            let (above, below) =
                area.split_vertically(height.saturating_sub(LEGEND_ROW * rows.len() as u32 + 8));
            self.draw(&above, &sizes).map_err(|error| error.to_string())?;
            self.draw_legend(&below, &rows).map_err(|error| error.to_string())?;
            area.present().map_err(|error| error.to_string())?;
        }
        // Behind the start of the element: some programs know SVG by its first word.
        let at = svg.find('>').map_or(0, |end| end + 1);
        svg.insert_str(at, super::SVG_MARK);
        Ok(svg)
    }

    /// The picture as text of so many columns and lines: Braille patterns, 2 by 4 dots each, and letters for points. With `colour`, for a
    /// terminal. Hosts by hosts are a table.
    ///
    /// # Errors
    /// What could not be drawn.
    pub fn text(&self, columns: u32, lines: u32, colour: bool) -> Result<String, String> {
        if let Some(table) = self.table() {
            return Ok(format!("{}\n{table}", self.title));
        }
        if let Some(strips) = self.strips(columns, colour) {
            return Ok(format!("{}\n{strips}", self.title));
        }
        let mut text = String::new();
        let sizes = Sizes { margin: 0, left: 24, per_character: 2.0, below: 12, point: 0, is_text: true };
        {
            let area = Braille::new(&mut text, columns, lines, colour).into_drawing_area();
            self.draw(&area, &sizes).map_err(|error| error.to_string())?;
            area.present().map_err(|error| error.to_string())?;
        }
        let mut legend = format!("{}\n", self.title);
        legend.push_str(&text);
        let sign = |layer: &Layer| if self.is_dotted(layer) { '⠿' } else { layer.letter };
        Ok(format!("{legend}{}", self.legend_text(sign, colour)))
    }

    /// What the axes are, and what the layers' signs mean.
    fn legend_text(&self, sign: impl Fn(&Layer) -> char, colour: bool) -> String {
        let entry = |layer: &Layer| format!("{} {}", painted(sign(layer), layer, colour), layer.name);
        let entries: Vec<String> = self.named().map(entry).collect();
        format!("x: {}; y: {}\n{}\n", self.x.label, self.y.label, entries.join(", "))
    }

    /// Times of named rows as a line for each row, where several kinds of times are told by their letters: of each column that which takes most of
    /// it, and of two the upper layer.
    fn strips(&self, columns: u32, colour: bool) -> Option<String> {
        const SHORTEST: usize = 20;
        let cells = self
            .layers
            .iter()
            .map(|layer| match &layer.shape {
                Shape::Cells(cells) => Some((layer, cells)),
                _ => None,
            })
            .collect::<Option<Vec<_>>>()?;
        if cells.len() < 2 || self.y.names.is_empty() || !self.x.names.is_empty() {
            return None;
        }
        let rows = self.y.names.len();
        let head = self.y.names.iter().map(|name| name.chars().count()).max().unwrap_or(0);
        let wide = (columns as usize).saturating_sub(head + 2).max(SHORTEST);
        let ([from, to], _) = self.range();
        let step = (to - from) / wide as f64;
        // The layer of each place, and how much of it that covers.
        let mut places: Vec<Option<(usize, f64)>> = vec![None; rows * wide];
        for (at, (_, cells)) in cells.iter().enumerate() {
            let mut covered = vec![0.0; rows * wide];
            for ([a, b], _) in cells.iter() {
                let row = (((a.1 + b.1) / 2.0).round().max(0.0) as usize).min(rows - 1);
                let column = |x: f64| (((x - from) / step).max(0.0) as usize).min(wide - 1);
                for place in column(a.0)..=column(b.0) {
                    let (left, right) = (from + place as f64 * step, from + (place + 1) as f64 * step);
                    // What is there is seen, however short.
                    covered[row * wide + place] += (b.0.min(right) - a.0.max(left)).max(step * 1e-6);
                }
            }
            for (place, covered) in places.iter_mut().zip(covered).filter(|(_, covered)| *covered > 0.0) {
                if place.is_none_or(|(_, most)| covered >= most * 0.999) {
                    *place = Some((at, covered));
                }
            }
        }
        let mut text = String::new();
        for (row, name) in self.y.names.iter().enumerate().rev() {
            let signs = places[row * wide..][..wide].iter().map(|place| match place {
                Some((at, _)) => painted(cells[*at].0.letter, cells[*at].0, colour),
                None => "·".into(),
            });
            text += &format!("{name:>head$}  {}\n", signs.collect::<String>());
        }
        let (left, right) = (short(from), short(to));
        let between = wide.saturating_sub(left.chars().count());
        text += &format!("{:head$}  {left}{right:>between$}\n", "");
        Some(text + &self.legend_text(|layer| layer.letter, colour))
    }

    /// The layers of the legend.
    fn named(&self) -> impl Iterator<Item = &Layer> {
        self.layers.iter().filter(|layer| !layer.name.is_empty())
    }

    /// In text: whether a layer is of dots. There is one such layer of lines, and cells; all else has letters, which are told apart without colour.
    fn is_dotted(&self, layer: &Layer) -> bool {
        let is_line = |layer: &&Layer| matches!(layer.shape, Shape::Lines(_) | Shape::Path(_));
        let longest = self.layers.iter().filter(is_line).max_by_key(|layer| match &layer.shape {
            Shape::Lines(lines) => lines.len(),
            Shape::Path(points) => points.len(),
            _ => 0,
        });
        matches!(layer.shape, Shape::Cells(_)) || longest.is_some_and(|longest| std::ptr::eq(longest, layer))
    }

    /// Names by names as a table, if there are words for it.
    fn table(&self) -> Option<String> {
        let words = self.layers.iter().find_map(|layer| match &layer.shape {
            Shape::Words(words) if !self.x.names.is_empty() => Some(words),
            _ => None,
        })?;
        let cell = |row: usize, column: usize| {
            let is_here = |at: &Point| at.0.round() == column as f64 && at.1.round() == row as f64;
            let here = words.iter().filter(|(at, _)| is_here(at)).map(|(_, word)| word.as_str());
            here.collect::<Vec<_>>().join(", ")
        };
        let head = std::iter::once(format!("{} \\ {}", self.y.label, self.x.label))
            .chain(self.x.names.iter().cloned());
        let mut rows = vec![head.collect::<Vec<_>>()];
        for (row, name) in self.y.names.iter().enumerate() {
            let cells = (0..self.x.names.len()).map(|column| cell(row, column));
            rows.push(std::iter::once(name.clone()).chain(cells).collect());
        }
        let width = |column: usize| rows.iter().map(|row| row[column].chars().count()).max().unwrap_or(0);
        let widths: Vec<usize> = (0..rows[0].len()).map(width).collect();
        let line = |row: &Vec<String>| {
            let cells = row.iter().zip(&widths).map(|(cell, width)| format!("{cell:width$}"));
            format!("  {}\n", cells.collect::<Vec<_>>().join("  ").trim_end())
        };
        Some(rows.iter().map(line).collect())
    }

    /// The rows of the legend: layers, each with its place from the left.
    fn legend(&self, width: u32) -> Vec<Vec<(i32, &Layer)>> {
        const LEFT: i32 = 70;
        let mut rows: Vec<Vec<(i32, &Layer)>> = Vec::new();
        let mut at = i32::MAX;
        for layer in self.named() {
            let wide = 40 + (layer.name.chars().count() as f64 * 6.6) as i32;
            if at.saturating_add(wide) > width as i32 - 10 {
                rows.push(Vec::new());
                at = LEFT;
            }
            rows.last_mut().into_iter().for_each(|row| row.push((at, layer)));
            at += wide;
        }
        rows
    }

    fn draw_legend<B: DrawingBackend>(
        &self,
        area: &DrawingArea<B, Shift>,
        rows: &[Vec<(i32, &Layer)>],
    ) -> Drawn<B> {
        let font =
            ("sans-serif", 12).into_font().into_text_style(area).pos(Pos::new(HPos::Left, VPos::Center));
        for (row, y) in rows.iter().zip((8..).step_by(LEGEND_ROW as usize)) {
            for (x, layer) in row {
                let (r, g, b) = layer.colour;
                area.draw(&Rectangle::new([(*x, y - 5), (x + 12, y + 5)], RGBColor(r, g, b).filled()))?;
                area.draw(&Text::new(layer.name.clone(), (x + 18, y), font.clone()))?;
            }
        }
        Ok(())
    }

    fn draw<B: DrawingBackend>(&self, area: &DrawingArea<B, Shift>, sizes: &Sizes) -> Drawn<B> {
        let ([x0, x1], [y0, y1]) = self.range();
        let longest = self.y.names.iter().map(|name| name.chars().count()).max().unwrap_or(0);
        let names = (longest as f64 * sizes.per_character) as u32 + if sizes.is_text { 8 } else { 40 };
        let left = if longest == 0 { sizes.left } else { names.min(area.dim_in_pixel().0 / 2) };
        let mut builder = ChartBuilder::on(area);
        builder.margin(sizes.margin).set_label_area_size(LabelAreaPosition::Left, left);
        builder.set_label_area_size(LabelAreaPosition::Bottom, sizes.below);
        if !sizes.is_text {
            builder.caption(&self.title, ("sans-serif", 16));
        }
        let mut chart = builder.build_cartesian_2d(x0..x1, y0..y1)?;
        let named = |names: &[String], value: f64| {
            let is_middle = (value - value.round()).abs() < 0.01 && value > -0.5;
            match names {
                [] => short(value),
                names => names.get(value.round() as usize).filter(|_| is_middle).cloned().unwrap_or_default(),
            }
        };
        let (x_names, y_names) = (|x: &f64| named(&self.x.names, *x), |y: &f64| named(&self.y.names, *y));
        let ticks =
            |names: &[String], usual: usize| if names.is_empty() { usual } else { names.len() * 2 + 1 };
        let mut mesh = chart.configure_mesh();
        mesh.x_label_formatter(&x_names).y_label_formatter(&y_names);
        mesh.x_labels(ticks(&self.x.names, if sizes.is_text { 5 } else { 10 }));
        mesh.y_labels(ticks(&self.y.names, if sizes.is_text { 5 } else { 10 }));
        if sizes.is_text {
            mesh.disable_mesh();
        } else {
            mesh.x_desc(&self.x.label)
                .y_desc(&self.y.label)
                .light_line_style(WHITE)
                .bold_line_style(RGBColor(225, 225, 225));
        }
        mesh.draw()?;
        drop(mesh);
        for layer in &self.layers {
            let (r, g, b) = layer.colour;
            let colour = RGBColor(r, g, b);
            let style = colour.stroke_width(1);
            match &layer.shape {
                Shape::Lines(lines) if sizes.is_text && !self.is_dotted(layer) => {
                    let ends = lines.iter().flatten().map(|at| letter(*at, layer.letter, colour));
                    chart.draw_series(ends)?
                }
                Shape::Lines(lines) => {
                    // A line of no length is not seen in SVG.
                    let dots = lines.iter().filter(|[a, b]| a == b && sizes.point > 0);
                    chart.draw_series(dots.map(|[at, _]| Circle::new(*at, 1, colour.filled())))?;
                    chart.draw_series(lines.iter().map(|ends| PathElement::new(ends.to_vec(), style)))?
                }
                Shape::Path(points) if sizes.is_text && !self.is_dotted(layer) => {
                    let step = (points.len() / 24).max(1);
                    chart.draw_series(
                        points.iter().step_by(step).map(|at| letter(*at, layer.letter, colour)),
                    )?
                }
                Shape::Path(points) => chart.draw_series([PathElement::new(points.clone(), style)])?,
                Shape::Points(points) if sizes.point == 0 => {
                    chart.draw_series(points.iter().map(|at| letter(*at, layer.letter, colour)))?
                }
                Shape::Points(points) => {
                    let size = sizes.point;
                    chart
                        .draw_series(points.iter().map(|point| Circle::new(*point, size, colour.filled())))?
                }
                Shape::Bands(bands) if sizes.is_text => {
                    // Above all else, so that they are not taken for data.
                    let columns = f64::from(area.dim_in_pixel().0) / 2.0;
                    let step = (x1 - x0) / columns;
                    let along = |[from, to]: &[f64; 2]| {
                        let most = ((to - from) / step).clamp(0.0, columns) as usize;
                        let from = *from;
                        (0..=most).map(move |nth| (from + nth as f64 * step, y1))
                    };
                    chart.draw_series(
                        bands.iter().flat_map(along).map(|at| letter(at, layer.letter, colour)),
                    )?
                }
                Shape::Bands(bands) => chart.draw_series(
                    bands.iter().map(|[from, to]| Rectangle::new([(*from, y0), (*to, y1)], colour.filled())),
                )?,
                Shape::Words(words) => {
                    let font = ("sans-serif", 12).into_font().into_text_style(area);
                    let font = font.pos(Pos::new(HPos::Center, VPos::Center));
                    chart.draw_series(
                        words.iter().map(|(at, word)| Text::new(word.clone(), *at, font.clone())),
                    )?
                }
                Shape::Cells(cells) => {
                    // A cell of no width is not seen in SVG.
                    let pixel = (x1 - x0) / f64::from(area.dim_in_pixel().0.max(1));
                    let narrow =
                        cells.iter().filter(|([from, to], _)| to.0 - from.0 < pixel && !sizes.is_text);
                    chart.draw_series(
                        narrow.map(|([from, to], _)| PathElement::new(vec![*from, (from.0, to.1)], style)),
                    )?;
                    chart.draw_series(cells.iter().map(|(corners, shade)| {
                        Rectangle::new(
                            *corners,
                            colour
                                .mix(if self.x.names.is_empty() { 1.0 } else { 0.08 + 0.5 * shade })
                                .filled(),
                        )
                    }))?
                }
            };
        }
        Ok(())
    }

    /// The least and the largest value of each axis, not the same.
    fn range(&self) -> ([f64; 2], [f64; 2]) {
        let (mut x, mut y) = ([f64::MAX, f64::MIN], [f64::MAX, f64::MIN]);
        let widen = |range: &mut [f64; 2], value: f64| {
            *range = [range[0].min(value), range[1].max(value)];
        };
        for layer in &self.layers {
            let mut point = |(a, b): (f64, f64)| {
                widen(&mut x, a);
                widen(&mut y, b);
            };
            match &layer.shape {
                Shape::Lines(lines) => lines.iter().flatten().for_each(|at| point(*at)),
                Shape::Path(points) | Shape::Points(points) => points.iter().for_each(|at| point(*at)),
                Shape::Cells(cells) => {
                    cells.iter().flat_map(|(corners, _)| corners).for_each(|at| point(*at))
                }
                Shape::Words(words) => words.iter().for_each(|(at, _)| point(*at)),
                Shape::Bands(bands) => bands.iter().flatten().for_each(|at| widen(&mut x, *at)),
            }
        }
        for (range, axis) in [(&mut x, &self.x), (&mut y, &self.y)] {
            axis.range.iter().flatten().for_each(|at| widen(range, *at));
        }
        let wide = |[from, to]: [f64; 2], names: &[String]| match names.len() {
            0 if from > to => [0.0, 1.0],
            0 if from == to => [from - 0.5, from + 0.5],
            0 => [from, to + (to - from) * 0.02],
            n => [-0.5, n as f64 - 0.5],
        };
        (wide(x, &self.x.names), wide(y, &self.y.names))
    }
}

/// A sign in the colour of its layer.
fn painted(sign: char, layer: &Layer, colour: bool) -> String {
    let (r, g, b) = layer.colour;
    if colour { format!("\x1b[38;2;{r};{g};{b}m{sign}\x1b[0m") } else { sign.into() }
}

/// A letter at a point, in text.
fn letter<'a>(at: Point, letter: char, colour: RGBColor) -> Text<'a, Point, String> {
    Text::new(letter.to_string(), at, ("sans-serif", 4).into_font().color(&colour))
}

/// A number in few characters.
fn short(value: f64) -> String {
    match value.abs() {
        large if large >= 1e7 => format!("{value:.3e}"),
        large if large >= 100.0 || value == value.round() => format!("{value:.0}"),
        middle if middle >= 1.0 => format!("{value:.1}"),
        _ => format!("{value:.3}"),
    }
}
