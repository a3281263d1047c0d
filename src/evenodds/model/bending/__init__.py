"""A noisy curve that can bend: the posterior of the labels where no line is taken for granted."""
