"""Cases along a score: the share of given labels is a straight line in the share truly positive."""
