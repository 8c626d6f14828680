//! A self-contained SVG plot of means with error bars, as the paper's figure on query length.

use crate::stats::Estimate;
use becr_basics::escape;
use std::fmt::{self, Write};

/// Panels under one another, one for each measure, with a common legend.
#[derive(Clone, Debug)]
pub struct Plot {
    /// The name of the horizontal axis.
    pub x_label: String,
    /// The categories along it.
    pub categories: Vec<String>,
    /// The panels from top to bottom.
    pub panels: Vec<Panel>,
}

/// One measure.
#[derive(Clone, Debug)]
pub struct Panel {
    /// The name of the vertical axis.
    pub y_label: String,
    /// What is drawn, in the same order in every panel.
    pub series: Vec<Series>,
}

/// One run, or one difference between runs.
#[derive(Clone, Debug)]
pub struct Series {
    /// The name in the legend.
    pub name: String,
    /// One point for each category; `None` leaves a gap.
    pub points: Vec<Option<Estimate>>,
}

const WIDTH: f64 = 720.0;
const LEFT: f64 = 76.0;
const RIGHT: f64 = 20.0;
const TOP: f64 = 14.0;
const PANEL: f64 = 250.0;
const BELOW: f64 = 62.0;
const LEGEND_LINE: f64 = 20.0;
/// Okabe and Ito's colours, which stay apart for colour-blind readers.
const COLOURS: [&str; 7] = [
    "#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#000000",
];

impl fmt::Display for Plot {
    /// Writes the SVG.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<&str> = self
            .panels
            .first()
            .map(|p| p.series.iter().map(|s| s.name.as_str()).collect())
            .unwrap_or_default();
        let legend = Legend::new(&names);
        let height = legend.height() + self.panels.len() as f64 * (TOP + PANEL + BELOW);
        writeln!(
            f,
            r##"<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{height}" viewBox="0 0 {WIDTH} {height}" font-family="Helvetica, Arial, sans-serif" font-size="13" fill="#222">"##
        )?;
        writeln!(f, r##"<rect width="100%" height="100%" fill="#fff"/>"##)?;
        legend.draw(f)?;
        for (number, panel) in self.panels.iter().enumerate() {
            let top = legend.height() + number as f64 * (TOP + PANEL + BELOW) + TOP;
            Frame::new(self, panel, top).draw(f)?;
        }
        writeln!(f, "</svg>")
    }
}

/// The names with their symbols, wrapped into lines.
struct Legend(Vec<(f64, f64, String)>);

impl Legend {
    fn new(names: &[&str]) -> Self {
        let (mut x, mut y) = (LEFT, 22.0);
        let mut places = Vec::new();
        for name in names {
            let name = shorten(name);
            // SVG cannot measure text; 7.6 units a character is wide enough for this font size.
            let width = 34.0 + 7.6 * name.chars().count() as f64;
            if x > LEFT && x + width > WIDTH - RIGHT {
                (x, y) = (LEFT, y + LEGEND_LINE);
            }
            places.push((x, y, name));
            x += width;
        }
        Self(places)
    }

    fn height(&self) -> f64 {
        self.0.last().map_or(0.0, |(_, y, _)| y + 12.0)
    }

    fn draw(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, (x, y, name)) in self.0.iter().enumerate() {
            symbol(f, index, x + 6.0, y - 4.5)?;
            writeln!(
                f,
                r#"<text x="{:.1}" y="{y:.1}">{}</text>"#,
                x + 17.0,
                escape(name)
            )?;
        }
        Ok(())
    }
}

/// One panel placed on the page.
struct Frame<'a> {
    plot: &'a Plot,
    panel: &'a Panel,
    top: f64,
    low: f64,
    high: f64,
    step: f64,
}

impl<'a> Frame<'a> {
    fn new(plot: &'a Plot, panel: &'a Panel, top: f64) -> Self {
        let points = panel
            .series
            .iter()
            .flat_map(|series| series.points.iter().flatten());
        let ends = points.flat_map(|point| {
            let half = point.half_width.unwrap_or(0.0);
            [point.mean - half, point.mean + half]
        });
        // Zero belongs on the axis: it is the floor of a measure and the "no difference" of a difference.
        let ends = ends.filter(|end| end.is_finite());
        let (low, high) = ends.fold((0.0f64, 0.0f64), |(low, high), end| {
            (low.min(end), high.max(end))
        });
        let step = nice_step((high - low).max(1e-6) / 5.0);
        let (low, high) = (
            (low / step).floor() * step,
            ((high / step).ceil() * step).max(step),
        );
        Self {
            plot,
            panel,
            top,
            low,
            high,
            step,
        }
    }

