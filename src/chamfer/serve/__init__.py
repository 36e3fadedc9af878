"""Serving an index over HTTP, with a web page. Needs the extra ``chamfer[serve]``."""
