"""Tables of several attributes, from the reports of several questions at once."""
