"""How many values a decision takes, where there are too few."""

import re
from collections.abc import Sequence

from benchmark.metrics.inference import ALPHA
from benchmark.reports import numbers as n
from benchmark.reports.answers.contrasts import Decision
from benchmark.reports.answers.telling import sizes


def too_few(decisions: Sequence[Decision]) -> str | None:
    """What keeps the data from ever deciding; None where nothing does."""
    short = [decision for decision in decisions if decision.p_adjusted is None]
    if not short:
        return None
    values = sizes(short)
    match short[0].contrast.family:
        case "time":
            need = "at least 2 processes on either side are needed (--processes 3)"
        case "norm":
            need = "at least 2 seeds are needed"
        case "score":
            least, for_all = short[0].seeds_needed, short[0].seeds_for_all
            more = f", {for_all} where all {short[0].family_total} comparisons have them" if for_all > least else ""
            need = f"at least {least} seeds are needed{more}"
    return f"{values} can never reach {100 * ALPHA:g} %: {need}"


def crowded(decisions: Sequence[Decision]) -> str | None:
    """What keeps seeds that all point one way from deciding; None where nothing does."""
    found = [
        d
        for d in decisions
        if d.contrast.family == "score" and d.side is None and d.p_adjusted is not None
        if d.comparison.p <= d.comparison.least_p * (1 + 1e-9)
    ]
    if not found:
        return None
    among, need = found[0].family_total, found[0].seeds_for_all
    return (
        f"in {n.counted(len(found), 'comparison')} all of {sizes(found)} point one way, which does not decide among "
        f"{among}: at least {need} seeds are needed"
    )


def more_seeds(decisions: Sequence[Decision], command: str) -> list[str]:
    """Where more values are needed, why and by which command; its seeds are as many as decide."""
    why = [text for text in (too_few(decisions), crowded(decisions)) if text is not None]
    return [f"{text}: run `{with_seeds(command, decisions)}`" for text in why]


def with_seeds(command: str, decisions: Sequence[Decision]) -> str:
    """A command for seeds from 0, for more of them where so many comparisons need more."""
    most = max((decision.seeds_for_all for decision in decisions), default=0)
    return re.sub(r"\b0:(\d+)", lambda found: f"0:{max(int(found[1]), most)}", command)
