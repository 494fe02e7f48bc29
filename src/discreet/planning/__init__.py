"""What to expect of each mechanism before anybody reports."""
