"""Thin adapters to other libraries, such as ``chamfer.integrations.langchain``.

They contain no scoring of their own. Importing one without its library raises an error that names the extra to install.
"""
