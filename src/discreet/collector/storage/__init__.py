"""Storage: files of reports that wait to be sealed, and a database of collections and seals."""
