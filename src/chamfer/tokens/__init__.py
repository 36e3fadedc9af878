"""Token vectors, and the vocabulary behind their ids."""
