"""Documents, collections, judgements and rankings, and how they are read and written."""
