"""The paper's experiments, reproduced by one command."""
