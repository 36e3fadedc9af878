"""Whole searches beside other engines: build, speed, quality, memory, disk."""
