"""Documents, collections, judgements and rankings: reading, checking and writing them."""
