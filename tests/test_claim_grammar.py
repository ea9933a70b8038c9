"""Which sentences are claims, and what they say."""

import pytest
from claim_words import claim, parsed

from benchmark.reports.claim_grammar import Unclear, read
from benchmark.reports.claim_scope import Scope
from benchmark.reports.evidence import Subject
from benchmark.reports.sentences import sentences


@pytest.mark.parametrize(
    ("text", "kind", "subjects", "quantity", "side"),
    [
        ("rotrnn is best on lra-listops", "extreme", ["rotrnn"], "score", "more"),
        ("S5 is faster than LRU at seq-len 16384 (forward, cpu).", "compare", ["s5", "lru"], "time", "less"),
        ("The S5 layer is significantly slower than the LRU layer", "compare", ["s5", "lru"], "time", "more"),
        ("lru uses less memory than s4d", "compare", ["lru", "s4d"], "memory", "less"),
        ("lru needs fewer FLOPs than s4d", "compare", ["lru", "s4d"], "flops", "less"),
        ("s4d has the most parameters", "extreme", ["s4d"], "parameters", "more"),
        ("On digits, `lru` beats **s5**", "compare", ["lru", "s5"], "score", "more"),
        ("rotrnn and lru differ on digits", "differ", ["rotrnn", "lru"], "score", "same"),
        ("rotrnn and lru differ in memory", "differ", ["rotrnn", "lru"], "memory", "same"),
        ("lru is as fast as s5", "same", ["lru", "s5"], "time", "same"),
        ("lru and s5 tie on listops", "same", ["lru", "s5"], "score", "same"),
        ("rotrnn scales linearly in time", "scales", ["rotrnn"], "time", "same"),
        ("s4d grows sub-linearly in memory with length", "scales", ["s4d"], "memory", "less"),
        ("RotRNN has the best scores.", "extreme", ["rotrnn"], "score", "more"),
        ("RotRNN achieves the highest test accuracy on digits", "extreme", ["rotrnn"], "score", "more"),
        ("lru reaches a lower accuracy than s5 on digits", "compare", ["lru", "s5"], "score", "less"),
        ("The twins agree", "twins", [], "time", "same"),
        ("torch and jax agree on lru", "twins", ["lru"], "time", "same"),
    ],
)
def test_forms_of_claims(text, kind, subjects, quantity, side):
    found = claim(text)
    assert (found.kind, [s.layer for s in found.subjects], found.quantity, found.side) == (
        kind,
        subjects,
        quantity,
        side,
    )


@pytest.mark.parametrize(
    ("words", "scope"),
    [
        ("at seq-len 16,384", Scope(lengths=(16384,))),
        ("at lengths 1024, 2048 and 4096", Scope(lengths=(1024, 2048, 4096))),
        ("above length 4096", Scope(shortest=4097)),
        ("from length 1024 to 4096", Scope(shortest=1024, longest=4096)),
        ("up to seq-len 2048", Scope(longest=2048)),
        ("at length 4096 and above", Scope(shortest=4096)),
        ("in jax, on the GPU", Scope((("framework", ("jax",)), ("device", ("cuda",))))),
        ("(forward+backward, float64)", Scope((("direction", ("forward+backward",)), ("dtype", ("float64",))))),
        ("with batch 8 and 2 threads", Scope((("batch", ("8",)), ("threads", ("2",))))),
    ],
)
def test_where_a_claim_holds(words, scope):
    assert claim(f"s5 is faster than lru {words}").scope == scope


def test_tasks_by_their_short_names():
    assert claim("s5 is best on listops").scope.tasks == ("lra-listops",)
    assert claim("s5 is best on the image task and on digits").scope.tasks == ("digits", "lra-image")


def test_variants_and_factors():
    found = claim("rotrnn[normalizer=none, heads=4] is at least 1.5 times faster than rotrnn")
    assert found.subjects == (Subject("rotrnn", (("normalizer", "none"), ("heads", 4))), Subject("rotrnn"))
    assert found.value == 1.5


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("rotrnn is not faster than lru", "no known form"),
        ("mamba is faster than s5", "no known form"),
        ("s5 is faster than lru but uses more memory", "not understood: but uses more memory"),
        ("It is false that s5 is faster than lru", "not understood: it false that"),
        ("s5 is faster than lru?", "not understood: ?"),
        ("s5 is faster than lru on Tuesdays", "not understood: tuesdays"),
        ("s5 is faster than s5", "with itself"),
        ("s5 outperforms everything", "no known form"),
        ("s5 is 0 times faster than lru", "a factor must be above 1"),
        ("s5 is 2 times better than lru", "a factor must be above 1, and of a time"),
        (f"s5 is {'9' * 400} times faster than lru", "a factor must be above 1"),
        (
            "rotrnn[normaliser=none] beats lru on digits",
            "not understood: no option normaliser of rotrnn; known: bidire",
        ),
        ("rotrnn[foo=1] beats rotrnn on digits", "not understood: no option foo of rotrnn"),
        ("rotrnn[d_state=4] beats lru on digits", "not understood: no option d_state of rotrnn"),
        ("rotrnn[normalizer=nonsense] is fastest", "unknown rotrnn normalizer 'nonsense'; known: stationary, exact"),
        ("rotrnn[heads=x] is fastest", "rotrnn: heads must be a positive integer"),
        ("rotrnn[heads=2,heads=4] is fastest", "option heads of rotrnn is named twice"),
        ("rotrnn[none] is fastest", "no option none of rotrnn"),
        ("the twins agree on lru[heads=2]", "no option heads of lru"),
        ("s5 is faster than lru at seq-len 0", "lengths and sizes must lie between 1 and 2,147,483,647"),
        (f"s5 is faster than lru above length {'9' * 5000}", "lengths and sizes must lie between 1"),
        ("s5 is faster than lru with batch 0", "lengths and sizes must lie between 1"),
        ("s5 is faster than lru from length 64 to 8", "no length lies between 64 and 8"),
    ],
)
def test_what_is_half_understood_is_not_judged(text, why):
    (found,) = parsed(text)
    assert isinstance(found, Unclear)
    assert why in found.why


def test_layers_of_rows_alone_may_have_any_option():
    (found,) = read(sentences("mamba[expand=2] is faster than s5"), ["mamba", "s5"], [])
    assert found.subjects[0] == Subject("mamba", (("expand", 2),))


def test_other_sentences_are_left_alone():
    assert parsed("The weather is better. We describe lru. s5 has a state. Less is more.") == []


def test_sentences_and_their_lines():
    text = """# s5 is best

Prose that
ends here. Then
another; and one more
- an *item*
  goes on
1. [x] done, [see](http://a.b/c.d) 3.5 of it
> quoted

```
lru is best
```
<!-- s5 is
best --> | a |
| lru is best |
"""
    assert sentences(text) == [
        (3, "Prose that ends here."),
        (4, "Then another;"),
        (5, "and one more"),
        (6, "an item goes on"),
        (8, "done, see 3.5 of it"),
        (9, "quoted"),
    ]
