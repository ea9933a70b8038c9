"""Variants of layers in claims, ``rotrnn[normalizer=none]``: are there such options, and with such values?"""

from typing import get_type_hints

from benchmark.reports.evidence import Subject
from benchmark.spec import LAYERS, UserError
from benchmark.spec.base import check_field


def fault(subject: Subject) -> str:
    """Why a subject is no variant of its layer; empty if it is one, and for a layer of which nothing is known here."""
    known = option_names(subject.layer)
    if subject.layer not in LAYERS:
        return ""
    hints = get_type_hints(LAYERS[subject.layer])
    for index, (name, value) in enumerate(subject.options):
        if name not in known:
            return f"no option {name or '(without a name)'} of {subject.layer}; known: {', '.join(known.values())}"
        if name in dict(subject.options[:index]):
            return f"option {name} of {subject.layer} is named twice"
        try:
            check_field(subject.layer, known[name], hints[known[name]], value)
        except UserError as error:
            return str(error)
    return ""


def option_names(layer: str) -> dict[str, str]:
    """The options of a layer as the command line takes them, by their names in lower case, which claims are read in."""
    return {name.lower(): name for name in LAYERS[layer].option_names()} if layer in LAYERS else {}


def settings(subject: Subject, alone: bool) -> list[str]:
    """The words of a command that ask for a variant.

    Args:
        subject: with its options.
        alone: whether the command has no other layer, so that an option needs no layer's name before it.
    """
    names, prefix = option_names(subject.layer), "" if alone else f"{subject.layer}."
    texts = {name: str(value).lower() if isinstance(value, bool) else str(value) for name, value in subject.options}
    return [f"--set {prefix}{names.get(name, name)}={text}" for name, text in texts.items()]
