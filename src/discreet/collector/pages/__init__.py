"""What a collector answers beside the path of reports: data for programs, and pages for people."""
