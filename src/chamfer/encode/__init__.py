"""Text in, token vectors out. The only room that knows sentence-transformers."""

from chamfer.encode.encoder import Arithmetic, Encoder, Engine, Role, Tokenized

__all__ = ["Arithmetic", "Encoder", "Engine", "Role", "Tokenized"]
