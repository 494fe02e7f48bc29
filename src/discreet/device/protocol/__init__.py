"""Documents and messages that devices and collectors exchange."""
