"""Names of devices: cpu, cuda, cuda:1."""

from benchmark.spec.errors import UserError

KINDS = ("cpu", "cuda")


def parse_device(name: str) -> tuple[str, int]:
    """Kind and index of a device's name.

    >>> parse_device("cuda:1")
    ('cuda', 1)

    Raises:
        UserError: for a name that is none.
    """
    kind, colon, index = name.partition(":")
    if kind not in KINDS or (colon and not index.isdecimal()):
        raise UserError(f"unknown device {name!r}; known: cpu, cuda, cuda:0, cuda:1, ...")
    return kind, int(index or 0)
