"""Judged queries in, token weights out; the model's parameters never change."""
