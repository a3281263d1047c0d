"""Measuring the product: the figures of the paper, and level and power over many worlds."""
