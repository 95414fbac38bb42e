//! Line plots as SVG, one panel under the other, readable on light and on
//! dark pages.

use std::error::Error;
use std::fs;
use std::ops::Range;
use std::path::Path;

use plotters::prelude::*;

/// What is shown over one axis of time.
pub(crate) struct Panel<'a> {
    /// What is measured, with its unit.
    pub(crate) title: &'a str,
    pub(crate) lines: Vec<Line<'a>>,
}

/// Points in the order of their x.
pub(crate) struct Line<'a> {
    pub(crate) name: &'a str,
    pub(crate) points: Vec<(f64, f64)>,
}

pub(crate) const WIDTH: u32 = 800;
const PANEL_HEIGHT: u32 = 230;
/// What is black on white, and white on black.
pub(crate) const INK: RGBColor = RGBColor(0x1f, 0x23, 0x28);
pub(crate) const GRID: RGBColor = RGBColor(0x80, 0x80, 0x80);
/// Told apart on both grounds, and by those who see fewer colours.
pub(crate) const COLOURS: [RGBColor; 4] = [
    RGBColor(0x1f, 0x7f, 0xcf),
    RGBColor(0xd5, 0x5e, 0x00),
    RGBColor(0x00, 0x9e, 0x73),
    RGBColor(0xc0, 0x60, 0xa0),
];
/// Rules win over the attributes that the plot is made of.
const STYLE: &str = "<style>text{font-family:system-ui,sans-serif}\
    @media (prefers-color-scheme:dark){\
    [fill=\"#1F2328\"]{fill:#e6edf3}[stroke=\"#1F2328\"]{stroke:#e6edf3}}\
    </style>";

/// Writes the panels, which share what `x` names.
pub(crate) fn write(
    path: &Path,
    x: &str,
    panels: &[Panel<'_>],
) -> Result<(), Box<dyn Error>> {
    let count = u32::try_from(panels.len())?;
    save(path, (WIDTH, PANEL_HEIGHT * count), |area| {
        let places = area.split_evenly((panels.len(), 1));
        for (panel, place) in panels.iter().zip(places) {
            draw(panel, x, &place)?;
        }
        Ok(())
    })
}

/// Writes what `draw` puts on an area of this size.
pub(crate) fn save(
    path: &Path,
    size: (u32, u32),
    draw: impl FnOnce(&Place<'_>) -> Drawn,
) -> Result<(), Box<dyn Error>> {
    let mut svg = String::new();
    let area = SVGBackend::with_string(&mut svg, size).into_drawing_area();
    draw(&area).map_err(|error| error.to_string())?;
    area.present().map_err(|error| error.to_string())?;
    drop(area);
    // Behind the opening tag.
    let (head, rest) = svg.split_once(">\n").ok_or("an SVG has a tag")?;
    fs::write(path, format!("{head}>\n{STYLE}\n{rest}"))?;
    Ok(())
}

pub(crate) type Place<'a> = DrawingArea<SVGBackend<'a>, plotters::coord::Shift>;
type BackendError = <SVGBackend<'static> as DrawingBackend>::ErrorType;
pub(crate) type Drawn = Result<(), DrawingAreaErrorKind<BackendError>>;

fn draw(panel: &Panel<'_>, x: &str, place: &Place<'_>) -> Drawn {
    let text = |size: i32| ("sans-serif", size).into_font().color(&INK);
    let (across, up) = bounds(panel);
    let mut chart = ChartBuilder::on(place)
        .caption(panel.title, text(16))
        .margin(8)
        .margin_right(24)
        .x_label_area_size(34)
        .y_label_area_size(60)
        .build_cartesian_2d(across, up)?;
    chart
        .configure_mesh()
        .x_desc(x)
        .axis_style(INK)
        .x_label_formatter(&|x| format!("{x:.0}"))
        .y_label_formatter(&|y| format!("{y:.0}"))
        .label_style(text(12))
        .axis_desc_style(text(12))
        .bold_line_style(GRID.mix(0.35))
        .light_line_style(GRID.mix(0.0))
        .draw()?;
    for (line, colour) in panel.lines.iter().zip(COLOURS.iter().cycle()) {
        let points = line.points.iter().copied();
        let style = colour.stroke_width(2);
        chart
            .draw_series(LineSeries::new(points, style))?
            .label(line.name)
            .legend(move |(x, y)| {
                PathElement::new([(x, y), (x + 16, y)], style)
            });
    }
    chart
        .configure_series_labels()
        .position(SeriesLabelPosition::UpperLeft)
        .label_font(text(12))
        .draw()
}

/// From 0 upwards, with room for the names of the lines.
fn bounds(panel: &Panel<'_>) -> (Range<f64>, Range<f64>) {
    let points = || panel.lines.iter().flat_map(|line| &line.points);
    let right = points().map(|point| point.0).fold(0.0, f64::max);
    let top = points().map(|point| point.1).fold(0.0, f64::max);
    (0.0..right.max(1.0), 0.0..(top * 1.5).max(1.0))
}
