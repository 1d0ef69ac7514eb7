"""Columns of Arrow tables, in memory or mapped from files: sentences, ids, and orders of rows."""
