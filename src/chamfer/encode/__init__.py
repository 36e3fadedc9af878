"""Text in, token vectors out. The only room that knows sentence-transformers."""
