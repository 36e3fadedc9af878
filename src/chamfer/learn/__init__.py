"""Judged queries -> token weights; the encoder never changes."""
