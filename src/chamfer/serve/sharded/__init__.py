"""Serving shards over the same HTTP interface, on Ray Serve. Needs the extras ``chamfer[serve,ray]``."""
