"""A corpus on disk that changes while it serves."""
