"""The local test: anchors against the labels around each, no shape assumed."""
