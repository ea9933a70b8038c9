"""Training a model: what the neutral loop calls, and the whole state of a training as plain arrays."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import torch
from jaxtyping import Float, Shaped

from benchmark.spec.model import IGNORED, ModelSpec, subset
from benchmark.spec.optimiser import Optimiser, Placement
from layers_torch.array import Params, asarray, to_numpy
from layers_torch.device import resolve
from layers_torch.model import apply_model


def loss_of(
    model: ModelSpec, logits: Float[torch.Tensor, "B *L O"], labels: Shaped[torch.Tensor, "B *L"]
) -> Float[torch.Tensor, ""]:
    """The mean over the batch, or steps asked for, of -log softmax(logits)[label]; of numbers, of squared errors."""
    match model.target:
        case "number":
            return ((logits[:, 0] - labels) ** 2).mean()
        case "steps":
            flat = labels.flatten().long()
            return torch.nn.functional.cross_entropy(logits.flatten(0, 1), flat, ignore_index=IGNORED)
    return torch.nn.functional.cross_entropy(logits, labels.long())


class Trainer:
    """Parameters, optimiser state and the source of dropout of one training."""

    def __init__(
        self,
        model: ModelSpec,
        params: Mapping[str, np.ndarray],
        stats: Mapping[str, np.ndarray],
        optimiser: Optimiser,
        *,
        device: str = "cpu",
        algorithm: str = "auto",
        seed: int = 0,
    ) -> None:
        """Place the arrays on the device."""
        self.model, self.optimiser, self.algorithm = model, optimiser, algorithm
        self.device = resolve(device)
        self.params = {k: asarray(v, device=self.device).clone().requires_grad_() for k, v in params.items()}
        self.stats = {k: asarray(v, device=self.device).clone() for k, v in stats.items()}
        self.ema = {k: v.detach().clone() for k, v in self.params.items()} if optimiser.ema else {}
        self.rng = torch.Generator(self.device).manual_seed(seed)
        self.adam = _adam(model, optimiser, self.params)

    def update(self, inputs: np.ndarray, labels: np.ndarray, lengths: Any, rates: Mapping[str, float]) -> Any:
        """One step of AdamW at the given rate of each group; returns the loss before it, still on the device."""
        for group in self.adam.param_groups:
            group["lr"] = rates[group["rate"]]
        x = asarray(inputs, device=self.device)
        options = {"lengths": lengths, "train": True, "rng": self.rng, "algorithm": self.algorithm}
        logits, self.stats = apply_model(self.model, self.params, self.stats, x, **options)
        loss = loss_of(self.model, logits, asarray(labels, device=self.device))
        self.adam.zero_grad()
        loss.backward()
        if self.optimiser.clip_norm:
            torch.nn.utils.clip_grad_norm_(self.params.values(), self.optimiser.clip_norm)
        self.adam.step()
        with torch.no_grad():
            for name, mean in self.ema.items():
                mean.lerp_(self.params[name], 1 - self.optimiser.ema)
        return loss.detach()

    def evaluate(self, inputs: np.ndarray, lengths: Any) -> np.ndarray:
        """Logits (batch, ..., outputs) without dropout, normalised by the running statistics."""
        with torch.no_grad():
            x = asarray(inputs, device=self.device)
            options = {"lengths": lengths, "algorithm": self.algorithm}
            logits, _ = apply_model(self.model, self.ema or self.params, self.stats, x, **options)
        return to_numpy(logits)

    def weights(self) -> dict[str, np.ndarray]:
        """What ``evaluate`` uses: params/... and stats/..., the same names in both frameworks."""
        return _paths("params", self.ema or self.params) | _paths("stats", self.stats)

    def load(self, weights: Mapping[str, np.ndarray]) -> None:
        """Evaluate what ``weights`` returned, here or in the other framework. The optimiser is not touched."""
        _copy(self.params, subset(weights, "params/"))
        _copy(self.ema, subset(weights, "params/"))
        _copy(self.stats, subset(weights, "stats/"))

    def state(self) -> dict[str, np.ndarray]:
        """All that the next steps hang on, as arrays by path."""
        found = _paths("params", self.params) | _paths("stats", self.stats) | _paths("ema", self.ema)
        for name, value in self.params.items():
            found |= {f"adam/{name}/{key}": to_numpy(moment) for key, moment in self.adam.state[value].items()}
        return found | {"rng": to_numpy(self.rng.get_state())}

    def restore(self, state: Mapping[str, np.ndarray]) -> None:
        """Go on from what ``state`` returned in this framework."""
        for name, held in (("params/", self.params), ("stats/", self.stats), ("ema/", self.ema)):
            _copy(held, subset(state, name))
        for name, value in self.params.items():
            moments = subset(state, f"adam/{name}/")
            self.adam.state[value] = {
                key: asarray(moment, device=self.device).clone() for key, moment in moments.items()
            }
        self.rng.set_state(asarray(state["rng"]).clone())


def _adam(model: ModelSpec, optimiser: Optimiser, params: Params) -> torch.optim.AdamW:
    """AdamW, whose rates ``update`` sets; parameters of one rate and decay share a group."""
    groups: dict[Placement, dict[str, Any]] = {}
    for name, value in params.items():
        place = optimiser.placement(model, name)
        group: dict[str, Any] = {"params": [], "rate": place.rate, "weight_decay": optimiser.decay_of(model, name)}
        groups.setdefault(place, group)["params"].append(value)
    betas = (optimiser.beta1, optimiser.beta2)
    return torch.optim.AdamW(list(groups.values()), betas=betas, eps=optimiser.epsilon, fused=True)


def _paths(prefix: str, values: Params) -> dict[str, np.ndarray]:
    return {f"{prefix}/{name}": to_numpy(value) for name, value in values.items()}


def _copy(held: Params, given: Mapping[str, np.ndarray]) -> None:
    """Put the given values in the place of those held."""
    with torch.no_grad():
        for name, value in held.items():
            value.copy_(asarray(given[name]))
