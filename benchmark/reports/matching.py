"""What was matched and how closely, in words."""

from collections.abc import Sequence

from benchmark.reports import numbers as n
from benchmark.sweeps.match import Match

NAMES = {
    "state": "real state size",
    "params": "parameters of the layer",
    "flops": "FLOPs of a call",
    "time": "milliseconds of a call",
}


def match_lines(matches: Sequence[Match]) -> list[str]:
    """One line a layer, framework and size."""
    return list(
        dict.fromkeys(
            f"matched on {NAMES[m.what]}: {m.layer} in {m.framework} takes d_state {m.d_state}, "
            f"{n.significant(m.value)} against {n.significant(m.target)} ({100 * m.off_by:+.1f} %)"
            for m in matches
        )
    )
