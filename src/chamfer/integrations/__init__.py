"""Thin adapters to other libraries: import the module of the one you use, from ``chamfer.integrations``.

They hold no scoring of their own. Each needs its library when it is imported, and says which extra brings it.
"""
