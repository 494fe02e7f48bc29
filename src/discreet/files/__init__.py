"""Files, folders and URLs: looked at first and read later, written whole."""
