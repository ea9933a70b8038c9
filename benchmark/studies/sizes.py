"""Layers at one real state size, which is what a study compares them at."""

from collections.abc import Mapping

from benchmark.spec import UserError
from benchmark.spec.errors import short
from benchmark.sweeps.cell import Value, layer_spec

LARGEST_STATE = 1 << 16


def matched_d_state(layer: str, d_model: int, state: int, options: Mapping[str, Value]) -> int:
    """The d_state with which a layer has just so many real numbers of state.

    Args:
        layer: its name.
        d_model: features.
        state: real numbers.
        options: the layer's other fields.

    Raises:
        UserError: if it cannot have them, saying why.
    """
    if not 1 <= state <= LARGEST_STATE:
        raise UserError(f"the state must hold 1 to {LARGEST_STATE:,} real numbers, got {short(state)}")
    reason = "sizes in between do not exist"
    for d_state in range(1, state + 1):
        try:
            if layer_spec(layer, d_model, d_state, dict(options)).real_state_size == state:
                return d_state
        except UserError as error:
            reason = str(error)
    raise UserError(f"{layer} with d_model={d_model} cannot have a state of {state} real numbers: {reason}")
