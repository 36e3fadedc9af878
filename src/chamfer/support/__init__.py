"""Atomic files, progress, threads, devices: what any program needs. Knows nothing about retrieval."""
