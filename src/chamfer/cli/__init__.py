"""The command line; it holds no logic of its own."""
