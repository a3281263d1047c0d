"""What the folder listing promises, checked."""
