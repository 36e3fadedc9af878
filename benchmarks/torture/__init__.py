"""Attacks on the index, the kernels, the files and the server; ``make torture`` runs them all."""
