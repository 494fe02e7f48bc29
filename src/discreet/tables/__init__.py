"""Tables of people's data, read with Arrow: values, labels, groups, events and scores."""
