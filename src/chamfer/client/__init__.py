"""Asking a running server, with the results of the library; knows nothing of models."""
