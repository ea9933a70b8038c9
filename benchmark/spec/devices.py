"""Names of devices and precisions that both frameworks know."""

from benchmark.spec.errors import Unsupported, UserError, unknown

KINDS = ("cpu", "cuda")
PRECISIONS = ("fp32", "tf32", "bf16")
DTYPES = ("float32", "float64", "bfloat16", "float16")
"""Of inputs, outputs and projections. Below float32, coefficients and recurrence stay in float32."""

HALVES = ("bfloat16", "float16")
EXACT = ("float32", "float64")
"""Those that the oracle can judge closely."""


def item_bytes(dtype: str) -> int:
    """Bytes of a number of inputs and outputs."""
    return {"float64": 8, "float32": 4}.get(dtype, 2)


def parse_device(name: str) -> tuple[str, int]:
    """Kind and index of a device's name.

    >>> parse_device("cuda:1")
    ('cuda', 1)

    Raises:
        UserError: for a name that is none.
    """
    kind, colon, index = name.partition(":")
    if kind not in KINDS or (colon and (kind == "cpu" or not index.isdecimal() or len(index) > 3)):
        raise UserError(f"unknown device {name!r}; known: cpu, cuda, cuda:0, cuda:1, ...")
    return kind, int(index or 0)


def check_precision(precision: str, device: str) -> None:
    """Raise UserError for an unknown precision, Unsupported where the device does not multiply in it."""
    if precision not in PRECISIONS:
        raise unknown("precision", precision, PRECISIONS)
    if precision != "fp32" and parse_device(device)[0] == "cpu":
        raise Unsupported(f"precision {precision} is a format of GPUs: on a cpu float32 is multiplied as fp32")
