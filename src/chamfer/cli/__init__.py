"""The terminal's door to the library; it holds no logic of its own."""
