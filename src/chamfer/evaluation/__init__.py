"""Judged collections, runs, measures, comparisons."""
