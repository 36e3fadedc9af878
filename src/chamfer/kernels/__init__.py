"""The score: its definition, the fast implementations, and the one place that chooses between them."""
