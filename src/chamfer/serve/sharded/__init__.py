"""A set of shards behind the same HTTP interface, on Ray Serve. Needs the extras ``chamfer[serve,ray]``."""
