"""Several classes at once: a multinomial logistic curve seen through flipped labels."""
