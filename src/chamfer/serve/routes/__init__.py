"""The addresses of the server, one file for each topic."""
