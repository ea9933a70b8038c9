"""Checks shapes and types of the layers' public functions while tests run."""

from jaxtyping import install_import_hook

install_import_hook(["layers_torch", "layers_jax"], "beartype.beartype")
