"""Recipes for learning weights, one file each; a file that declares ``RECIPE`` is all that a new recipe needs."""
