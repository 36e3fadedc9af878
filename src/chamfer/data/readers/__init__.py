"""Readers of files: one file for each format, and one that recognises them."""
