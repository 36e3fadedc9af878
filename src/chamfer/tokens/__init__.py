"""Token vectors and what their ids stand for."""
