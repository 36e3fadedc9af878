"""What any program needs: files that appear whole, progress, threads, devices. Knows nothing of retrieval."""
