"""Re-ranking, and searching an index."""
