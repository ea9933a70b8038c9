"""Do the twins compute the layer that the papers describe, and the same one? Values and gradients."""
