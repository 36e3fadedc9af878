"""What each query token counts."""
