"""Other people's tools: their files read and written, and our test inside them."""