    fn bottom(&self) -> f64 {
        self.top + PANEL
    }

    fn y(&self, value: f64) -> f64 {
        let share = (value.clamp(self.low, self.high) - self.low) / (self.high - self.low);
        self.bottom() - share * PANEL
    }

    /// The middle of a category, moved aside so that the series do not hide one another.
    fn x(&self, category: usize, series: usize) -> f64 {
        let width = (WIDTH - LEFT - RIGHT) / self.plot.categories.len().max(1) as f64;
        let count = self.panel.series.len() as f64;
        let gap = (0.6 * width / count).min(14.0);
        LEFT + (category as f64 + 0.5) * width + (series as f64 - (count - 1.0) / 2.0) * gap
    }

    fn draw(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.axes(f)?;
        self.categories(f)?;
        self.panel
            .series
            .iter()
            .enumerate()
            .try_for_each(|(index, series)| self.series(f, index, series))
    }

    fn axes(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let decimals = usize::try_from((-self.step.log10()).ceil().max(0.0) as i64).unwrap_or(0);
        let ticks = ((self.high - self.low) / self.step).round() as i64;
        for tick in 0..=ticks {
            let value = self.low + tick as f64 * self.step;
            let zero = value.abs() < self.step / 2.0;
            let value = if zero { 0.0 } else { value };
            let colour = if zero { "#444" } else { "#ddd" };
            let (y, right) = (self.y(value), WIDTH - RIGHT);
            writeln!(
                f,
                r#"<line x1="{LEFT}" y1="{y:.1}" x2="{right}" y2="{y:.1}" stroke="{colour}"/>"#
            )?;
            let (x, y) = (LEFT - 8.0, y + 4.5);
            writeln!(
                f,
                r#"<text x="{x}" y="{y:.1}" text-anchor="end">{value:.decimals$}</text>"#
            )?;
        }
        let (x, y) = (20.0, self.top + PANEL / 2.0);
        let label = escape(&self.panel.y_label);
        writeln!(
            f,
            r#"<text transform="translate({x} {y:.1}) rotate(-90)" text-anchor="middle">{label}</text>"#
        )
    }

    fn categories(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let middle = (self.panel.series.len().max(1) - 1) as f64 / 2.0;
        for (index, name) in self.plot.categories.iter().enumerate() {
            let x = (self.x(index, 0) + self.x(index, (middle * 2.0) as usize)) / 2.0;
            let y = self.bottom() + 19.0;
            writeln!(
                f,
                r#"<text x="{x:.1}" y="{y:.1}" text-anchor="middle">{}</text>"#,
                escape(name)
            )?;
            let sizes = self
                .panel
                .series
                .iter()
                .filter_map(|s| s.points.get(index)?.map(|p| p.n));
            let n = sizes.max().unwrap_or(0);
            let y = y + 15.0;
            writeln!(
                f,
                r##"<text x="{x:.1}" y="{y:.1}" text-anchor="middle" font-size="11" fill="#777">n = {n}</text>"##
            )?;
        }
        let (x, y) = ((LEFT + WIDTH - RIGHT) / 2.0, self.bottom() + 54.0);
        writeln!(
            f,
            r#"<text x="{x:.1}" y="{y:.1}" text-anchor="middle">{}</text>"#,
            escape(&self.plot.x_label)
        )
    }

    fn series(&self, f: &mut fmt::Formatter<'_>, index: usize, series: &Series) -> fmt::Result {
        let colour = COLOURS[index % COLOURS.len()];
        let points = series.points.iter().enumerate();
        let points =
            points.filter_map(|(category, point)| Some((self.x(category, index), (*point)?)));
        let points: Vec<(f64, Estimate)> = points.collect();
        let mut line = String::new();
        for (x, point) in &points {
            write!(line, "{x:.1},{:.1} ", self.y(point.mean))?;
        }
        writeln!(
            f,
            r#"<polyline points="{}" fill="none" stroke="{colour}" stroke-opacity="0.35"/>"#,
            line.trim_end()
        )?;
        for (x, point) in &points {
            if let Some(half) = point.half_width {
                let (high, low) = (self.y(point.mean + half), self.y(point.mean - half));
                let (left, right) = (x - 4.0, x + 4.0);
                writeln!(
                    f,
                    r#"<path d="M{left:.1} {high:.1}H{right:.1}M{x:.1} {high:.1}V{low:.1}M{left:.1} {low:.1}H{right:.1}" fill="none" stroke="{colour}" stroke-width="1.6"/>"#
                )?;
            }
            symbol(f, index, *x, self.y(point.mean))?;
        }
        Ok(())
    }
}

