"""Contours: anchors stated at several posteriors, and which kind of noise they fit."""
