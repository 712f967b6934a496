//! Drawing of a scene with `plotters`, as SVG and as text.

use plotters::{
    coord::Shift,
    prelude::*,
    style::text_anchor::{HPos, Pos, VPos},
};

use super::{Scene, Shape, braille::Braille};

/// What drawing may run into: a backend that cannot draw.
type Drawn<B> = Result<(), DrawingAreaErrorKind<<B as DrawingBackend>::ErrorType>>;

/// How large the parts of a picture are.
struct Sizes {
    margin: u32,
    left: u32,
    left_names: u32,
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
        let sizes = Sizes { margin: 10, left: 70, left_names: 230, below: 44, point: 2, is_text: false };
        {
            let area = SVGBackend::with_string(&mut svg, (width, height)).into_drawing_area();
            area.fill(&WHITE).map_err(|error| error.to_string())?;
            self.draw(&area, &sizes).map_err(|error| error.to_string())?;
            area.present().map_err(|error| error.to_string())?;
        }
        // Behind the start of the element: some programs know SVG by its first word.
        let at = svg.find('>').map_or(0, |end| end + 1);
        svg.insert_str(at, super::SVG_MARK);
        Ok(svg)
    }

    /// The picture as text of so many columns and lines: Braille patterns, 2 by 4 dots each. With `colour`, for a terminal.
    ///
    /// # Errors
    /// What could not be drawn.
    pub fn text(&self, columns: u32, lines: u32, colour: bool) -> Result<String, String> {
        let mut text = String::new();
        let sizes = Sizes { margin: 0, left: 24, left_names: 60, below: 12, point: 0, is_text: true };
        {
            let area = Braille::new(&mut text, columns, lines, colour).into_drawing_area();
            self.draw(&area, &sizes).map_err(|error| error.to_string())?;
            area.present().map_err(|error| error.to_string())?;
        }
        let mut legend = format!("{}\n", self.title);
        legend.push_str(&text);
        let entry = |layer: &super::Layer| match colour {
            true => {
                let (r, g, b) = layer.colour;
                format!("\x1b[38;2;{r};{g};{b}m■\x1b[0m {}", layer.name)
            }
            false => layer.name.clone(),
        };
        let entries: Vec<String> = self.layers.iter().map(entry).collect();
        Ok(format!("{legend}x: {}; y: {}; {}\n", self.x.label, self.y.label, entries.join(", ")))
    }

    fn draw<B: DrawingBackend>(&self, area: &DrawingArea<B, Shift>, sizes: &Sizes) -> Drawn<B> {
        let ([x0, x1], [y0, y1]) = self.range();
        let left = if self.y.names.is_empty() { sizes.left } else { sizes.left_names };
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
            let drawn = match &layer.shape {
                Shape::Lines(lines) => {
                    // A line of no length is not seen in SVG.
                    let dots = lines.iter().filter(|[a, b]| a == b && sizes.point > 0);
                    chart.draw_series(dots.map(|[at, _]| Circle::new(*at, 1, colour.filled())))?;
                    chart.draw_series(lines.iter().map(|ends| PathElement::new(ends.to_vec(), style)))?
                }
                Shape::Path(points) => chart.draw_series([PathElement::new(points.clone(), style)])?,
                Shape::Points(points) if sizes.point == 0 => {
                    chart.draw_series(points.iter().map(|point| Pixel::new(*point, colour)))?
                }
                Shape::Points(points) => {
                    let size = sizes.point;
                    chart
                        .draw_series(points.iter().map(|point| Circle::new(*point, size, colour.filled())))?
                }
                Shape::Bands(bands) if sizes.is_text => {
                    let edge = |[from, _]: &[f64; 2]| PathElement::new(vec![(*from, y0), (*from, y1)], style);
                    chart.draw_series(bands.iter().map(edge))?
                }
                Shape::Bands(bands) => chart.draw_series(
                    bands.iter().map(|[from, to]| Rectangle::new([(*from, y0), (*to, y1)], colour.filled())),
                )?,
                Shape::Cells(cells) => chart.draw_series(cells.iter().map(|(corners, shade)| {
                    Rectangle::new(*corners, colour.mix(0.15 + 0.85 * shade).filled())
                }))?,
            };
            drawn
                .label(layer.name.as_str())
                .legend(move |(x, y)| Rectangle::new([(x, y - 4), (x + 10, y + 4)], colour.filled()));
        }
        if !sizes.is_text {
            chart
                .configure_series_labels()
                .position(SeriesLabelPosition::UpperLeft)
                .background_style(WHITE.mix(0.85))
                .border_style(RGBColor(200, 200, 200))
                .label_font(
                    ("sans-serif", 12)
                        .into_font()
                        .into_text_style(area)
                        .pos(Pos::new(HPos::Left, VPos::Center)),
                )
                .draw()?;
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
                Shape::Bands(bands) => bands.iter().flatten().for_each(|at| widen(&mut x, *at)),
            }
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

/// A number in few characters.
fn short(value: f64) -> String {
    match value.abs() {
        large if large >= 1e7 => format!("{value:.3e}"),
        large if large >= 100.0 || value == value.round() => format!("{value:.0}"),
        middle if middle >= 1.0 => format!("{value:.1}"),
        _ => format!("{value:.3}"),
    }
}
