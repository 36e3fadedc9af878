"""Atomic files, progress, threads, devices: what any program needs. Knows nothing of retrieval."""
