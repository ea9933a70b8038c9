"""Q5: whether RotRNN's normaliser and its learned P help, and Q11: whether a layer helps before attention."""

from collections import Counter
from collections.abc import Sequence

from benchmark.reports.answers.contrasts import Contrast, Decision
from benchmark.reports.answers.differences import decision_table
from benchmark.reports.answers.layers import Results, attention_of
from benchmark.reports.answers.making import answer, endings, not_measured
from benchmark.reports.answers.record import Answer, Case, Question
from benchmark.reports.answers.seeds import more_seeds
from benchmark.reports.answers.telling import told
from benchmark.reports.answers.variants import Variant, attention_contrasts, option, option_contrasts
from benchmark.reports.answers.words import verdict_of
from benchmark.store.row import Row

OURS = "rotrnn"
NORMALISERS = (
    Variant(OURS, "normalizer", "stationary", "none"),
    Variant(OURS, "normalizer", "exact", "none"),
)
BESIDE = (
    Variant(OURS, "normalizer", "exact", "stationary"),
    Variant(OURS, "mixing", "learned", "identity"),
    Variant("lru", "gamma", "learned", "none"),
    Variant("lru", "gamma", "recomputed", "none"),
    Variant("lru", "gamma", "learned", "recomputed"),
)
"""Compared too, without a part in the verdict."""

ABLATION = "rotbench study normaliser --seeds 0:12"
BESIDE_LRU = "rotbench train TASK --layer rotrnn,lru --seeds 0:10"
HYBRID = "rotbench study hybrid --seeds 0:12"


def _ablation_contrasts(results: Results) -> list[Contrast]:
    found = [entry for variant in (*NORMALISERS, *BESIDE) for entry in option_contrasts(results.rows, variant)]
    against_lru = [c for c in results.scores if {c.ours, c.theirs} == {OURS, "lru"}]
    return [*found, *against_lru]


def _ablation(question: Question, case: Case) -> Answer:
    turning = [d for d in case.decided if d.contrast.theirs == f"{OURS} with normalizer none"]
    if not case.decided:
        return not_measured(question, "trainings with and without the normaliser", ABLATION, _ended(case.rows))
    return answer(
        question,
        verdict_of(turning, "more"),
        [*told(case.decided), *_diverged(case.rows)],
        [row for decision in case.decided for row in decision.contrast.rows],
        table=decision_table("Normaliser and P, by test score", case.decided),
        missing=_lacking(case.decided),
        caveats=[
            "P can be folded into B and C, so that it changes how training goes and not what can be expressed.",
            "Pairs are of seeds that ended well on both sides; runs that diverged are counted apart.",
            *_ended(case.rows),
        ],
    )


def _lacking(decisions: Sequence[Decision]) -> list[str]:
    """Which ablations nobody made, and which have too few seeds."""
    made = {(decision.contrast.ours, decision.contrast.theirs) for decision in decisions}
    wanted = (
        (NORMALISERS[0], "RotRNN without its normaliser"),
        (BESIDE[1], "RotRNN with P the identity"),
        (BESIDE[2], "LRU without its gamma"),
    )
    found = [
        f"{what}: run `{ABLATION}`"
        for variant, what in wanted
        if (variant.name(variant.ours), variant.name(variant.theirs)) not in made
    ]
    if (OURS, "lru") not in made:
        found.append(f"{OURS} beside lru from the same seeds: run `{BESIDE_LRU}`")
    layers = [decision for decision in decisions if decision.contrast.ours == OURS]
    variants = [decision for decision in decisions if decision.contrast.ours != OURS]
    return [*found, *more_seeds(variants, ABLATION), *more_seeds(layers, BESIDE_LRU)]


def _diverged(rows: Sequence[Row]) -> list[str]:
    """How many runs of each normaliser ended in numbers that are not finite."""
    runs = [row for row in rows if row.metric == "train" and row.layer == OURS and not attention_of(row)]
    total = Counter(str(option(row, "normalizer")) for row in runs)
    lost = Counter(str(option(row, "normalizer")) for row in runs if row.status == "diverged")
    if not lost:
        return []
    listed = ", ".join(f"{lost[name]} of {total[name]} with normalizer {name}" for name in total)
    return [f"Trainings of {OURS} that diverged: {listed}."]


def _ended(rows: Sequence[Row]) -> list[str]:
    return endings(rows, ("train",))


def _hybrid(question: Question, case: Case) -> Answer:
    if not case.decided:
        return not_measured(question, "trainings with attention after the layer", HYBRID, _ended(case.rows))
    turning = [decision for decision in case.decided if decision.contrast.ours.startswith(f"{OURS} ")]
    return answer(
        question,
        verdict_of(turning, "more"),
        told(case.decided),
        [row for decision in case.decided for row in decision.contrast.rows],
        table=decision_table("Before attention and alone, by test score", case.decided),
        missing=more_seeds(case.decided, HYBRID),
        caveats=[
            "A model with attention has more parameters than one without, so a gain need not be the layer's.",
            *_ended(case.rows),
        ],
    )


NORMALISER = Question(
    id="Q5",
    text="Does RotRNN's explicit normalisation help accuracy, and what does its rotation cost?",
    needs="trainings of rotrnn that differ in normalizer or mixing alone, from the same seeds; of lru likewise in "
    "gamma; of rotrnn beside lru",
    statistic="differences of test scores over pairs of seeds, by sign flips; diverged runs are counted",
    rule="of normalizer stationary and exact against none. yes: better in every comparison; partly: in some; no: all "
    "decided, better in none; undecided: else",
    answer=_ablation,
    contrasts=_ablation_contrasts,
)
BEFORE_ATTENTION = Question(
    id="Q11",
    text="Does the layer work in front of a transformer's attention?",
    needs="trainings that differ in attention alone, from the same seeds",
    statistic="differences of test scores over pairs of seeds, by sign flips",
    rule="of rotrnn with attention against without. yes: better in every comparison; partly: in some; no: all decided, "
    "better in none; undecided: else",
    answer=_hybrid,
    contrasts=lambda results: attention_contrasts(results.rows),
)
