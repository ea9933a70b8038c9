"""How tests read claims and have them judged."""

from benchmark.reports.claim_criteria import Criteria
from benchmark.reports.claim_grammar import Claim, read
from benchmark.reports.claims import judge
from benchmark.reports.sentences import sentences

LAYERS = ("rotrnn", "lru", "s4d", "s5")
TASKS = ("lra-listops", "lra-image", "digits")


def parsed(text):
    return read(sentences(text), LAYERS, TASKS)


def claim(text):
    (found,) = parsed(text)
    assert isinstance(found, Claim), found
    return found


def verdicts(text, rows, **criteria):
    return [found.verdict for found in judge(parsed(text), rows, Criteria(**criteria))]


def one(text, rows, **criteria):
    (found,) = judge([claim(text)], rows, Criteria(**criteria))
    return found
