"""The model around a layer: encoder, residual blocks, pooling, decoder. Sizes and initial values.

As in the S5, LRU and RotRNN code: dense encoder, blocks of norm, layer, GELU, gate and skip,
mean pooling, dense decoder. Both frameworks load what ``init`` draws here.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from benchmark.spec import draw
from benchmark.spec.base import LayerSpec, Params, Shapes, check_fields
from benchmark.spec.errors import UserError

Activation = Literal["gelu", "half_glu1", "half_glu2", "full_glu"]

NORM_EPSILON = 1e-5
ATTENTION_HEADS = 4
MLP_FACTOR = 4
"""Hidden units of the dense half of an attention block, over d_model."""
IGNORED = -100
"""The label of a step of which nothing is asked, where every step has a label."""


@dataclass(frozen=True, kw_only=True)
class ModelSpec:
    """A sequence classifier with ``depth`` blocks around one kind of layer.

    ``encoder``: linear maps ``inputs`` channels to d_model; tokens looks up one of ``inputs`` rows,
    which is the same as a dense map of one-hot tokens. ``activation``, for the layer's output x:
    gelu; half_glu1: g = gelu(x), g * sigmoid(W g); half_glu2: x * sigmoid(W gelu(x)); full_glu:
    (W1 g) * sigmoid(W2 g). ``head``: retrieval compares the two documents a, b of a pair by
    [a, b, a - b, a * b]; its batch holds all first documents, then all second ones.
    ``norm_momentum`` keeps that share of the running statistics of batch norm at each update.
    ``target``: class and number ask one answer of a sequence, steps one of every step, without pooling.
    ``compute`` bfloat16: the recurrence, norms, pooling and head stay in float32, the rest is in bfloat16.
    ``attention``: so many blocks of causal softmax attention follow those of the layer, as in the decoder of a
    transformer. They have no code of positions: the recurrence before them tells these.
    """

    layer: LayerSpec
    depth: int
    inputs: int
    outputs: int
    encoder: Literal["linear", "tokens"] = "linear"
    norm: Literal["batch", "layer"] = "batch"
    prenorm: bool = True
    activation: Activation = "half_glu1"
    dropout: float = 0.0
    pooling: Literal["mean", "last"] = "mean"
    head: Literal["classifier", "retrieval"] = "classifier"
    norm_momentum: float = 0.95
    target: Literal["class", "steps", "number"] = "class"
    compute: Literal["full", "bfloat16"] = "full"
    attention: Literal[0, 1, 2, 3, 4] = 0

    def __post_init__(self) -> None:
        """Check types and ranges. Raises UserError."""
        if self.attention not in range(5):
            raise UserError(f"model: attention must be a number of blocks from 0 to 4, got {self.attention!r}")
        check_fields(self, "model")
        for name in ("dropout", "norm_momentum"):
            if not 0 <= getattr(self, name) < 1:
                raise UserError(f"model: 0 <= {name} < 1 must hold, got {getattr(self, name)}")
        if self.target == "steps" and self.head == "retrieval":
            raise UserError("model: a pair of documents has one answer, so head retrieval needs target class")
        if self.attention and self.layer.d_model % ATTENTION_HEADS:
            raise UserError(
                f"model: d_model must be divisible by the {ATTENTION_HEADS} heads of an attention block"
                f", got {self.layer.d_model}"
            )

    @property
    def param_shapes(self) -> Shapes:
        """Name and shape of every trained parameter; names are paths such as block0/layer/B."""
        H = self.layer.d_model
        shapes: Shapes = {"encoder/W": (self.inputs, H), "encoder/b": (H,)}
        for i in range(self.depth):
            shapes |= {f"block{i}/norm/scale": (H,), f"block{i}/norm/bias": (H,)}
            shapes |= {f"block{i}/layer/{name}": shape for name, shape in self.layer.param_shapes.items()}
            for gate in self.gates:
                shapes |= {f"block{i}/glu/W{gate}": (H, H), f"block{i}/glu/b{gate}": (H,)}
        for i in range(self.attention):
            shapes |= {f"attention{i}/{name}": shape for name, shape in self.attention_shapes.items()}
        if self.head == "retrieval":
            shapes |= {"head/W": (4 * H, H), "head/b": (H,)}
        return shapes | {"decoder/W": (H, self.outputs), "decoder/b": (self.outputs,)}

    @property
    def attention_shapes(self) -> Shapes:
        """Name and shape of the parameters of one attention block, which has no biases but those of its norms."""
        H = self.layer.d_model
        norms: Shapes = {f"{norm}/{name}": (H,) for norm in ("norm", "mlp_norm") for name in ("scale", "bias")}
        heads: Shapes = dict.fromkeys(("W_q", "W_k", "W_v", "W_o"), (H, H))
        return norms | heads | {"mlp/W1": (H, MLP_FACTOR * H), "mlp/W2": (MLP_FACTOR * H, H)}

    @property
    def gates(self) -> tuple[str, ...]:
        """Suffixes of the dense maps in the gate of one block."""
        match self.activation:
            case "gelu":
                return ()
            case "full_glu":
                return ("1", "2")
            case _:
                return ("",)

    @property
    def stat_shapes(self) -> Shapes:
        """Running statistics, which are not trained."""
        if self.norm != "batch":
            return {}
        norms = [f"block{i}/norm" for i in range(self.depth)]
        norms += [f"attention{i}/{norm}" for i in range(self.attention) for norm in ("norm", "mlp_norm")]
        return {f"{norm}/{name}": (self.layer.d_model,) for norm in norms for name in ("mean", "var")}

    @property
    def param_count(self) -> int:
        """Trained real parameters."""
        return sum(int(np.prod(shape)) for shape in self.param_shapes.values())

    def init(self, seed: int = 0) -> tuple[Params, Params]:
        """Initial parameters and running statistics, float32; every block's layer has a seed of its own."""
        sequence = np.random.SeedSequence(seed)
        *layer_seeds, rest = sequence.spawn(self.depth + 1)
        rng = np.random.default_rng(rest)
        params: Params = {}
        for name, shape in self.param_shapes.items():
            if "/layer/" not in name:
                params[name] = self._draw(rng, name, shape).astype(np.float32)
            elif name not in params:
                prefix = name[: name.index("layer/") + len("layer/")]
                index = int(prefix.removeprefix("block").split("/")[0])
                drawn = self.layer.init(layer_seeds[index])
                params |= {prefix + key: value for key, value in drawn.items()}
        stats = {name: np.full(shape, name.endswith("var"), np.float32) for name, shape in self.stat_shapes.items()}
        return params, stats

    def rescale_step(self, params: Mapping[str, Any], factor: float) -> dict[str, Any]:
        """Parameters for inputs sampled at ``factor`` times the distance, see ``LayerSpec.rescale_step``."""
        found = dict(params)
        for i in range(self.depth):
            prefix = f"block{i}/layer/"
            found |= {prefix + k: v for k, v in self.layer.rescale_step(subset(params, prefix), factor).items()}
        return found

    def _draw(self, rng: np.random.Generator, name: str, shape: tuple[int, ...]) -> np.ndarray:
        """Kernels are LeCun normal as flax's Dense has them, scales one, biases zero."""
        if name.endswith("/scale"):
            return np.ones(shape)
        return draw.lecun_normal(rng, shape, shape[0]) if len(shape) == 2 else np.zeros(shape)


def subset(values: Mapping[str, Any], prefix: str) -> dict[str, Any]:
    """The entries under a path, by their names below it.

    >>> subset({"block0/norm/bias": 1, "decoder/b": 2}, "block0/norm/")
    {'bias': 1}
    """
    return {name.removeprefix(prefix): value for name, value in values.items() if name.startswith(prefix)}
