"""Tables of several attributes, estimated from reports of several questions."""
