"""What we believe: curves, and how they are fitted."""
