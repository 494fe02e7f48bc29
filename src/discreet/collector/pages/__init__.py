"""The endpoints of a collector beside the path of reports: data for programs, and pages for people."""
