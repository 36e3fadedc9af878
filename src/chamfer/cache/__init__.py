"""Encoded corpora on disk, found by fingerprint."""
