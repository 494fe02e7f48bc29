"""Files, folders and URLs: inputs are checked first and read later, outputs are written whole."""
