"""Charts of estimates: columns in, an Altair chart out; no classes of core."""
