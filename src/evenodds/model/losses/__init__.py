"""What a wrong score costs: losses of the margin, corrections for known noise, least risk."""
