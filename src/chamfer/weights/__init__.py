"""How much each query token counts: weights, the document frequencies behind them, and their files."""