/// A mark whose colour and shape both name the series.
fn symbol(f: &mut fmt::Formatter<'_>, index: usize, x: f64, y: f64) -> fmt::Result {
    let colour = COLOURS[index % COLOURS.len()];
    match index % 4 {
        0 => writeln!(
            f,
            r#"<circle cx="{x:.1}" cy="{y:.1}" r="4.5" fill="{colour}"/>"#
        ),
        1 => {
            let (left, top) = (x - 4.0, y - 4.0);
            writeln!(
                f,
                r#"<rect x="{left:.1}" y="{top:.1}" width="8" height="8" fill="{colour}"/>"#
            )
        }
        2 => writeln!(
            f,
            r#"<path d="M{x:.1} {:.1}l5.2 9h-10.4z" fill="{colour}"/>"#,
            y - 5.5
        ),
        _ => writeln!(
            f,
            r#"<path d="M{x:.1} {:.1}l5.5 5.5l-5.5 5.5l-5.5 -5.5z" fill="{colour}"/>"#,
            y - 5.5
        ),
    }
}

/// The next of 1, 2, 5 times a power of ten.
fn nice_step(rough: f64) -> f64 {
    let power = 10f64.powf(rough.log10().floor());
    let factor = [1.0, 2.0, 5.0]
        .into_iter()
        .find(|factor| factor * power >= rough * 0.999);
    factor.unwrap_or(10.0) * power
}

/// A name that fits one line of the legend; of a long path the end says more than the start.
fn shorten(name: &str) -> String {
    const LONGEST: usize = 76;
    match name.chars().count() {
        0..=LONGEST => name.to_owned(),
        length => format!(
            "…{}",
            name.chars().skip(length - LONGEST + 1).collect::<String>()
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn point(mean: f64, half_width: Option<f64>) -> Option<Estimate> {
        Some(Estimate {
            n: 3,
            mean,
            half_width,
        })
    }

    fn plot(names: &[&str], points: &[Option<Estimate>]) -> Plot {
        let series = names.iter().map(|name| Series {
            name: (*name).to_owned(),
            points: points.to_vec(),
        });
        Plot {
            x_label: "words in the query".into(),
            categories: (1..=points.len()).map(|words| words.to_string()).collect(),
            panels: vec![Panel {
                y_label: "nDCG@10".into(),
                series: series.collect(),
            }],
        }
    }

    #[test]
    fn draws_every_point_and_bar() {
        let points = [point(0.4, Some(0.1)), None, point(0.2, None)];
        let svg = plot(&["a", "b<&"], &points).to_string();
        assert_eq!(
            svg.matches("<circle").count(),
            3,
            "two points and the legend"
        );
        assert_eq!(
            svg.matches("stroke-width=\"1.6\"").count(),
            2,
            "one bar for each series"
        );
        assert!(
            svg.contains(">b&lt;&amp;</text>") && svg.contains(">0.5</text>"),
            "{svg}"
        );
        assert!(svg.contains("n = 0"), "the empty length says so");
    }

    #[test]
    fn long_names_keep_their_end() {
        let name = format!("{}/becr.run", "folder/".repeat(20));
        let short = shorten(&name);
        assert_eq!(short.chars().count(), 76);
        assert!(short.starts_with('…') && short.ends_with("/becr.run"));
        assert_eq!(shorten("bm25"), "bm25");
    }

    #[test]
    fn steps_are_round() {
        for (rough, step) in [
            (0.013, 0.02),
            (0.1, 0.1),
            (0.3, 0.5),
            (0.07, 0.1),
            (2.1, 5.0),
            (6.0, 10.0),
        ] {
            assert!((nice_step(rough) - step).abs() < 1e-12, "{rough}");
        }
    }

    proptest! {
        #[test]
        fn any_values_make_a_finite_drawing(
            values in prop::collection::vec(prop::option::of((-1.0..1.0f64, prop::option::of(0.0..20.0f64))), 0..8),
            names in prop::collection::vec("\\PC{0,30}", 0..9),
        ) {
            let points: Vec<_> = values.iter().map(|value| value.and_then(|(mean, half)| point(mean, half))).collect();
            let names: Vec<_> = names.iter().map(String::as_str).collect();
            let svg = plot(&names, &points).to_string();
            prop_assert!(!svg.contains("NaN\"") && !svg.contains("inf\""));
            prop_assert_eq!(svg.matches('<').count(), svg.matches('>').count());
        }
    }
}
