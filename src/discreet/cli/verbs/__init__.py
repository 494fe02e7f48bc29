"""The verbs: a file each, or a few that belong together."""
