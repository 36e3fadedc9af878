"""A corpus on disk that can be searched, and changed while it is searched."""
