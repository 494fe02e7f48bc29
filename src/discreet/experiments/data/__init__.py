"""People whose values are known: the data sets that figures are drawn from, each with where it comes from."""
