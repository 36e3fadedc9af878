"""Which token matched what, what its weight did, and why one document ranks above another."""
