"""What all charts share: colours, dashes and shapes, and the two ways to draw one.

A chart is a Vega-Lite specification as plain data. Colours are those of Okabe and Ito, which colour-blind
readers can tell apart; dashes and shapes say the same again. Text and axes have the colour of the
text around them, so that a chart follows the page's theme and prints black.

Source: M. Okabe and K. Ito, Color Universal Design, 2008.
"""

import json
import textwrap
from dataclasses import dataclass, field
from typing import Any, Literal

from benchmark.spec import LAYERS

Spec = dict[str, Any]

INK = "currentColor"
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", INK)
DASHES = ([1, 0], [6, 3], [2, 2], [8, 3, 2, 3], [12, 4], [1, 4])
SHAPES = ("circle", "square", "triangle-up", "diamond", "cross", "triangle-down")

STILL_WIDTH, HEIGHT, MARGIN = 460, 300, 14
TITLE_CHARACTERS = 34


@dataclass(frozen=True)
class Chart:
    """A titled chart. ``name`` is that of its file, ``notes`` stand below it."""

    name: str
    title: str
    spec: Spec
    notes: list[str] = field(default_factory=list)


def by_layer() -> Spec:
    """The colour channel: every layer has one colour in all charts."""
    names = list(LAYERS)
    colours = [COLOURS[i % (len(COLOURS) - 1)] for i in range(len(names))]
    scale, legend = {"domain": names, "range": colours}, {"symbolOpacity": 1, "columns": 4}
    return {"field": "layer", "type": "nominal", "title": "layer", "scale": scale, "legend": legend}


def finished(spec: Spec) -> Spec:
    """The chart at the width of its place."""
    sized = {"width": "container", "height": HEIGHT, "autosize": {"type": "fit-x", "contains": "padding"}}
    return {"$schema": "https://vega.github.io/schema/vega-lite/v6.json", **sized, **spec}


def from_altair(chart: Any) -> Spec:
    """The specification of an altair chart, without altair's own looks."""
    return finished({name: part for name, part in chart.to_dict().items() if name != "config"})


def wrapped(title: str) -> list[str]:
    """A title in lines short enough for a telephone, where Vega cuts off what does not fit."""
    return textwrap.wrap(title, TITLE_CHARACTERS)


def config() -> Spec:
    """How every chart looks, its own and those of answers: axes in the colour of the text around, legends below."""
    axis = {f"{part}Color": INK for part in ("label", "title", "domain", "tick", "grid")}
    legend = {
        "labelColor": INK,
        "titleColor": INK,
        "orient": "bottom",
        "columns": 2,
        "labelLimit": 330,
        "titleLimit": 330,
    }
    legend |= {"layout": {"bottom": {"direction": "vertical", "anchor": "start", "margin": 8}}}
    legend |= {"symbolBaseFillColor": INK, "symbolBaseStrokeColor": INK}
    plain = {"titleFontWeight": "normal"}
    return {
        "background": "transparent",
        "axis": axis | plain | {"gridOpacity": 0.15, "titlePadding": 8, "labelSeparation": 4},
        "header": {"labelColor": INK, "titleColor": INK},
        "legend": legend | plain | {"symbolStrokeWidth": 2},
        "view": {"stroke": None},
        "font": "system-ui, sans-serif",
    }


def drawn(spec: Spec, form: Literal["svg", "pdf"]) -> bytes:
    """The chart as a vector figure, black on nothing.

    Raises:
        ValueError: where Vega cannot draw it.
    """
    import vl_convert

    still = spec | {"config": config() | {"font": "sans-serif"} | spec.get("config", {})}
    if still.get("width") == "container":
        still |= {"width": STILL_WIDTH, "autosize": {"type": "pad"}}
    still = json.loads(json.dumps(still).replace(INK, "#000000"))
    if form == "pdf":
        return bytes(vl_convert.vegalite_to_pdf(still))
    return str(vl_convert.vegalite_to_svg(still)).encode()
