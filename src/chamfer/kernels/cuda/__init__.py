"""Scores on a GPU, by programs that Triton compiles; it comes with torch for CUDA."""
