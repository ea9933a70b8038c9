"""The framework-neutral harness of rotbench. Importing it loads no framework."""
