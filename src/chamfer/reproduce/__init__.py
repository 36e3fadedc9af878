"""The paper's experiments, all of them, by one command."""
