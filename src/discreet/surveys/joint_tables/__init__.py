"""Tables of several attributes, estimated from the reports of several questions."""
