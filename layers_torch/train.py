"""Training a model: the three functions that the neutral loop calls."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import torch
from jaxtyping import Float, Int

from benchmark.spec.model import ModelSpec
from benchmark.spec.optimiser import Optimiser
from layers_torch.array import asarray, to_numpy
from layers_torch.device import resolve
from layers_torch.model import apply_model


def cross_entropy(logits: Float[torch.Tensor, "B O"], labels: Int[torch.Tensor, "B"]) -> Float[torch.Tensor, ""]:
    """The mean over the batch of -log softmax(logits)[label]."""
    return torch.nn.functional.cross_entropy(logits, labels)


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
        self.rng = torch.Generator(self.device).manual_seed(seed)
        self.adam = torch.optim.AdamW(
            [
                {
                    "params": [v for k, v in self.params.items() if model.group(k) == group],
                    "name": group,
                    "weight_decay": optimiser.weight_decay if group == "regular" else 0.0,
                }
                for group in ("recurrence", "regular")
            ],
            betas=(optimiser.beta1, optimiser.beta2),
            eps=optimiser.epsilon,
        )

    def update(self, inputs: np.ndarray, labels: np.ndarray, lengths: Any, rates: Mapping[str, float]) -> Any:
        """One step of AdamW at the given rate of each group; returns the loss before it, still on the device."""
        for group in self.adam.param_groups:
            group["lr"] = rates[group["name"]]
        x = asarray(inputs, device=self.device)
        options = {"lengths": lengths, "train": True, "rng": self.rng, "algorithm": self.algorithm}
        logits, self.stats = apply_model(self.model, self.params, self.stats, x, **options)
        loss = cross_entropy(logits, asarray(labels, device=self.device))
        self.adam.zero_grad()
        loss.backward()
        if self.optimiser.clip_norm:
            torch.nn.utils.clip_grad_norm_(self.params.values(), self.optimiser.clip_norm)
        self.adam.step()
        return loss.detach()

    def evaluate(self, inputs: np.ndarray, lengths: Any) -> np.ndarray:
        """Logits (batch, outputs) without dropout, normalised by the running statistics."""
        with torch.no_grad():
            x = asarray(inputs, device=self.device)
            options = {"lengths": lengths, "algorithm": self.algorithm}
            logits, _ = apply_model(self.model, self.params, self.stats, x, **options)
        return to_numpy(logits)
