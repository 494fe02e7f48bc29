"""People's tables, read by Arrow: values, labels, groups, events, scores."""
