"""Scores on a GPU, with kernels compiled by Triton, which comes with torch for CUDA."""
