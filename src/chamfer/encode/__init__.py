"""Texts in, token vectors out. The only room that uses sentence-transformers."""
