"""What papers print, as tables of their own: never among measured rows, every caveat a numbered note."""

from collections.abc import Callable, Sequence

from benchmark.reports import numbers as n
from benchmark.reports.tables import Table
from benchmark.spec.errors import unknown
from benchmark.store.published import Score, Speed, ablation_scores, published_scores, published_speeds

SPLITS = {"test": "test", "validation": "validation", "8khz": "8 kHz, zero-shot"}
SPREADS = {"sd": "sd", "se": "se", "unstated": "kind not stated"}
PRINTED = "As printed by the sources; nothing here was measured by rotbench."


class Notes:
    """Caveats, numbered in the order in which they first appear."""

    def __init__(self) -> None:
        """None yet."""
        self.texts: list[str] = []

    def marks(self, caveats: Sequence[str]) -> str:
        """The numbers of some caveats, such as ``[1, 3]``; nothing where there are none."""
        self.texts += [text for text in caveats if text not in self.texts]
        numbers = sorted(self.texts.index(text) + 1 for text in caveats)
        return f"[{', '.join(map(str, numbers))}]" if numbers else ""

    def lines(self) -> list[str]:
        """The notes below a table."""
        return [f"[{i}] {text[0].upper()}{text[1:]}." for i, text in enumerate(self.texts, 1)]


def published_table(task: str) -> Table:
    """Every published accuracy on one task, the best first; figures at another rate than trained on come last.

    Raises:
        UserError: naming the known ones, for a task that no paper of the tables has.
    """
    every = published_scores()
    found = [score for score in every if score.task == task]
    if not found:
        raise unknown("published task", task, dict.fromkeys(score.task for score in every))
    notes = Notes()
    names = ["model", "accuracy %", "spread", "scored on", "parameters", "seeds", "source", "quoted from", "notes"]
    rows = [
        [
            score.model,
            _accuracy(score),
            _spread(score),
            SPLITS[score.split],
            n.scaled(score.param_count),
            n.count(score.seeds),
            score.source,
            score.quoted_from,
            notes.marks(score.caveats),
        ]
        for score in sorted(found, key=_rank)
    ]
    numeric = frozenset({"accuracy %", "parameters", "seeds"})
    optional = ("quoted from", "seeds", "parameters", "source")
    return Table(f"Published accuracy on {task}", names, rows, numeric, [PRINTED, *notes.lines()], optional)


def ablation_table() -> Table:
    """From a dense linear RNN to the LRU, step by step, in percent."""
    scores = ablation_scores()
    title = "Published ablation of the LRU, accuracy in percent"
    return _crossed(title, scores, lambda score: _accuracy(score))


def speed_table() -> Table:
    """Training speeds that the LRU paper prints, in steps a second."""
    speeds = published_speeds()
    device = ", ".join(dict.fromkeys(speed.device for speed in speeds))
    title = f"Published training speed in steps a second, one {device}"
    return _crossed(title, speeds, lambda speed: str(speed.steps_per_s))


def _crossed(title: str, figures: Sequence[Score] | Sequence[Speed], text: Callable[..., str]) -> Table:
    """One line a model, one column a task."""
    notes = Notes()
    cells = {(f.model, f.task): f"{text(f)} {notes.marks(f.caveats)}".strip() for f in figures}
    models, tasks = dict.fromkeys(f.model for f in figures), dict.fromkeys(f.task for f in figures)
    rows = [[model, *(cells.get((model, task), n.MISSING) for task in tasks)] for model in models]
    sources = "; ".join(dict.fromkeys(f.source for f in figures))
    return Table(title, ["model", *tasks], rows, frozenset(tasks), [PRINTED, f"Source: {sources}.", *notes.lines()])


def _rank(score: Score) -> tuple[bool, int, float]:
    return score.split == "8khz", ("ok", "chance", "missing").index(score.status), -float(score.score_percent or 0)


def _accuracy(score: Score) -> str:
    match score.status:
        case "ok":
            return str(score.score_percent)
        case "chance":
            return "at chance"
        case "missing":
            return n.MISSING


def _spread(score: Score) -> str:
    return n.MISSING if score.spread_percent is None else f"{score.spread_percent} ({SPREADS[score.spread_kind]})"
