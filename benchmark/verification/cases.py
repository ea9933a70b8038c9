"""What is verified: the examples of every layer's spec, at several shapes."""

from dataclasses import dataclass

import numpy as np

from benchmark.spec import LAYERS, LayerSpec

D_MODEL = 3


@dataclass(frozen=True)
class Case:
    """One layer at one shape; ``lengths`` is None where every sequence is full."""

    layer: str
    variant: str
    batch: int
    seq_len: int
    lengths: tuple[int, ...] | None = None

    @property
    def spec(self) -> LayerSpec:
        """The layer's spec."""
        return LAYERS[self.layer](d_model=D_MODEL, **LAYERS[self.layer].examples[self.variant])

    @property
    def label(self) -> str:
        """The case in words."""
        ragged = "" if self.lengths is None else f", lengths {self.lengths}"
        return f"{self.layer} ({self.variant}), batch {self.batch}, length {self.seq_len}{ragged}"

    def inputs(self, dtype: str) -> tuple[dict[str, np.ndarray], np.ndarray, np.ndarray]:
        """Parameters, inputs u and output weights w, (batch, length, d_model); w is 0 past each end."""
        rng = np.random.default_rng([self.batch, self.seq_len])
        shape = (self.batch, self.seq_len, D_MODEL)
        u, w = rng.standard_normal(shape), rng.standard_normal(shape)
        if self.lengths is not None:
            w *= np.arange(self.seq_len)[None, :, None] < np.array(self.lengths)[:, None, None]
        params = {name: value.astype(dtype) for name, value in self.spec.init(seed=1).items()}
        return params, u.astype(dtype), w.astype(dtype)


Shape = tuple[int, int, tuple[int, ...] | None]

MAIN_SHAPE: Shape = (2, 33, None)
MORE_SHAPES: tuple[Shape, ...] = (
    (1, 1, None),
    (3, 20, (20, 1, 7)),
    (1, 150, None),  # more than one chunk
)


def cases(layers: list[str], quick: bool = False) -> list[Case]:
    """Every variant of the layers, and the first two of each at several shapes; quick leaves out the rest."""
    listed = []
    for layer in layers:
        for index, variant in enumerate(LAYERS[layer].examples):
            if index < 2:
                listed += [Case(layer, variant, *shape) for shape in (MAIN_SHAPE, *(() if quick else MORE_SHAPES))]
            elif not quick:
                listed.append(Case(layer, variant, *MAIN_SHAPE))
    return listed
