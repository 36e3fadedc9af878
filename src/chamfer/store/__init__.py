"""Token vectors of a corpus on disk."""
