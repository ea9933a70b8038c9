"""Training: one loop for both frameworks, over the three functions of ``layers_*.train.Trainer``."""
