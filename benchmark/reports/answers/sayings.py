"""What is said of a decided contrast, by the unit of its difference."""

from benchmark.metrics.inference import MINIMUM_EFFECT, Side
from benchmark.reports.answers.contrasts import Unit

Says = tuple[str, str]
"""A word for a table, and a sentence about ours and theirs."""

SAYINGS: dict[Unit, dict[Side | None, Says]] = {
    "ratio": {
        "less": ("faster", "{ours} is faster than {theirs}"),
        "same": ("as fast", f"{{ours}} is as fast as {{theirs}}, within {100 * MINIMUM_EFFECT:g} %"),
        "more": ("slower", "{ours} is slower than {theirs}"),
        None: ("can't tell", "which of {ours} and {theirs} is faster is open"),
    },
    "points": {
        "less": ("worse", "{ours} is worse than {theirs}"),
        "same": ("as good", "{ours} is as good as {theirs}"),
        "more": ("better", "{ours} is better than {theirs}"),
        None: ("can't tell", "which of {ours} and {theirs} is better is open"),
    },
    "exponent": {
        "less": ("slower than linear", "the time of {ours} grows more slowly than the length"),
        "same": ("linear", "the time of {ours} grows in proportion to the length"),
        "more": ("faster than linear", "the time of {ours} grows faster than the length"),
        None: ("can't tell", "how the time of {ours} grows is open"),
    },
    "slope": {
        "less": ("shrinking", "the state of {ours} shrinks over time"),
        "same": ("bounded", "the state of {ours} stays put over time"),
        "more": ("growing", "the state of {ours} still grows"),
        None: ("can't tell", "whether the state of {ours} grows is open"),
    },
    "radians": {
        "less": ("farther", "{ours} ends farther from {theirs} than it began"),
        "same": ("as near", "{ours} ends as near to {theirs} as it began"),
        "more": ("nearer", "{ours} ends nearer to {theirs} than it began"),
        None: ("can't tell", "whether {ours} comes nearer to {theirs} is open"),
    },
    "spread": {
        "less": ("less steady", "{ours} is less steady than {theirs}"),
        "same": ("as steady", "{ours} is as steady as {theirs}"),
        "more": ("steadier", "{ours} is steadier than {theirs}"),
        None: ("can't tell", "which of {ours} and {theirs} is steadier is open"),
    },
}
SAYINGS["mse"] = SAYINGS["points"]

SCALES: dict[Unit, str] = {
    "ratio": "ratio of times [95 % interval]",
    "points": "difference of accuracy [95 % interval]",
    "mse": "difference of the squared error, negative is better [95 % interval]",
    "exponent": "growth of time with length [95 % interval]",
    "slope": "growth of the mean square over time [95 % interval]",
    "radians": "change of the error of the angle, negative is nearer [95 % interval]",
    "spread": "difference of standard deviations, negative is steadier [95 % interval]",
}
"""What the numbers of a sentence are."""
